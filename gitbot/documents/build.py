"""Events to plain data: one node after the other, positions noted, constructs refused."""

from __future__ import annotations

from typing import Any

import yaml

from gitbot.documents.document import Document, Exhausted, Notes, Reading
from gitbot.documents.positions import Path, Position, Positions, Scalar, key_path, shown
from gitbot.documents.scalars import Refused, resolve
from gitbot.documents.syntax import ParserState
from gitbot.documents.text import name_of_character, refused_in


class Builder:
    """Builds the documents of one stream of events that starts at a character offset."""

    def __init__(self, reading: Any, loader: yaml.CSafeLoader, offset: int) -> None:
        self.reading: Reading = reading
        self.loader = loader
        self.offset = offset
        self.ended_explicitly = False
        self.last_index = 0
        self.findings_before = 0
        self.open: list[int] = []
        self.notes = Notes()

    @property
    def subject(self) -> str:
        """`document N: ` where the trouble is in or after a later document than the first."""
        number = self.reading.started + (1 if self.ended_explicitly else 0)
        return f"document {number}: " if number > 1 else ""

    @property
    def state(self) -> ParserState:
        """Where the parser is, for the words of a syntax error."""
        return ParserState(after_end=self.ended_explicitly, open=tuple(self.open))

    def stream(self) -> None:
        """Read every document. Raises yaml.YAMLError at a syntax error, Exhausted at a budget."""
        while not isinstance(event := self._next(), yaml.StreamEndEvent):
            if isinstance(event, yaml.DocumentStartEvent):
                self._document(event)

    def _next(self) -> yaml.Event:
        event = self.loader.get_event()
        assert event is not None
        self.last_index = _begin(event)
        # the event of a bracket ends with it (an anchor or a tag may stand before it); those of
        # block collections and of single pairs inside brackets have no bracket
        last = self.reading.text.text[self.offset + _end(event) - 1 : self.offset + _end(event)]
        if isinstance(event, yaml.CollectionStartEvent) and event.flow_style and last in "[{":
            self.open.append(_end(event) - 1)
        elif isinstance(event, yaml.CollectionEndEvent) and self.open and _is_long(event):
            self.open.pop()
        return event

    def _place(self, event: yaml.Event) -> Position:
        return self.reading.text.position(self.offset + _begin(event))

    def _document(self, start: yaml.DocumentStartEvent) -> None:
        self.reading.started += 1
        self.ended_explicitly = False
        self.notes = Notes()
        self.findings_before = len(self.reading.findings)
        if start.version is not None or start.tags:
            self._refuse("directive", start, (), "a directive", "remove the line with %")
        event = self._next()
        empty = isinstance(event, yaml.ScalarEvent) and event.style == "" and not event.value
        value = self._node(event, (), 1)
        end = self._next()
        assert isinstance(end, yaml.DocumentEndEvent)
        self.ended_explicitly = bool(end.explicit)
        if empty and not self.notes.reported:
            self.reading.report(
                "documents/empty-document",
                self._place(start),
                f"document {self.reading.started}: found nothing, expected a mapping",
                hint="remove the --- before it, or write the document",
            )
            return
        self._keep(value)

    def _keep(self, value: Any) -> None:
        positions = Positions(
            values=self.notes.values, keys=self.notes.keys, scalars=self.notes.scalars
        )
        self.reading.documents.append(
            Document(
                index=self.reading.started,
                value=value,
                positions=positions,
                reported=frozenset(self.notes.reported),
                holes=frozenset(self.notes.holes),
                sound=len(self.reading.findings) == self.findings_before,
                line=self.notes.values[()].line,
            )
        )

    def _node(self, event: yaml.Event, path: Path, depth: int) -> Any:
        self._count(event, path, depth)
        self.notes.values[path] = self._place(event)
        if isinstance(event, yaml.AliasEvent):
            self._refuse("alias", event, path, "an alias (*)", "write the value out")
            return None
        assert isinstance(event, yaml.ScalarEvent | yaml.CollectionStartEvent)
        if event.anchor is not None:
            self._refuse("anchor", event, path, "an anchor (&)", "remove it")
        if event.tag is not None:
            self._refuse("tag", event, path, f"the tag {_tag(event.tag)}", "remove it")
        if isinstance(event, yaml.MappingStartEvent):
            return self._mapping(path, depth)
        if isinstance(event, yaml.ScalarEvent):
            return self._scalar(event, path)
        return self._sequence(path, depth)

    def _count(self, event: yaml.Event, path: Path, depth: int) -> None:
        budget = self.reading.budget
        self.reading.nodes += 1
        if self.reading.nodes > budget.nodes:
            self._exhausted(event, path, f"more than {budget.nodes} nodes", "split the file")
        if depth > budget.depth:
            self._exhausted(
                event, path, f"more than {budget.depth} levels", "write it with less nesting"
            )
        if isinstance(event, yaml.ScalarEvent) and len(event.value) > budget.scalar:
            found = f"a scalar of {len(event.value)} characters"
            self._exhausted(event, path, found, f"expected at most {budget.scalar}", limit=True)

    def _exhausted(
        self, event: yaml.Event, path: Path, found: str, hint: str, *, limit: bool = False
    ) -> None:
        message = f"found {found}, {hint}" if limit else f"found {found}, expected no more"
        self.reading.report(
            "documents/budget",
            self._place(event),
            message,
            hint="shorten it" if limit else hint,
            key=_short_path(path),
        )
        raise Exhausted

    def _mapping(self, path: Path, depth: int) -> dict[str, Any]:
        value: dict[str, Any] = {}
        while not isinstance(event := self._next(), yaml.MappingEndEvent):
            key = self._key(event, path, depth)
            if key is None:
                self.notes.holes.add(path)
                self._aside((*path, _key_name(event)), depth)
                continue
            place = self._place(event)
            below = (*path, key)
            if key in value:
                self._repeated(key, place, below)
                self._aside(below, depth)
                continue
            self.notes.keys[below] = place
            value[key] = None
            value[key] = self._node(self._next(), below, depth + 1)
        return value

    def _aside(self, path: Path, depth: int) -> None:
        """Read the value of a refused key: its own errors count, its positions do not."""
        notes, self.notes = self.notes, Notes()
        self._node(self._next(), path, depth + 1)
        self.notes = notes

    def _repeated(self, key: str, place: Position, path: Path) -> None:
        first = self.notes.keys[path]
        self.reading.report(
            "documents/duplicate-key",
            place,
            f"found the key {shown(key)} again, expected it once; it stands in line {first.line}",
            hint="remove one of the two",
            key=key_path(path),
        )

    def _key(self, event: yaml.Event, path: Path, depth: int) -> str | None:
        """The text of a key; None where it is refused (and reported)."""
        self._count(event, path, depth)
        if isinstance(event, yaml.AliasEvent):
            self._refuse_key("alias", event, path, "an alias (*) as key", "write it out")
            return None
        if not isinstance(event, yaml.ScalarEvent):
            found = f"{_collection(event)} as key"
            self._refuse_key("key", event, path, found, "write a text as key", expected="text")
            self._skip(event)
            return None
        if event.anchor is not None:
            self._refuse_key("anchor", event, path, "an anchor (&)", "remove it")
        if event.tag is not None:
            self._refuse_key("tag", event, path, f"the tag {_tag(event.tag)}", "remove it")
        if event.style == "" and event.value == "<<":
            self._refuse_key("merge-key", event, path, "a merge key (<<)", "write it out")
            return None
        if self._bad_characters(event, (*path, event.value), "key"):
            return None
        return self._key_text(event, path)

    def _key_text(self, event: yaml.ScalarEvent, path: Path) -> str | None:
        meaning = resolve(event.value) if event.style == "" else event.value
        if isinstance(meaning, str):
            return event.value
        found = meaning.found if isinstance(meaning, Refused) else shown(meaning)
        hint = f'quote it: "{event.value[:40]}"' if event.value else "write a key before the colon"
        self._refuse_key("key", event, path, f"the key {found}", hint, expected="text")
        return None

    def _refuse_key(
        self,
        code: str,
        event: yaml.Event,
        path: Path,
        found: str,
        hint: str,
        *,
        expected: str = "none",
    ) -> None:
        """Report a key; its value is read aside."""
        self.reading.report(
            f"documents/{code}",
            self._place(event),
            f"found {found}, expected {expected}",
            hint=hint,
            key=key_path(path),
        )

    def _skip(self, event: yaml.Event) -> None:
        """Read past a collection that is no key."""
        depth = 1
        while depth:
            event = self._next()
            self._count(event, (), 1)
            if isinstance(event, (yaml.MappingStartEvent, yaml.SequenceStartEvent)):
                depth += 1
            elif isinstance(event, (yaml.MappingEndEvent, yaml.SequenceEndEvent)):
                depth -= 1

    def _sequence(self, path: Path, depth: int) -> list[Any]:
        value: list[Any] = []
        while not isinstance(event := self._next(), yaml.SequenceEndEvent):
            value.append(self._node(event, (*path, len(value)), depth + 1))
        return value

    def _scalar(self, event: yaml.ScalarEvent, path: Path) -> Any:
        quoted = event.style != ""
        self.notes.scalars[path] = Scalar(text=event.value, quoted=quoted)
        if self._bad_characters(event, path, "value"):
            self.notes.reported.add(path)
            return None
        if quoted:
            self.reading.quoted_spans.append(
                (self.offset + _begin(event), self.offset + _end(event))
            )
            return event.value
        meaning = resolve(event.value)
        if not isinstance(meaning, Refused):
            return meaning
        self.reading.report(
            meaning.code,
            self._place(event),
            f"found {meaning.found}, expected {meaning.expected}",
            hint=meaning.hint,
            key=key_path(path),
        )
        self.notes.reported.add(path)
        return None

    def _bad_characters(self, event: yaml.ScalarEvent, path: Path, what: str) -> bool:
        begin, end = self.offset + _begin(event), self.offset + _end(event)
        char = self.reading.refused.take(begin, end) or refused_in(event.value)
        if char is None:
            return False
        self.reading.report(
            "documents/character",
            self._place(event),
            f"found {name_of_character(char)} in the {what}, "
            "expected text without control characters",
            hint="remove the character",
            key=key_path(path),
        )
        return True

    def _refuse(self, code: str, event: yaml.Event, path: Path, found: str, hint: str) -> None:
        self.notes.reported.add(path)
        self.reading.report(
            f"documents/{code}",
            self._place(event),
            f"found {found}, expected none",
            hint=hint,
            key=key_path(path),
        )


def _begin(event: yaml.Event) -> int:
    mark = event.start_mark
    assert mark is not None, "the C parser marks every event"
    return mark.index


def _end(event: yaml.Event) -> int:
    mark = event.end_mark
    assert mark is not None, "the C parser marks every event"
    return mark.index


def _is_long(event: yaml.Event) -> bool:
    return _end(event) > _begin(event)


def _key_name(event: yaml.Event) -> str:
    """What the path of a refused key's value calls the key."""
    return event.value if isinstance(event, yaml.ScalarEvent) else "?"


def _short_path(path: Path) -> str:
    return key_path(path if len(path) <= 8 else path[:8])


def _tag(tag: str) -> str:
    return tag.replace("tag:yaml.org,2002:", "!!")[:60]


def _collection(event: yaml.Event) -> str:
    return "a mapping" if isinstance(event, yaml.MappingStartEvent) else "a list"
