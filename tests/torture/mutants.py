"""Mutants of the lines that decide: `python -m tests.torture.mutants gitbot/execution/fence.py`.

Each is one small change of one line: a comparison, an `and`, a `not`, a number, a boolean, a branch
that is always or never taken, a call that is left out. A mutant is imported in place of its module
by a process of its own, which runs the narrow tests of that module; if they pass, it survived.
Without names, all modules of `NARROW` are asked, which takes long.
"""

from __future__ import annotations

import ast
import copy
import importlib.abc
import importlib.util
import io
import multiprocessing
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import TypeVar

import click  # noqa: F401 - imported once, for all mutants; so are the next
import msgspec  # noqa: F401
import pytest
import yaml  # noqa: F401

ROOT = Path(__file__).resolve().parents[2]
LONGEST = 60  # seconds for the tests of a mutant: an endless loop is noticed, too
EXECUTION = ("tests/unit/execution",)
APPLY = ("tests/unit/workflows/test_apply.py", "tests/faults/test_late_effects.py")
NARROW: dict[str, tuple[str, ...]] = {
    "gitbot/execution/fence.py": (*EXECUTION, "tests/faults/test_fence.py"),
    "gitbot/execution/accept.py": EXECUTION,
    "gitbot/execution/breaker.py": ("tests/unit/execution/test_breaker.py",),
    "gitbot/execution/endings.py": (*EXECUTION, "tests/faults/test_refused_creates.py"),
    "gitbot/execution/starts.py": EXECUTION,
    "gitbot/execution/observe.py": (*EXECUTION, "tests/faults/test_refused_creates.py"),
    "gitbot/execution/requests.py": EXECUTION,
    "gitbot/execution/nodes.py": EXECUTION,
    "gitbot/execution/approval.py": EXECUTION,
    "gitbot/execution/next_steps.py": EXECUTION,
    "gitbot/workflows/apply/tickets.py": (*APPLY, "tests/faults/test_fence.py"),
    "gitbot/workflows/apply/belief.py": ("tests/faults/test_old_reads.py", *APPLY),
    "gitbot/workflows/apply/effects.py": (*APPLY, "tests/faults/test_refused_creates.py"),
}
OTHER: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
Node = TypeVar("Node", bound=ast.AST)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """`place` is the position of the node in a walk of the tree, `way` which change of it."""

    path: str
    line: int
    place: int
    way: int
    said: str


def _compared(node: ast.Compare) -> ast.Compare:
    node.ops[0] = OTHER[type(node.ops[0])]()
    return node


def _joined(node: ast.BoolOp) -> ast.BoolOp:
    node.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
    return node


def _constant(node: ast.Constant) -> ast.Constant:
    node.value = not node.value if isinstance(node.value, bool) else node.value + 1  # type: ignore[operator]
    return node


def _test(value: bool) -> Callable[[Node], Node]:
    def always(node: Node) -> Node:
        node.test = ast.Constant(value)  # type: ignore[attr-defined]
        return node

    return always


def ways(node: ast.AST) -> list[tuple[str, Callable[[ast.AST], ast.AST]]]:
    """The changes of one node, with what they are called."""
    found: list[tuple[str, Callable[..., ast.AST]]] = []
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        found.append(("compared otherwise", _compared))
    elif isinstance(node, ast.BoolOp):
        found.append(("and for or", _joined))
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        found.append(("without not", lambda given: given.operand))
    elif isinstance(node, ast.Constant) and isinstance(node.value, int):
        found.append(("another constant", _constant))
    elif isinstance(node, ast.If | ast.IfExp):
        found += [("always", _test(True)), ("never", _test(False))]
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        found.append(("left out", lambda given: ast.copy_location(ast.Pass(), given)))
    return found


def mutants(path: str) -> Iterator[Mutant]:
    tree = ast.parse((ROOT / path).read_text("utf-8"))
    told = {id(part) for node in ast.walk(tree) for part in _told(node)}
    for place, node in enumerate(ast.walk(tree)):
        for way, (said, _) in enumerate(() if id(node) in told else ways(node)):
            yield Mutant(path=path, line=node.lineno, place=place, way=way, said=said)  # type: ignore[attr-defined]


def _told(node: ast.AST) -> Iterator[ast.AST]:
    """Parts that decide nothing: decorators, and how many of something a message counts."""
    if isinstance(node, ast.ClassDef | ast.FunctionDef):
        for part in node.decorator_list:
            yield from ast.walk(part)
    if isinstance(node, ast.JoinedStr):
        yield from ast.walk(node)


class _Change(ast.NodeTransformer):
    def __init__(self, node: ast.AST, change: Callable[[ast.AST], ast.AST]) -> None:
        self._node, self._change = node, change

    def visit(self, node: ast.AST) -> ast.AST:
        if node is self._node:
            return ast.copy_location(self._change(copy.copy(node)), node)
        seen: ast.AST = self.generic_visit(node)
        return seen


def changed(mutant: Mutant) -> ast.Module:
    tree = ast.parse((ROOT / mutant.path).read_text("utf-8"))
    node = list(ast.walk(tree))[mutant.place]
    if isinstance(node, ast.Compare):
        node.ops = list(node.ops)
    made = ast.fix_missing_locations(_Change(node, ways(node)[mutant.way][1]).visit(tree))
    assert isinstance(made, ast.Module)
    return made


class _Instead(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports the mutant in place of its module."""

    def __init__(self, mutant: Mutant) -> None:
        self._name = mutant.path.removesuffix(".py").replace("/", ".")
        self._path = str(ROOT / mutant.path)
        self._code = compile(changed(mutant), self._path, "exec")

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        del path, target
        if fullname != self._name:
            return None
        return importlib.util.spec_from_file_location(fullname, self._path, loader=self)

    def exec_module(self, module: ModuleType) -> None:
        exec(self._code, module.__dict__)


def _asked(mutant: Mutant | None, tests: tuple[str, ...]) -> None:
    if mutant is not None:
        sys.meta_path.insert(0, _Instead(mutant))
    said = io.StringIO()
    with redirect_stdout(said), redirect_stderr(said):
        code = pytest.main(
            ["-x", "-q", "-n0", "--no-cov", "-p", "no:cacheprovider", "-p", "no:randomly", *tests]
        )
    sys.exit(int(code))


def survives(mutant: Mutant | None, tests: tuple[str, ...]) -> bool:
    """Whether the tests pass; None is the module as it is."""
    process = multiprocessing.get_context("fork").Process(target=_asked, args=(mutant, tests))
    process.start()
    process.join(LONGEST)
    if process.exitcode is None:
        process.kill()
        process.join()
    return process.exitcode == 0


def main(names: Sequence[str]) -> int:
    """Print the survivors of each module; 1 if there are any."""
    left = 0
    for path in names or NARROW:
        tests, began, killed, lived = NARROW[path], time.monotonic(), 0, 0
        if not survives(None, tests):
            raise SystemExit(f"{path}: its tests fail without any change")
        for mutant in mutants(path):
            if survives(mutant, tests):
                lived += 1
                line = (ROOT / path).read_text("utf-8").splitlines()[mutant.line - 1].strip()
                print(f"{path}:{mutant.line}: {mutant.said}: {line}", flush=True)
            else:
                killed += 1
        passed = time.monotonic() - began
        print(f"{path}: {killed} killed, {lived} survived, {passed:.0f} s", flush=True)
        left += lived
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
