"""No two modules need each other: what depends on what can be drawn from top to bottom."""

import ast
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def module_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported(tree: ast.Module, known: Mapping[str, Path]) -> Iterator[str]:
    """Every module that a module names, also for types only and inside functions."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names if name.name in known)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, "imports are absolute"
            for name in node.names:
                inner = f"{node.module}.{name.name}"
                yield inner if inner in known else str(node.module)


@pytest.mark.parametrize("room", ["gitbot", "tests"])
def test_no_modules_import_each_other(room: str) -> None:
    known = {module_of(path): path for path in sorted((ROOT / room).rglob("*.py"))}
    graph = {
        module: {name for name in imported(ast.parse(path.read_text()), known) if name in known}
        - {module}
        for module, path in known.items()
    }
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as circle:
        pytest.fail(f"these import each other: {' <- '.join(circle.args[1])}")
