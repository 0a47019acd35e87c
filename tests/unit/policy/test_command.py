import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from gitbot.cli.commands.policy import policy
from gitbot.errors import UsageError
from tests.unit.policy.test_files import GOOD, case


def folder(tmp_path: Path, **files: str) -> Path:
    for name, text in files.items():
        (tmp_path / f"{name.replace('_', '.')}.yaml").write_text(text, encoding="utf-8")
    return tmp_path


def test_shipped_packs_pass_from_an_empty_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(policy, ["test"])
    assert result.exit_code == 0, result.output
    assert "ok blast-radius: fifty moves in one request\n" in result.stdout
    assert "0 failed" in result.stderr


def test_a_failing_test_says_where_and_exits_1(tmp_path: Path) -> None:
    where = folder(tmp_path, one=GOOD, one_test=case("Deny", "{plan: {moves: []}}"))
    result = CliRunner().invoke(policy, ["test", str(where)])
    assert result.exit_code == 1
    assert result.stdout == (
        f"{where}/one.test.yaml:7: one: c: found Pass, expected Deny [error policy/test-failed]\n"
    )
    result = CliRunner().invoke(policy, ["test", str(where), "-o", "json"])
    assert json.loads(result.stdout)["items"][0]["code"] == "policy/test-failed"


def test_an_error_is_no_coverage_and_a_failing_case_notices_nothing(tmp_path: Path) -> None:
    where = folder(tmp_path, one=GOOD, one_test=case("Pass", "{plan: {}}"))
    result = CliRunner().invoke(policy, ["test", "--mutate", str(where)])
    assert result.exit_code == 1
    assert "found Error, expected Pass" in result.stdout
    assert "without `size(plan.moves) < 3` every case still passes" in result.stdout
    assert result.stderr == (
        "1 tests, 1 failed; 0 of 1 validations fail in some case; a case notices the loss of 0\n"
    )


def test_the_loss_of_a_validation_is_noticed(tmp_path: Path) -> None:
    where = folder(tmp_path, one=GOOD, one_test=case("Deny", "{plan: {moves: [1, 2, 3]}}"))
    result = CliRunner().invoke(policy, ["test", "--mutate", str(where)])
    assert (result.exit_code, result.stderr) == (
        0,
        "1 tests, 0 failed; 1 of 1 validations fail in some case; a case notices the loss of 1\n",
    )


@pytest.mark.parametrize(
    ("path", "message"), [("nope", "there is no"), (".", "no policy test here")]
)
def test_nothing_to_run_is_never_clean(tmp_path: Path, path: str, message: str) -> None:
    result = CliRunner().invoke(policy, ["test", str(tmp_path / path)])
    assert isinstance(result.exception, UsageError)
    assert message in result.exception.message


def test_list_shows_what_is_in_force(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "policies").mkdir()
    (tmp_path / ".gitbot.yaml").write_text("", encoding="utf-8")
    text = GOOD.replace("name: one", "name: snapshot-age")
    (tmp_path / "policies" / "mine.yaml").write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(policy, ["list"])
    assert result.exit_code == 0, result.output
    assert [line.split()[0] for line in result.stdout.splitlines()] == [
        "NAME",
        "allow-breach",
        "blast-radius",
        "migration-slots",
        "protected-vms",
        "snapshot-age",
    ]
    assert "policies/mine.yaml" in result.stdout
