"""The range of a part of an expression in its text, and its place in the policy's file."""

from __future__ import annotations

import re
from dataclasses import dataclass

from gitbot.policy.cel_syntax import Syntax, SyntaxKind, SyntaxNode

_TOKEN = re.compile(
    r"""(?:[rR]?[bB]?|[bB][rR])(?:\"\"\"(?:[^\\]|\\.)*?\"\"\"|'''(?:[^\\]|\\.)*?'''"""
    r"""|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|`[^`]*`|\d[\w.]*|\w+|\S""",
    re.DOTALL,
)
_OPEN, _CLOSED = "([{", ")]}"


@dataclass(frozen=True, slots=True)
class Extent:
    """Code points from start to end. Line and column count from 1."""

    start: int
    end: int

    def text(self, whole: str) -> str:
        return " ".join(whole[self.start : self.end].split())


def line_and_column(text: str, offset: int) -> tuple[int, int]:
    before = text[:offset]
    return before.count("\n") + 1, offset - (before.rfind("\n") + 1) + 1


def extent_of(text: str, syntax: Syntax, node: SyntaxNode) -> Extent:
    """The text of a node: that of its parts, with their brackets, and its own sign."""
    at = syntax.offsets.get(node.id, 0)
    start, end = at, _token_end(text, at)
    if text[at : at + 1] in _OPEN:
        end = _closing(text, at) + 1
        before = re.search(r"[\w.]+$", text[:at])
        if node.kind is not SyntaxKind.LIST and node.kind is not SyntaxKind.STRUCT and before:
            start = before.start()
    elif node.kind is SyntaxKind.SELECT:
        field = re.compile(r"\.\s*\??\s*(`[^`]*`|\w+)").match(text, at)
        end = field.end() if field else end
    for part in node.parts:
        inner = _in_brackets(text, extent_of(text, syntax, part), at)
        start, end = min(start, inner.start), max(end, inner.end)
    return Extent(start, end)


def _token_end(text: str, at: int) -> int:
    token = _TOKEN.match(text, at)
    return token.end() if token else at


def _closing(text: str, at: int) -> int:
    depth = 0
    for token in _TOKEN.finditer(text, at):
        depth += (token.group() in _OPEN) - (token.group() in _CLOSED)
        if depth == 0:
            return token.start()
    return len(text) - 1


def _in_brackets(text: str, inner: Extent, own: int) -> Extent:
    """With the brackets around it that are not those of a call."""
    while True:
        before = len(text[: inner.start].rstrip()) - 1
        after = inner.end + len(text[inner.end :]) - len(text[inner.end :].lstrip())
        alone = before < 1 or not re.match(r"[\w)\]]", text[before - 1])
        if (
            before == own
            or not alone
            or text[before : before + 1] != "("
            or text[after : after + 1] != ")"
        ):
            return inner
        inner = Extent(before, after + 1)


def place_in_file(source: str, start: int, expression: str, offset: int) -> tuple[int, int]:
    """Line and column in the file of a place in an expression whose scalar begins at `start`.

    YAML folds lines and escapes characters, so the letters before the place are counted.
    """
    style = source[start : start + 1]
    at = start
    if style in ("|", ">"):
        at = source.find("\n", start) + 1
    elif style in ("'", '"'):
        at = start + 1
    skip = {"'": "'", '"': "\\"}.get(style, "")
    left = sum(not char.isspace() for char in expression[:offset])
    while at < len(source) and (left or source[at].isspace()):
        if skip and source[at] == skip:
            at += 1
        left -= not source[at : at + 1].isspace()
        at += 1
    return line_and_column(source, min(at, len(source)))
