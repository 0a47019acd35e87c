"""The house stays light: a bound for each room, in lines, and one for a function.

A bound may fall freely. It rises only with its row in docs/adr/0018-the-field.md, and the commit
says what the lines buy.
"""

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOMS = {
    "__init__": 14,
    "__main__": 87,
    "adapters": 11_608,
    "audit": 2_289,
    "calendar": 1_787,
    "cli": 10_368,
    "constraints": 12_183,
    "documents": 2_547,
    "errors": 117,
    "execution": 3_825,
    "intents": 6_237,
    "kubernetes": 538,
    "kubevirt": 3_525,
    "model": 3_926,
    "planner": 8_419,
    "policy": 4_097,
    "ports": 669,
    "published": 2_477,
    "rendering": 347,
    "reports": 5_226,
    "service": 394,
    "settings": 1_310,
    "simulation": 8_913,
    "snapshot": 2_794,
    "wiring": 1_333,
    "workflows": 19_572,
}
FUNCTION = 50
PACKAGE = Path(__file__).parents[2] / "gitbot"
MODULES = {path.relative_to(PACKAGE): path.read_text("utf-8") for path in PACKAGE.rglob("*.py")}
LINES = {path: text.count("\n") for path, text in MODULES.items()}


def functions() -> Iterator[tuple[int, str]]:
    for path, text in MODULES.items():
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                assert node.end_lineno is not None
                yield node.end_lineno - node.lineno + 1, f"{path}:{node.lineno} {node.name}"


def test_rooms() -> None:
    found: Counter[str] = Counter()
    for path, count in LINES.items():
        found[path.parts[0].removesuffix(".py")] += count
    assert found.keys() == ROOMS.keys()
    assert {room: count for room, count in found.items() if count > ROOMS[room]} == {}


def test_functions() -> None:
    assert [found for found in functions() if found[0] > FUNCTION] == []
