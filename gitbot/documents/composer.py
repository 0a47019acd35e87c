"""Parser events to plain data, one node after the other, with positions. Refuses some nodes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from yaml import (
    AliasEvent,
    CollectionEndEvent,
    CollectionStartEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    StreamEndEvent,
)

from gitbot.documents.document import ParsedDocument
from gitbot.documents.libyaml import CParser
from gitbot.documents.positions import Path, Position, Positions, shown
from gitbot.documents.read_context import BudgetExceeded, Reading
from gitbot.documents.scalars import RefusedScalar, resolve
from gitbot.documents.source_text import name_of_character, refused_in
from gitbot.documents.syntax_errors import ParserState

Event: TypeAlias = Any  # the stubs allow a missing mark; libyaml marks every event


@dataclass(slots=True)
class _DocumentPositions:
    values: dict[Path, int] = field(default_factory=dict)
    keys: dict[Path, int] = field(default_factory=dict)
    plain: dict[Path, str] = field(default_factory=dict)
    empty: list[Path] = field(default_factory=list)
    reported: set[Path] = field(default_factory=set)
    holes: set[Path] = field(default_factory=set)


class Builder:
    """Builds the documents of one section of a file, which starts at a character offset."""

    def __init__(self, reading: Reading, offset: int) -> None:
        self.reading = reading
        self.offset = offset
        self.next: Callable[[], Event] = CParser(reading.text.text[offset:]).get_event
        self.ended_explicitly = False
        self.open: list[Event] = []
        self.notes = _DocumentPositions()

    def documents(self) -> None:
        """Read every document. Raises yaml.YAMLError for a syntax error, Exhausted for a budget."""
        while type(event := self.next()) is not StreamEndEvent:
            if type(event) is DocumentStartEvent:
                self._document(event)

    @property
    def state(self) -> ParserState:
        """The parser's state, for the message of a syntax error."""
        ends = [event.end_mark.index for event in self.open if _has_bracket(event)]
        brackets = [end - 1 for end in ends if self._character(end - 1) in "[{"]
        return ParserState(after_end=self.ended_explicitly, open=tuple(brackets))

    def _character(self, index: int) -> str:
        return self.reading.text.text[self.offset + index]

    def _begin(self, event: Event) -> int:
        begin: int = event.start_mark.index
        return self.offset + begin

    def _place(self, event: Event) -> Position:
        return self.reading.text.position(self._begin(event))

    def _document(self, start: Event) -> None:
        reading = self.reading
        reading.started += 1
        self.ended_explicitly = False
        self.notes = _DocumentPositions()
        before = len(reading.findings)
        if start.version is not None or start.tags:
            self._refuse("directive", start, (), "a directive", "remove the line with %")
        event = self.next()
        empty = type(event) is ScalarEvent and event.style == "" and not event.value
        value = self._node(event, (), 1)
        self.ended_explicitly = self.next().explicit
        if empty and not self.notes.reported:
            reading.report(
                "documents/empty-document",
                self._place(start),
                f"document {reading.started}: found nothing, expected a mapping",
                hint="remove the --- before it, or write the document",
            )
            return
        self._keep(value, sound=len(reading.findings) == before)

    def _keep(self, value: Any, *, sound: bool) -> None:
        notes = self.notes
        positions = Positions(
            line_starts=self.reading.text.line_starts,
            values=notes.values,
            keys=notes.keys,
            plain=notes.plain,
        )
        self.reading.documents.append(
            ParsedDocument(
                index=self.reading.started,
                value=value,
                positions=positions,
                reported=frozenset(notes.reported),
                holes=frozenset(notes.holes),
                empty=tuple(notes.empty),
                sound=sound,
            )
        )

    def _node(self, event: Event, path: Path, depth: int) -> Any:
        self._count(event, path, depth)
        self.notes.values[path] = self._begin(event)
        kind = type(event)
        if kind is AliasEvent:
            self._refuse("alias", event, path, "an alias (*)", "write the value out")
            return None
        if event.anchor is not None:
            self._refuse("anchor", event, path, "an anchor (&)", "remove it")
        if event.tag is not None:
            self._refuse("tag", event, path, f"the tag {_tag(event.tag)}", "remove it")
        if kind is ScalarEvent:
            return self._scalar(event, path)
        self.open.append(event)
        value = self._mapping(path, depth) if kind is MappingStartEvent else self._list(path, depth)
        self.open.pop()
        return value

    def _count(self, event: Event, path: Path, depth: int) -> None:
        budget = self.reading.budget
        self.reading.nodes += 1
        if self.reading.nodes > budget.nodes:
            self._exhausted(
                event, path, f"more than {budget.nodes} nodes of YAML", "split the file"
            )
        if depth > budget.depth:
            found = f"more than {budget.depth} levels"
            self._exhausted(event, path, found, "write it with less nesting")
        if type(event) is ScalarEvent and len(event.value) > budget.scalar:
            found = f"a scalar of {len(event.value)} characters"
            self._exhausted(event, path, found, "shorten it", f"at most {budget.scalar}")

    def _exhausted(
        self, event: Event, path: Path, found: str, hint: str, expected: str = "no more"
    ) -> None:
        self.reading.report(
            "documents/budget",
            self._place(event),
            f"found {found}, expected {expected}",
            hint=hint,
            path=path[:8],
        )
        raise BudgetExceeded

    def _mapping(self, path: Path, depth: int) -> dict[str, Any]:
        value: dict[str, Any] = {}
        while type(event := self.next()) is not MappingEndEvent:
            key = self._key(event, path, depth)
            if key is None:
                self.notes.holes.add(path)
                self._aside((*path, _key_name(event)), depth)
                continue
            below = (*path, key)
            if key in value:
                self._repeated(event, below)
                self._aside(below, depth)
                continue
            self.notes.keys[below] = self._begin(event)
            value[key] = None
            value[key] = self._node(self.next(), below, depth + 1)
        return value

    def _aside(self, path: Path, depth: int) -> None:
        """Read the value of a refused key: its own errors count, its positions do not."""
        notes, self.notes = self.notes, _DocumentPositions()
        self._node(self.next(), path, depth + 1)
        self.notes = notes

    def _repeated(self, event: Event, path: Path) -> None:
        key = shown(path[-1])
        line = self.reading.text.position(self.notes.keys[path]).line
        self.reading.report(
            "documents/duplicate-key",
            self._place(event),
            f"found the key {key} again, expected it once; it stands in line {line}",
            hint="remove one of the two",
            path=path,
        )

    def _key(self, event: Event, path: Path, depth: int) -> str | None:
        self._count(event, path, depth)
        kind = type(event)
        if kind is AliasEvent:
            self._refuse_key("alias", event, path, "an alias (*) as key", "write it out")
            return None
        if kind is not ScalarEvent:
            found = "a mapping as key" if kind is MappingStartEvent else "a list as key"
            self._refuse_key("key", event, path, found, "write a text as key", expected="text")
            self._skip(event)
            return None
        if event.anchor is not None:
            self._refuse_key("anchor", event, path, "an anchor (&)", "remove it")
        if event.tag is not None:
            self._refuse_key("tag", event, path, f"the tag {_tag(event.tag)}", "remove it")
        text: str = event.value
        if event.style == "" and text == "<<":
            self._refuse_key("merge-key", event, path, "a merge key (<<)", "write it out")
            return None
        if self._bad_characters(event, (*path, text), "key"):
            return None
        meaning = text if event.style else resolve(text)
        if isinstance(meaning, str):
            return text
        found = meaning.found if isinstance(meaning, RefusedScalar) else shown(meaning)
        hint = f'quote it: "{text[:40]}"' if text else "write a key before the colon"
        self._refuse_key("key", event, path, f"the key {found}", hint, expected="text")
        return None

    def _skip(self, event: Event) -> None:
        outside = len(self.open)
        self.open.append(event)
        while len(self.open) > outside:
            event = self.next()
            self._count(event, (), 1)
            if isinstance(event, CollectionStartEvent):
                self.open.append(event)
            elif isinstance(event, CollectionEndEvent):
                self.open.pop()

    def _list(self, path: Path, depth: int) -> list[Any]:
        value: list[Any] = []
        while type(event := self.next()) is not SequenceEndEvent:
            value.append(self._node(event, (*path, len(value)), depth + 1))
        return value

    def _scalar(self, event: Event, path: Path) -> Any:
        text: str = event.value
        quoted = event.style != ""
        if not quoted:
            self.notes.plain[path] = text
        if self._bad_characters(event, path, "value"):
            self.notes.reported.add(path)
            return None
        if quoted:
            span = (self._begin(event), self.offset + event.end_mark.index)
            self.reading.quoted_spans.append(span)
            return text
        meaning = resolve(text)
        if meaning is None:
            self.notes.empty.append(path)
        if not isinstance(meaning, RefusedScalar):
            return meaning
        self.reading.report(
            meaning.code,
            self._place(event),
            f"found {meaning.found}, expected {meaning.expected}",
            hint=meaning.hint,
            path=path,
        )
        self.notes.reported.add(path)
        return None

    def _bad_characters(self, event: Event, path: Path, what: str) -> bool:
        if not self.reading.text.suspect:
            return False
        begin, end = self._begin(event), self.offset + event.end_mark.index
        char = self.reading.refused.take(begin, end) or refused_in(event.value)
        if char is None:
            return False
        self.reading.report(
            "documents/character",
            self._place(event),
            f"found {name_of_character(char)} in the {what}, "
            "expected text without control characters",
            hint="remove the character",
            path=path,
        )
        return True

    def _refuse(self, code: str, event: Event, path: Path, found: str, hint: str) -> None:
        self.notes.reported.add(path)
        self._refuse_key(code, event, path, found, hint)

    def _refuse_key(
        self,
        code: str,
        event: Event,
        path: Path,
        found: str,
        hint: str,
        *,
        expected: str = "none",
    ) -> None:
        self.reading.report(
            f"documents/{code}",
            self._place(event),
            f"found {found}, expected {expected}",
            hint=hint,
            path=path,
        )


def _has_bracket(event: Event) -> bool:
    """Whether a collection may begin with a bracket: block ones and single pairs do not."""
    return bool(event.flow_style) and event.end_mark.index > event.start_mark.index


def _key_name(event: Event) -> str:
    """The name of a refused key in the path of its value."""
    return event.value if type(event) is ScalarEvent else "?"


def _tag(tag: str) -> str:
    return tag.replace("tag:yaml.org,2002:", "!!")[:60]
