"""The house stays light: a bound for each room, in lines, and one for a function.

A bound may fall freely. It rises only with an ADR that says what the lines buy.
"""

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOMS = {
    "__init__": 14,
    "__main__": 87,
    "adapters": 9_765,
    "audit": 2_274,
    "calendar": 1_755,
    "cli": 9_803,
    "constraints": 11_934,
    "documents": 2_547,
    "errors": 117,
    "execution": 3_726,
    "intents": 6_029,
    "kubernetes": 536,
    "kubevirt": 3_488,
    "model": 3_786,
    "planner": 8_290,
    "policy": 4_100,
    "ports": 640,
    "published": 2_197,
    "rendering": 347,
    "reports": 3_564,
    "service": 236,
    "settings": 1_142,
    "simulation": 9_019,
    "snapshot": 2_676,
    "wiring": 1_273,
    "workflows": 17_164,
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
