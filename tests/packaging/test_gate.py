"""The gate counts coverage; a person's `make test` runs the same tests without counting."""

import json
import re
import subprocess
from pathlib import Path

from tests.tiers import COUNTS, TIERS, Tier, as_asked, execute, pytest

ROOT = Path(__file__).resolve().parents[2]
(FAST,) = (tier for tier in TIERS if tier.name == "fast")


def counts(tier: Tier) -> bool:
    rooms, rest, judged = tier.commands
    return "slipcover" in rooms and "slipcover" not in rest and "--merge" in judged


def test_the_gate_counts_coverage() -> None:
    (line,) = re.findall(r"(?m)^exec make test (.*)$", (ROOT / ".ci" / "run").read_text("utf-8"))
    assert line == "TIERS=all REQUIRE=all"
    assert counts(as_asked(FAST, require="all", data=""))
    assert counts(as_asked(FAST, require="fast", data=""))


def test_too_little_coverage_fails(tmp_path: Path) -> None:
    summary = {"covered_lines": 849, "missing_lines": 151, "percent_covered": 84.9}
    for name, percent, code in (("less.json", 84.9, 2), ("enough.json", 85.0, 0)):
        counts = {"files": {}, "summary": {**summary, "percent_covered": percent}}
        (tmp_path / name).write_text(json.dumps(counts), "utf-8")
        place = str(tmp_path / name)
        command = [place if word == COUNTS else word for word in FAST.counted[-1]]
        ended = subprocess.run(command, cwd=ROOT, check=False, capture_output=True)
        assert ended.returncode == code


def test_without_it_the_same_tests_run() -> None:
    (plain,) = as_asked(FAST, require="", data="").commands
    rooms, rest, _ = as_asked(FAST, require="all", data="").commands
    folder = rooms[-1]
    assert rooms[-len(plain) :] == (*plain[1:], folder)
    assert rest == (*plain, f"--ignore={folder}")


def test_no_test_of_a_tier_is_outside_its_folders() -> None:
    texts = {
        path.relative_to(ROOT).as_posix(): path.read_text("utf-8")
        for path in (ROOT / "tests").rglob("*.py")
    }
    for tier in TIERS:
        for command in tier.commands:
            folders = tuple(word for word in command if word.startswith("tests/"))
            used = [path for path, text in texts.items() if f"mark.{tier.name}" in text]
            assert not folders or used
            assert [path for path in used if folders and not path.startswith(folders)] == []


def test_no_other_tier_changes() -> None:
    for tier in TIERS:
        if tier is not FAST:
            assert as_asked(tier, require="all", data="{data}") == tier


def test_what_failed_is_said_with_its_reason(tmp_path: Path) -> None:
    bad = tmp_path / "test_sums.py"
    bad.write_text("def test_sum() -> None:\n    assert [1 + 1] == [3]\n", "utf-8")
    command = (*pytest(workers=0), "--rootdir", str(tmp_path), str(bad))
    with (tmp_path / "output").open("w", encoding="utf-8") as out:
        said, failure = execute(command, out)
    assert said == f"FAILED: {' '.join(command)}"
    assert failure.splitlines()[:2] == ["test_sums::test_sum", "  assert [2] == [3]"]
    assert f"{said}\n" in (tmp_path / "output").read_text("utf-8")


def test_what_passed_is_not_said() -> None:
    assert execute(("true",)) == []
