"""findings.md lists every code that stands in the source, plan.md the codes of holds."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "reference" / "findings.md").read_text("utf-8")
HOLDS = (ROOT / "docs" / "reference" / "plan.md").read_text("utf-8")
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


def test_every_code_of_the_source_is_on_its_page() -> None:
    missing = [
        found
        for found in literals()
        if f"| `{found[1]}` |" not in PAGE
        and f"| `{found[1].removeprefix('plan/')}` |" not in HOLDS
    ]
    assert missing == []
