"""The reader: a file to plain data with positions, within budgets.

Documents are built from libyaml's events, never composed: anchors, aliases, merge keys, tags and
directives are refused at their place, and depth, nodes and scalar lengths are counted before
anything is built. One run finds every error of a file; after a syntax error reading continues at
the next `---`.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from itertools import islice

from yaml import CollectionEndEvent, CollectionStartEvent, NodeEvent, StreamEndEvent, YAMLError

from gitbot.documents.composer import Builder
from gitbot.documents.document import DEFAULT_BUDGET, Budget, ParsedDocument
from gitbot.documents.finding_report import finding_at
from gitbot.documents.libyaml import CParser
from gitbot.documents.positions import TOP
from gitbot.documents.read_context import BudgetExceeded, Reading
from gitbot.documents.source_text import decode, name_of_character, text_of
from gitbot.documents.syntax_errors import syntax_problem
from gitbot.model.plan.findings import Finding, sort_key

_NEXT_DOCUMENT = re.compile(r"^---(?=\s|$)", re.MULTILINE)
_MOST = 100  # most findings of one sort: a garbage file could have thousands
_ODD_SPACES = frozenset("\u00a0\u1680\u202f\u205f\u3000") | {chr(c) for c in range(0x2000, 0x200C)}
_ODD_INDENT = re.compile(r"^ *([\u00a0\u1680\u2000-\u200b\u202f\u205f\u3000])", re.MULTILINE)


def read_documents(
    data: bytes, file: str, *, budget: Budget = DEFAULT_BUDGET
) -> tuple[tuple[ParsedDocument, ...], tuple[Finding, ...]]:
    """All readable documents of a file, and all findings about its text, sorted by place.

    A document with a syntax error is left out; one with a refused scalar, key or construct is
    returned without it (see Document.reported). Never raises for bad input.
    """
    if len(data) > budget.bytes:
        return (), (_too_large(data, file, budget),)
    characters, problem = decode(data, file)
    if problem is not None:
        return (), (problem,)
    reading = _read(characters, file, budget)
    if odd := _odd_indentation(reading):
        spaced = _with_spaces(characters, [index for index, _ in odd])
        reading = _read(spaced, file, budget)
        _report_indentation(reading, odd)
    return tuple(reading.documents), tuple(sorted(reading.findings, key=sort_key))


def _read(characters: str, file: str, budget: Budget) -> Reading:
    reading = Reading(file=file, text=text_of(characters), budget=budget)
    start: int | None = 0
    broken = 0  # each requires another scan of the rest of the file
    while start is not None and broken < _MOST:
        start = _stretch(reading, start)
        broken += 1
    if reading.started == 0:
        reading.report(
            "documents/empty-file",
            TOP,
            "found a file without a document, expected at least one",
            hint="write one, or delete the file",
        )
    for index, char in reading.refused.left()[:_MOST]:  # in comments and between the nodes
        reading.report(
            "documents/character",
            reading.text.position(index),
            f"found {name_of_character(char)}, expected none in the file",
            hint="remove the character",
        )
    return reading


def _stretch(reading: Reading, start: int) -> int | None:
    """Read documents from a character offset. Returns where to continue after a syntax error."""
    builder = Builder(reading, start)
    try:
        builder.documents()
    except BudgetExceeded:
        return None
    except YAMLError as error:
        text = reading.text.text
        problem = syntax_problem(error, text[start:], builder.state)
        number = reading.started + builder.ended_explicitly
        subject = f"document {number}: " if number > 1 else ""
        reading.report(
            "documents/syntax",
            reading.text.position(min(start + problem.index, len(text))),
            f"{subject}found {problem.found}, expected {problem.expected}",
            hint=problem.hint,
        )
        following = _NEXT_DOCUMENT.search(text, start + max(problem.reached, 1))
        return following.start() if following else None
    return None


def _odd_indentation(reading: Reading) -> list[tuple[int, str]]:
    """Offsets and characters other than spaces that indent a line, outside quoted text."""
    found = islice(_ODD_INDENT.finditer(reading.text.text), _MOST)
    places = [(match.start(1), match.group(1)) for match in found]
    return [place for place in places if not _inside(reading.quoted_spans, place[0])]


def _inside(spans: list[tuple[int, int]], index: int) -> bool:
    after = bisect_right(spans, (index, len(spans) and spans[-1][1] + 1))
    return after > 0 and spans[after - 1][0] <= index < spans[after - 1][1]


def _with_spaces(characters: str, indices: list[int]) -> str:
    """The text with spaces instead of odd indentation, so that reading can continue."""
    pieces = list(characters)
    for index in indices:
        while index < len(pieces) and pieces[index] in _ODD_SPACES:
            pieces[index] = " "
            index += 1  # noqa: PLW2901 - walks to the end of the indentation
    return "".join(pieces)


def _report_indentation(reading: Reading, odd: list[tuple[int, str]]) -> None:
    for index, char in odd:
        reading.report(
            "documents/indentation",
            reading.text.position(index),
            f"found U+{ord(char):04X} as indentation, expected spaces",
            hint="replace it with spaces",
        )


def _too_large(data: bytes, file: str, budget: Budget) -> Finding:
    head = data[: budget.bytes].decode("utf-8", errors="replace").removeprefix("\ufeff")
    text = text_of(head)
    place = text.position(_last_node(text.text, budget))
    message = f"found a file of {len(data)} bytes, expected at most {budget.bytes}"
    return finding_at(file, place, "documents/budget", message, hint="split the file")


def _last_node(text: str, budget: Budget) -> int:
    """Offset of the last node that starts in a text that may be cut off, or is too deep."""
    parser = CParser(text)
    last = depth = nodes = 0
    try:
        while not isinstance(event := parser.get_event(), StreamEndEvent):
            if isinstance(event, NodeEvent) and event.start_mark is not None:
                last, nodes = event.start_mark.index, nodes + 1
            depth += isinstance(event, CollectionStartEvent)
            depth -= isinstance(event, CollectionEndEvent)
            if depth > budget.depth or nodes > budget.nodes:
                return last
    except YAMLError as error:
        mark = getattr(error, "context_mark", None)
        last = max(last, mark.index) if mark is not None else last
    return last
