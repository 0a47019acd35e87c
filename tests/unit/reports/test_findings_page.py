"""docs/reference/findings.md lists every code that stands in the source."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "reference" / "findings.md").read_text("utf-8")
LISTED = set(re.findall(r"`([a-z-]+(?:/[a-z-]+)?)`", PAGE))
ROOMS = (
    "calendar",
    "check",
    "constraints",
    "documents",
    "files",
    "intents",
    "ledger",
    "plan",
    "policy",
    "settings",
)
CODE = re.compile(rf"(?:{'|'.join(ROOMS)})/[a-z]+(?:-[a-z]+)*")


def literals() -> Iterator[tuple[str, str]]:
    """Every `room/code` in the source; and every `code="…"` of a hold, as `plan/…`."""
    for path in sorted((ROOT / "gitbot").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                if CODE.fullmatch(node.value):
                    yield path.name, node.value
            elif isinstance(node, ast.Call) and "planner" in path.parts:
                for word in node.keywords:
                    if word.arg == "code" and isinstance(word.value, ast.Constant):
                        yield path.name, "plan/" + str(word.value.value)


def test_every_code_of_the_source_is_on_the_page() -> None:
    assert [found for found in literals() if found[1] not in LISTED] == []


def test_no_code_is_listed_twice() -> None:
    full = re.findall(r"`((?:" + "|".join(ROOMS) + r")/[a-z-]+)`", PAGE)
    examples = {"intents/unknown-field"}
    assert sorted(full) == sorted(set(full))
    assert len(set(full) - examples) > 80
