"""Syntax errors of the parser, in words that say how to fix them."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

import yaml


@dataclass(frozen=True, slots=True, kw_only=True)
class SyntaxProblem:
    """A syntax error: its character offset, what was found and expected, and what to do.

    `reached` is the offset at which the parser gave up, at or after `index`.
    """

    index: int
    reached: int = 0
    found: str
    expected: str
    hint: str


_CONFLICT = re.compile("^([<|>]{7}(?= )|[|=]{7}(?=\r?$))", re.MULTILINE)
_MISSED = "did not find expected "
_MISSING = re.compile(f"^{_MISSED}.*", re.DOTALL)

# (part of the parser's context, part of its problem, found, expected, hint, at the opening)
_KNOWN = (
    (
        "quoted scalar",
        "end of stream",
        "a quote that is never closed",
        "a closing quote",
        "close the quote",
        True,
    ),
    (
        "quoted scalar",
        "document indicator",
        "a quote that is not closed before the next document",
        "a closing quote",
        "close the quote",
        True,
    ),
    (
        "flow sequence",
        "did not find expected",
        "a bracket [ that is never closed",
        "a comma or ]",
        "close the bracket",
        True,
    ),
    (
        "flow mapping",
        "did not find expected",
        "a brace { that is never closed",
        "a comma or }",
        "close the brace",
        True,
    ),
    (
        "quoted scalar",
        "Unicode character escape code",
        "an escape that names no character",
        "a Unicode character that is not a surrogate",
        "write the character itself",
        False,
    ),
    (
        "quoted scalar",
        "escape",
        "an unknown escape after \\",
        "an escape that YAML knows",
        "write \\\\ for a backslash, or use single quotes",
        False,
    ),
    (
        "block scalar",
        "tab character",
        "a tab as indentation",
        "spaces",
        "indent with spaces",
        False,
    ),
    ("alias", "", "* unquoted, which begins an alias", "text in quotes", 'quote it: "*"', True),
    ("anchor", "", "& unquoted, which begins an anchor", "text in quotes", 'quote it: "&"', True),
    (
        "directive",
        "",
        "a directive",
        "a document without directives",
        "remove the line that begins with %",
        True,
    ),
    (
        "simple key",
        "could not find expected ':'",
        "text without a colon",
        "key: value",
        "write a colon and a space after the key",
        True,
    ),
    (
        "tag",
        "",
        "a tag that cannot be read",
        "a value without a tag",
        "remove the tag, or quote the text",
        True,
    ),
    (
        "",
        "mapping values are not allowed",
        "a colon that cannot stand here",
        "one key and its value on a line",
        "quote the text if it holds a colon, or indent the key like its siblings",
        False,
    ),
    (
        "",
        "node content",
        "something that is not a value",
        "a value",
        "write one, or quote the text",
        False,
    ),
    (
        "",
        "unexpected ':'",
        "a colon that cannot stand here",
        "a value after the colon",
        "put a space after the colon, or quote the text",
        False,
    ),
    (
        "block mapping",
        "did not find expected key",
        "something that is not a key",
        "a key of the same mapping, indented like the others",
        "indent the line like its siblings",
        False,
    ),
    (
        "block collection",
        "did not find expected '-'",
        "something that is not a list item",
        "a list item beginning with -",
        "indent the line like its siblings",
        False,
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ParserState:
    """State of the parser: after a document closed by `...`, and inside which open brackets.

    `open` has the offsets of the brackets and braces that are not closed, innermost last.
    """

    after_end: bool = False
    open: tuple[int, ...] = ()


def syntax_problem(error: yaml.YAMLError, text: str, state: ParserState) -> SyntaxProblem:
    problem = _translated(error, text, state)
    mark = getattr(error, "problem_mark", None)
    reached = mark.index if mark is not None else problem.index
    conflict = _CONFLICT.search(text, text.rfind("\n", 0, problem.index) + 1)
    if conflict is not None and conflict.start() <= max(reached, problem.index):
        problem = SyntaxProblem(
            index=conflict.start(),
            found=f"{conflict[0]}, which Git writes where a merge has a conflict",
            expected="one of the two versions",
            hint="resolve the conflict, and remove the lines with <<<<<<<, ======= and >>>>>>>",
        )
    return replace(problem, reached=max(reached, problem.index))


def _translated(error: yaml.YAMLError, text: str, state: ParserState) -> SyntaxProblem:
    if not isinstance(error, yaml.MarkedYAMLError) or error.problem_mark is None:
        return SyntaxProblem(
            index=getattr(error, "position", 0) or 0,
            found="text that YAML does not allow",
            expected="YAML",
            hint="remove the character",
        )
    context, problem = str(error.context or ""), str(error.problem or "")
    index = error.problem_mark.index
    opening = error.context_mark.index if error.context_mark is not None else index
    if "<document start>" in problem:
        return _after_a_document(index, text, state.after_end)
    if "node content" in problem and state.open and _at_an_end(text, index):
        return _unclosed(state.open[-1], text)
    if "cannot start any token" in problem:
        return _cannot_start(index, text)
    for in_context, in_problem, found, expected, hint, at_opening in _KNOWN:
        if in_context in context and in_problem in problem:
            where = opening if at_opening else index
            return SyntaxProblem(index=where, found=found, expected=expected, hint=hint)
    return SyntaxProblem(
        index=index,
        found=_MISSING.sub("something else", problem).removeprefix("found ") or "a syntax error",
        expected=problem.removeprefix(_MISSED) if problem.startswith(_MISSED) else "YAML",
        hint="see the line above",
    )


def _at_an_end(text: str, index: int) -> bool:
    rest = text[index : index + 3]
    return not text[index:].strip() or rest in {"---", "..."}


def _unclosed(index: int, text: str) -> SyntaxProblem:
    name, closing = ("brace {", "}") if text[index : index + 1] == "{" else ("bracket [", "]")
    return SyntaxProblem(
        index=index,
        found=f"a {name} that is never closed",
        expected=f"a comma or {closing}",
        hint=f"close the {name.partition(' ')[0]}",
    )


def _after_a_document(index: int, text: str, after_end: bool) -> SyntaxProblem:
    while index < len(text) and text[index].isspace():
        index += 1
    if after_end:
        return SyntaxProblem(
            index=index,
            found="text after the end of the document (...)",
            expected="nothing, or --- to begin another document",
            hint="remove the text, or put --- before it",
        )
    return SyntaxProblem(
        index=index,
        found="text after the end of the document",
        expected="nothing, or --- to begin another document",
        hint="remove the text, or close and indent what belongs together",
    )


def _cannot_start(index: int, text: str) -> SyntaxProblem:
    line = text.rfind("\n", 0, index) + 1
    tab = text.find("\t", index, index + 1)
    if tab >= 0 or "\t" in text[line:index]:
        where = index if tab >= 0 else text.index("\t", line)
        return SyntaxProblem(
            index=where, found="a tab", expected="spaces", hint="indent with spaces"
        )
    char = text[index : index + 1]
    return SyntaxProblem(
        index=index,
        found=f"{char} unquoted at the beginning of a value",
        expected="text in quotes",
        hint="quote the text",
    )
