"""The table of statements names scenarios that exist, and every scenario of a statement in it."""

from __future__ import annotations

import re
from pathlib import Path

HERE = Path(__file__).parent
ROW = re.compile(r"^\| (?P<statement>.+?) \| (?P<folders>`.+`) \|$", re.MULTILINE)
SINCE = {11, 20, 31, *range(39, 46), 48, 53, 54}  # what an audit of the whole cluster answers


def rows() -> dict[str, list[str]]:
    text = (HERE / "README.md").read_text(encoding="utf-8")
    return {found["statement"]: found["folders"].split(", ") for found in ROW.finditer(text)}


def test_every_statement_has_a_scenario_that_runs() -> None:
    named = {name.strip("`") for folders in rows().values() for name in folders}
    ways = {
        path.parent.name for way in ("session.txt", "story.py") for path in HERE.glob(f"*/{way}")
    }
    assert named <= ways


def test_a_scenario_of_a_statement_carries_its_number() -> None:
    numbered = {
        int(statement[1:].partition(":")[0]): folders
        for statement, folders in rows().items()
        if re.match(r"B\d+:", statement)
    }
    assert set(numbered) == SINCE
    for number, (folder,) in numbered.items():
        assert folder.startswith(f"`b{number:02}_")
