"""`gitbot init`: what it writes works at once, and it destroys nothing."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from gitbot.cli.commands.init import init
from gitbot.cli.shared.linting import lint
from gitbot.documents import read_documents
from gitbot.errors import UsageError
from gitbot.intents.registry import KINDS
from gitbot.settings import not_at_hand, read_settings

COMMIT = "0123456789abcdef0123456789abcdef01234567"
GITHUB = (
    *("--forge", "github", "--repository", "acme/placement"),
    *("--action", f"acme/gitbot@{COMMIT}"),
)


def run(*arguments: str) -> Result:
    result = CliRunner().invoke(init, list(arguments), standalone_mode=False)
    if result.exception is not None:
        raise result.exception
    return result


@pytest.mark.parametrize(
    "option",
    [
        ("--repository", "acme/placement"),
        ("--action", f"acme/gitbot@{COMMIT}"),
        ("--runs-on", "ubuntu-latest"),
        ("--base-branch", "trunk"),
    ],
)
def test_an_option_that_only_github_has_is_not_passed_over(
    tmp_path: Path, option: tuple[str, str]
) -> None:
    folder = tmp_path / "new"
    with pytest.raises(UsageError, match=f"{option[0]} is about GitHub; give --forge github"):
        run(*option, str(folder))
    assert not folder.exists()


def tree(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


@pytest.mark.parametrize(("forge", "options"), [("local", ()), ("github", GITHUB)])
@pytest.mark.parametrize("cluster", ["prod", "lab-1"])
def test_the_example_lints_clean(
    tmp_path: Path, forge: str, options: tuple[str, ...], cluster: str
) -> None:
    run(str(tmp_path), *options, "--cluster", cluster)
    files = tree(tmp_path)
    assert lint(files) == ()
    settings, _ = read_settings(files[".gitbot.yaml"], ".gitbot.yaml", not_at_hand)
    assert settings is not None
    assert (settings.forge.type, settings.clusters[0].name) == (forge, cluster)
    assert (settings.forge.repository == "acme/placement") == (forge == "github")


def test_it_holds_every_kind_that_people_write(tmp_path: Path) -> None:
    run(str(tmp_path))
    kinds = {
        document.value["kind"]
        for path, data in tree(tmp_path).items()
        if path.startswith("intents/")
        for document in read_documents(data, path)[0]
    }
    assert kinds == set(KINDS) - {"PlacementProposal"}


def test_the_paths_written_are_printed(tmp_path: Path) -> None:
    result = run(str(tmp_path))
    assert sorted(result.stdout.split()) == sorted(str(tmp_path / path) for path in tree(tmp_path))


MINE = """\
apiVersion: placement.gitbot.dev/v1alpha1
kind: Configuration
spec: {clusters: [{name: iberia, timeZone: UTC}]}
"""


def test_what_is_there_stays_and_what_is_missing_is_written(tmp_path: Path) -> None:
    new = {*tree_of(tmp_path / "new"), ".gitbot.yaml"}
    (tmp_path / "here").mkdir()
    (tmp_path / "here/README.md").write_text("mine\n")
    (tmp_path / "here/.gitbot.yaml").write_text(MINE)
    result = run(str(tmp_path / "here"))
    files = tree(tmp_path / "here")
    assert files["README.md"] == b"mine\n"
    assert files[".gitbot.yaml"] == MINE.encode()
    assert {path.replace("/iberia/", "/prod/") for path in files} == new
    assert lint(files) == ()
    assert "left as it is: README.md\n" in result.stderr
    assert "README.md" not in result.stdout
    again = run(str(tmp_path / "here"), *GITHUB)
    assert all("/.github/workflows/" in line for line in again.stdout.splitlines())
    assert "left as it is: intents/iberia/ (it has intents" in again.stderr
    assert tree(tmp_path / "here").items() >= files.items()


def tree_of(folder: Path) -> dict[str, bytes]:
    run(str(folder))
    return tree(folder)


@pytest.mark.parametrize(
    ("configuration", "message"),
    [
        (MINE, r"found --cluster prod, expected one of .*\.gitbot\.yaml: iberia; add the cluster"),
        (MINE.replace("clusters", "cluster"), r"\.gitbot\.yaml:3:\d+: .*; mend it, then run init"),
    ],
)
def test_a_configuration_that_does_not_fit_is_named(
    tmp_path: Path, configuration: str, message: str
) -> None:
    (tmp_path / ".gitbot.yaml").write_text(configuration)
    with pytest.raises(UsageError, match=message):
        run(str(tmp_path), "--cluster", "prod")
    assert set(tree(tmp_path)) == {".gitbot.yaml"}


def test_all_missing_options_stand_in_one_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"give --repository, .*; found the action .*--action"):
        run(str(tmp_path / "new"), "--forge", "github")
    assert not (tmp_path / "new").exists()


def test_on_a_terminal_what_is_missing_is_asked_until_it_can_be_used(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "gitbot", "init", "new", "--forge", "github"],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])},
        cwd=tmp_path,
    )
    os.close(theirs)
    shown, answers = b"", [b"acme", b"acme/placement", f"acme/gitbot@{COMMIT}".encode()]
    try:
        while part := _read(ours):
            shown += part
            if answers and shown.endswith(b"): "):
                os.write(ours, answers.pop(0) + b"\n")
        assert process.wait(timeout=30) == 0
    finally:
        process.kill()
        os.close(ours)
    assert b"found the repository 'acme', expected OWNER/NAME" in shown
    assert shown.count(b"This repository on GitHub") == 2
    workflow = (tmp_path / "new/.github/workflows/plan.yml").read_text()
    assert f"uses: acme/gitbot@{COMMIT}" in workflow


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65_536)
    except OSError:  # the other end is closed
        return b""


@pytest.mark.parametrize("name", ["Prod", "a b", "../x", ""])
def test_a_cluster_name_is_a_label(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="expected an RFC 1123 label"):
        run(str(tmp_path), "--cluster", name)
    assert tree(tmp_path) == {}
