"""Values that an expression reads. They alone decide its result, so equal ones are judged once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from gitbot.policy.cel_engine import Program
from gitbot.policy.cel_syntax import SyntaxKind, SyntaxNode, read_syntax

# The keys of a map that are read, each with the keys of its value; None reads all of the value.
Tree = Mapping[str, "Tree | None"]
Reads = Mapping[str, "Tree | None"]
_PLAIN = frozenset({str, int, bool, list})
_KEYED = frozenset({"_[_]", "_?._", "_[?_]"})
_Path = tuple[str, ...]


@lru_cache(maxsize=4096)
def reads(program: Program) -> Reads:
    """By variable, what an expression reads."""
    return _tree(_read(program))


def reads_together(programs: Iterable[Program]) -> Reads:
    return _tree(path for program in programs for path in _read(program))


def _read(program: Program) -> Iterator[_Path]:
    return _paths(read_syntax(program.checked).root, frozenset(), program.names)


def project(value: Any, tree: Tree | None) -> Any:
    """Only those parts of a value that the tree reads."""
    if type(value) is not dict:
        if type(value) in _PLAIN or not isinstance(value, Mapping):  # isinstance of Mapping is slow
            return value
        if tree is None:
            return dict(value)
    elif tree is None:
        return value
    return {key: project(value[key], inner) for key, inner in tree.items() if key in value}


def leaves(tree: Tree | None) -> Iterator[_Path]:
    """The path of each value that a tree reads as a whole."""
    if tree is None:
        yield ()
    else:
        yield from ((key, *rest) for key, inner in tree.items() for rest in leaves(inner))


def _paths(node: SyntaxNode, bound: frozenset[str], names: frozenset[str]) -> Iterator[_Path]:
    chain = chain_of(node)
    if chain is not None:
        name, *keys = chain
        # `int` and other names of types are identifiers too
        if name not in bound and name.removeprefix(".") in names:
            yield (name.removeprefix("."), *keys)
    elif node.kind is SyntaxKind.COMPREHENSION:
        over, start, *inner = node.parts
        yield from _paths(over, bound, names)
        yield from _paths(start, bound, names)
        for part in inner:
            yield from _paths(part, bound | {node.name, *node.more}, names)
    else:
        for part in node.parts:
            yield from _paths(part, bound, names)


def chain_of(node: SyntaxNode) -> list[str] | None:
    """The variable and constant keys of `a.b['c'].?d`; None for anything else."""
    keys: list[str] = []
    while node.kind is not SyntaxKind.IDENT:
        if node.kind is SyntaxKind.SELECT:
            keys.append(node.name)
        elif node.name in _KEYED and len(node.parts) == 2 and node.parts[1].text is not None:
            keys.append(node.parts[1].text)
        else:
            return None
        node = node.parts[0]
    return [node.name, *reversed(keys)]


def _tree(paths: Iterable[_Path]) -> Reads:
    root: dict[str, Any] = {}
    for path in sorted(set(paths), key=len):
        place = root
        for key in path[:-1]:
            inner = place.setdefault(key, {})
            if inner is None:
                break
            place = inner
        else:
            place[path[-1]] = None
    return root
