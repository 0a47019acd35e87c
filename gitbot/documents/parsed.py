"""The long way through a file: PyYAML's C event stream to plain data with positions.

Documents are built from events, never composed: anchors, aliases, merge keys, tags and directives
are refused where they stand, and depth, nodes and scalar lengths are counted before anything is
built. Every error of a file is found in one run; after a syntax error reading goes on at the next
`---`.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from itertools import islice

import yaml

from gitbot.documents.budget import Budget
from gitbot.documents.build import Builder
from gitbot.documents.document import Document, Exhausted
from gitbot.documents.positions import Position
from gitbot.documents.syntax import syntax_problem
from gitbot.documents.text import RefusedCharacters, Text, name_of_character, text_of
from gitbot.model.findings import Finding, Severity, sort_key

_NEXT_DOCUMENT = re.compile(r"^---(?=\s|$)", re.MULTILINE)
_MOST = 100  # findings of one sort that may come by the thousand in a file of rubbish
_ODD_SPACES = frozenset("\u00a0\u1680\u202f\u205f\u3000") | {chr(c) for c in range(0x2000, 0x200C)}
_ODD_INDENT = re.compile(r"^ *([\u00a0\u1680\u2000-\u200b\u202f\u205f\u3000])", re.MULTILINE)


def read_parsed(
    characters: str, file: str, budget: Budget
) -> tuple[tuple[Document, ...], tuple[Finding, ...]]:
    """Documents and findings by the YAML parser."""
    reading = _Reading(file=file, text=text_of(characters), budget=budget)
    reading.run()
    if odd := reading.odd_indentation():
        spaced = _with_spaces(characters, [index for index, _ in odd])
        reading = _Reading(file=file, text=text_of(spaced), budget=budget)
        reading.run()
        reading.report_indentation(odd)
    return tuple(reading.documents), tuple(sorted(reading.findings, key=sort_key))


def _with_spaces(characters: str, indices: list[int]) -> str:
    """The text with what stands in for spaces replaced, so that reading can go on."""
    pieces = list(characters)
    for index in indices:
        while index < len(pieces) and pieces[index] in _ODD_SPACES:
            pieces[index] = " "
            index += 1  # noqa: PLW2901 - walks to the end of the indentation
    return "".join(pieces)


class _Reading:
    """One file being read."""

    def __init__(self, *, file: str, text: Text, budget: Budget) -> None:
        self.file = file
        self.text = text
        self.budget = budget
        self.documents: list[Document] = []
        self.findings: list[Finding] = []
        self.refused = RefusedCharacters(text.refused)
        self.quoted_spans: list[tuple[int, int]] = []
        self.started = 0  # documents begun, readable or not
        self.nodes = 0

    def run(self) -> None:
        start: int | None = 0
        while start is not None:
            start = self._stretch(start)
        if self.started == 0:
            self.report(
                "documents/empty-file",
                Position(line=1, column=1),
                "found a file without a document, expected at least one",
                hint="write an intent, or delete the file",
            )
        self._refused_characters()

    def report(
        self, code: str, place: Position, message: str, *, hint: str = "", key: str = ""
    ) -> None:
        self.findings.append(
            Finding(
                code=code,
                severity=Severity.ERROR,
                message=message,
                file=self.file,
                line=place.line,
                column=place.column,
                key_path=key,
                hint=hint,
            )
        )

    def _stretch(self, start: int) -> int | None:
        """Read documents from a character offset; where to go on after a syntax error."""
        loader = yaml.CSafeLoader(self.text.text[start:])
        builder = Builder(self, loader, start)
        try:
            builder.stream()
        except Exhausted:
            return None
        except yaml.YAMLError as error:
            problem = syntax_problem(error, self.text.text[start:], builder.state)
            index = start + problem.index
            place = self.text.position(min(index, len(self.text.text)))
            self.report(
                "documents/syntax",
                place,
                f"{builder.subject}found {problem.found}, expected {problem.expected}",
                hint=problem.hint,
            )
            reached = start + max(problem.reached, builder.last_index)
            return self._next_document(max(reached, start + 1))
        finally:
            loader.dispose()
        return None

    def _next_document(self, index: int) -> int | None:
        match = _NEXT_DOCUMENT.search(self.text.text, index)
        return match.start() if match else None

    def _refused_characters(self) -> None:
        """Refused characters that lie in no scalar: in comments and between the nodes."""
        for index, char in self.refused.left()[:_MOST]:
            self.report(
                "documents/character",
                self.text.position(index),
                f"found {name_of_character(char)}, expected none in the file",
                hint="remove the character",
            )

    def odd_indentation(self) -> list[tuple[int, str]]:
        """Offsets and characters that indent a line and are no spaces, outside of quoted text."""
        found = islice(_ODD_INDENT.finditer(self.text.text), _MOST)
        places = [(match.start(1), match.group(1)) for match in found]
        return [place for place in places if not _inside(self.quoted_spans, place[0])]

    def report_indentation(self, odd: list[tuple[int, str]]) -> None:
        """Report what `odd_indentation` found in the same text."""
        for index, char in odd:
            self.report(
                "documents/indentation",
                self.text.position(index),
                f"found U+{ord(char):04X} as indentation, expected spaces",
                hint="replace it with spaces",
            )


def too_large(data: bytes, file: str, budget: Budget) -> Finding:
    """The finding for a file above its budget, at the node in which the budget ran out."""
    head = data[: budget.bytes].decode("utf-8", errors="replace").removeprefix("\ufeff")
    text = text_of(head)
    place = text.position(_last_node(text.text, budget))
    return Finding(
        code="documents/budget",
        severity=Severity.ERROR,
        message=f"found a file of {len(data)} bytes, expected at most {budget.bytes}",
        file=file,
        line=place.line,
        column=place.column,
        hint="split the file",
    )


def _last_node(text: str, budget: Budget) -> int:
    """Offset of the last node that begins in a text that may be cut off, or that is too deep."""
    loader = yaml.CSafeLoader(text)
    last = depth = nodes = 0
    try:
        while not isinstance(event := loader.get_event(), yaml.StreamEndEvent):
            if isinstance(event, yaml.NodeEvent) and event.start_mark is not None:
                last, nodes = event.start_mark.index, nodes + 1
            depth += isinstance(event, yaml.CollectionStartEvent)
            depth -= isinstance(event, yaml.CollectionEndEvent)
            if depth > budget.depth or nodes > budget.nodes:
                return last
    except yaml.YAMLError as error:
        mark = getattr(error, "context_mark", None)
        last = max(last, mark.index) if mark is not None else last
    finally:
        loader.dispose()
    return last


def _inside(spans: list[tuple[int, int]], index: int) -> bool:
    """Whether an offset lies in one of the sorted, disjoint spans."""
    after = bisect_right(spans, (index, len(spans) and spans[-1][1] + 1))
    return after > 0 and spans[after - 1][0] <= index < spans[after - 1][1]
