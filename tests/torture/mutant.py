"""One small change of one line of a module, planted in a running process or while it is imported.

`python -m tests.torture.mutant PATH PLACE WAY TEST...` imports it changed and runs the tests.
"""

import ast
import copy
import gc
import importlib.abc
import importlib.util
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import TypeVar

import pytest

ROOT = Path(__file__).resolve().parents[2]
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
    last: int
    place: int
    way: int
    said: str
    within: str
    text: str
    called: bool  # False: it is computed when the module is imported

    @property
    def key(self) -> tuple[str, str, str, str]:
        """The same when lines move."""
        return self.path, self.within, self.said, self.text


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
    homes, lines = _homes(tree), _lines(tree)
    for place, node in enumerate(ast.walk(tree)):
        for way, (said, _) in enumerate(() if id(node) in told else ways(node)):
            shown = node.test if isinstance(node, ast.If) else node
            yield Mutant(
                path=path,
                line=node.lineno,  # type: ignore[attr-defined]
                last=shown.end_lineno,  # type: ignore[attr-defined]
                place=place,
                way=way,
                said=said,
                within=homes[id(node)][0] if id(node) in homes else "",
                called=id(node) in homes and homes[id(node)][1],
                text=" ".join(ast.unparse(lines.get(id(node), shown)).split()),
            )


def _homes(tree: ast.Module) -> dict[int, tuple[str, bool]]:
    """The innermost function or class of each node, by its identity, and if it is a function."""
    homes: dict[int, tuple[str, bool]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            called = isinstance(node, ast.FunctionDef)
            homes |= {id(part): (node.name, called) for part in ast.walk(node) if part is not node}
        if isinstance(node, ast.FunctionDef):  # what it has without an argument is made before
            homes |= {id(part): (node.name, False) for part in ast.walk(node.args)}
    return homes


def _lines(tree: ast.Module) -> dict[int, ast.stmt | ast.keyword]:
    """The whole line of each constant, or its name: a number alone says nothing."""
    return {
        id(part): line
        for kind in (ast.stmt, ast.keyword)
        for line in ast.walk(tree)
        if isinstance(line, kind) and not hasattr(line, "body")
        for part in ast.walk(line)
        if isinstance(part, ast.Constant)
    }


def _told(node: ast.AST) -> Iterator[ast.AST]:
    """Parts that decide nothing: how a class is made, and what a message counts."""
    if isinstance(node, ast.ClassDef | ast.FunctionDef):
        for part in (*node.decorator_list, *getattr(node, "keywords", ())):
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


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for part in code.co_consts:
        if isinstance(part, CodeType):
            yield from _codes(part)


def functions_of(path: str) -> list[FunctionType]:
    """The functions of the imported module, methods too."""
    where = str(ROOT / path)
    found = [item for item in gc.get_objects() if isinstance(item, FunctionType)]
    return [item for item in found if item.__code__.co_filename == where]


def planted(mutant: Mutant, functions: Sequence[FunctionType]) -> bool:
    """Give the functions of the imported module the mutant's code; False if none differs."""
    made = compile(changed(mutant), str(ROOT / mutant.path), "exec", dont_inherit=True)
    codes = {(code.co_qualname, code.co_firstlineno): code for code in _codes(made)}
    found = False
    for given in functions:
        code = codes.get((given.__code__.co_qualname, given.__code__.co_firstlineno))
        if code is not None and code != given.__code__:
            given.__code__, found = code, True
    return found


class Instead(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports the mutant in place of its module."""

    def __init__(self, mutant: Mutant) -> None:
        self._name = mutant.path.removesuffix(".py").replace("/", ".")
        self._path = str(ROOT / mutant.path)
        self._code = compile(changed(mutant), self._path, "exec", dont_inherit=True)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        del path, target
        if fullname != self._name:
            return None
        return importlib.util.spec_from_file_location(fullname, self._path, loader=self)

    def exec_module(self, module: ModuleType) -> None:
        exec(self._code, module.__dict__)


def main(path: str, place: str, way: str, *tests: str) -> int:
    """Exit code 0 if the tests pass with the change."""
    wanted = (int(place), int(way))
    (mutant,) = (item for item in mutants(path) if (item.place, item.way) == wanted)
    sys.meta_path.insert(0, Instead(mutant))
    options = ["-x", "-q", "-n0", "-p", "no:cacheprovider", "-p", "no:randomly"]
    return int(pytest.main([*options, *tests])) if tests else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
