"""The page of promises and the notes on the attacks have all rows, and name tests that exist."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "reliability.md").read_text("utf-8")
NOTES = (ROOT / "tests" / "faults" / "NOTES.md").read_text("utf-8")
ROWS = {
    cells[0]: cells
    for line in PAGE.splitlines()
    if len(cells := [cell.strip() for cell in line.strip("|").split("|")]) == 5
    and re.fullmatch(r"I\d+", cells[0])
}


def test_every_promise_has_one_row() -> None:
    assert list(ROWS) == [f"I{number}" for number in range(1, 25)]


def test_every_row_says_how_far_it_is_shown_and_by_which_tests() -> None:
    for name, (_, _, _, state, tests) in ROWS.items():
        assert state.split()[0].strip(",;:") in ("proved", "tested", "partly"), name
        files = re.findall(r"`(tests/[\w/]+\.py)`", tests)
        assert files, name
        for file in files:
            assert (ROOT / file).is_file(), f"{name}: {file}"


CLASSES = {
    cells[0]: cells
    for line in NOTES.splitlines()
    if len(cells := [cell.strip() for cell in line.strip("|").split("|")]) == 4
    and re.fullmatch(r"S\d+", cells[0])
}


def test_every_class_of_advisories_has_a_test_or_a_reason() -> None:
    assert list(CLASSES) == [f"S{number}" for number in range(1, 25)]
    for name, (_, _, here, tests) in CLASSES.items():
        assert "::" in tests or here.startswith("cannot apply: "), name


def test_every_test_that_page_and_notes_name_exists() -> None:
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", PAGE + NOTES)
    assert len(named) > 40
    for file, name in named:
        text = (ROOT / file).read_text("utf-8")
        assert re.search(rf"^def {name}\(", text, re.MULTILINE), f"{file}::{name}"


ATTACKS = [
    cells
    for line in PAGE.splitlines()
    if len(cells := [cell.strip() for cell in line.strip("|").split("|")]) == 5
    and re.match(r"I\d+\b", cells[1])
]


def test_every_promise_has_an_attack_with_figure_command_and_what_it_found() -> None:
    attacked: set[str] = set()
    for attack, promises, figure, command, found in ATTACKS:
        assert re.search(r"\d|each|every|all", figure), attack
        assert found, attack
        for first, last in re.findall(r"I(\d+)(?: to I(\d+))?", promises):
            attacked |= {f"I{number}" for number in range(int(first), int(last or first) + 1)}
        files = re.findall(r"tests/[\w/]+\.py", command)
        files += [f"{name.replace('.', '/')}" for name in re.findall(r"-m (tests[.\w]+)", command)]
        assert files, attack
        for file in files:
            path = ROOT / file
            assert path.is_file() or path.with_suffix(".py").is_file() or path.is_dir(), file
    assert attacked == set(ROWS)


def test_pages_for_users_stay_short() -> None:
    for name in ("reliability.md", "performance.md"):
        words = (ROOT / "docs" / name).read_text("utf-8").split()
        assert len(words) <= 1500, f"{name}: {len(words)} words; notes go beside the tests"
