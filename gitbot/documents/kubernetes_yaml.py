"""Plain Kubernetes YAML, as kubectl and people write it: as lenient as kubectl.

`read_documents` reads intents strictly and with positions; this module reads objects of a cluster.
Scalars follow YAML 1.2's core schema (no yes/no booleans, no sexagesimal, no timestamps); a number
with a fraction stays text, as Kubernetes quantities are. Aliases and merge keys of YAML 1.1 are
read, but a few lines of them can expand to a value of any size, so what they add is bounded. Values
are built from the parser's events, so time and memory depend only on the number of bytes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import yaml

from gitbot.documents.libyaml import CParser
from gitbot.documents.scalars import CORE_WORDS
from gitbot.errors import InvalidInput
from gitbot.kubernetes.objects import at

MAX_DEPTH = 200
"""Deepest allowed nesting; the deepest Kubernetes objects have about 30."""
MAX_NODES = 50_000_000
"""Keys, values and items of one file; 200 MB of Kubernetes objects have about ten million."""
MAX_BYTES = 2 * 1024**3
"""Bytes of one file, as of an unpacked snapshot."""

MAX_ALIASED = 10_000
"""Keys, values and items that the aliases of one file may add."""

_TAG = "tag:yaml.org,2002:"
_INT = re.compile(r"[-+]?(?:0|[1-9][0-9]*)")


def read_kubernetes_yaml(
    data: bytes, file: str, *, max_nodes: int = MAX_NODES, max_bytes: int = MAX_BYTES
) -> tuple[Any, ...]:
    """The values of all documents that are not empty, as plain data.

    `file` is only for messages. Raises InvalidInput with `file:line:column` if the text is not
    YAML, has an unknown tag, or exceeds a budget.
    """
    if len(data) > max_bytes:
        raise InvalidInput(f"{file}: found {len(data)} bytes, expected at most {max_bytes}")
    try:
        documents = _Reader(data, file, max_nodes).documents()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f":{mark.line + 1}:{mark.column + 1}" if mark else ""
        raise InvalidInput(f"{file}{place}: not YAML: {error.problem or error.context}") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        text = " ".join(str(error).split())
        raise InvalidInput(f"{file}: not YAML: {text}") from error
    return tuple(document for document in documents if document is not None)


def scalar_places(data: bytes, path: Sequence[str], found: str) -> tuple[tuple[int, int], ...]:
    """Line and column (from 1) of each scalar `found` whose path ends in `path`.

    In the order of the text; empty if the text is not YAML.
    """
    try:
        documents = _LocatingReader(data, "", MAX_NODES).documents()
    except (yaml.YAMLError, ValueError, RecursionError, InvalidInput):
        return ()
    return tuple(place for document in documents for place in _places(document, path, found))


def _places(value: Any, path: Sequence[str], found: str) -> Iterator[tuple[int, int]]:
    if isinstance(value, list):
        for item in value:
            yield from _places(item, path, found)
    elif isinstance(value, dict):
        inner = at(value, *path)
        if inner == found:
            yield inner.place
        for item in value.values():
            yield from _places(item, path, found)


class _Reader:
    """One file; `budget` is the number of further nodes allowed."""

    def __init__(self, data: bytes, file: str, budget: int) -> None:
        self.next: Callable[[], Any] = CParser(data).get_event
        self.file = file
        self.most = self.budget = budget
        self.size, self.aliased = 0, MAX_ALIASED  # nodes with those of aliases; what these may add
        self.anchors: dict[str, tuple[Any, int]] = {}  # the values, and how many nodes each has

    def documents(self) -> list[Any]:
        found = []
        while not isinstance(event := self.next(), yaml.StreamEndEvent):
            if isinstance(event, yaml.DocumentStartEvent):
                self.anchors.clear()
                found.append(self._node(self.next(), 1))
        return found

    def _node(self, event: yaml.Event, depth: int) -> Any:
        self.budget -= 1
        if self.budget < 0:
            raise self._refused(event, f"more than {self.most} keys, values and items", "fewer")
        if type(event) is yaml.AliasEvent:
            return self._alias(event)
        before = self.size
        self.size += 1
        value = self._value(event, depth)
        anchor = getattr(event, "anchor", None)
        if anchor is not None:
            self.anchors[anchor] = value, self.size - before
        return value

    def _value(self, event: yaml.Event, depth: int) -> Any:
        if type(event) is yaml.ScalarEvent:
            return self._scalar(event)
        if depth > MAX_DEPTH:
            raise self._refused(event, f"values nested more than {MAX_DEPTH} deep", "fewer levels")
        if isinstance(event, yaml.MappingStartEvent):
            self._check_tag(event, "map")
            return self._mapping(depth)
        assert isinstance(event, yaml.SequenceStartEvent), "BUG: another kind of event"
        self._check_tag(event, "seq")
        return self._sequence(depth)

    def _alias(self, event: yaml.AliasEvent) -> Any:
        if event.anchor not in self.anchors:
            expected = f"&{event.anchor} before it"
            raise self._refused(event, f"an alias (*{event.anchor})", expected)
        value, nodes = self.anchors[event.anchor]
        self.size += nodes
        self.aliased -= nodes
        if self.aliased < 0:
            found = f"aliases that add more than {MAX_ALIASED} keys, values and items"
            raise self._refused(event, found, "the values themselves")
        return value

    def _mapping(self, depth: int) -> dict[Any, Any]:
        value: dict[Any, Any] = {}
        merged: list[Any] = []
        while type(event := self.next()) is not yaml.MappingEndEvent:
            if not isinstance(event, yaml.ScalarEvent):
                raise self._refused(event, "a mapping, a list or an alias as key", "text")
            if event.value == "<<" and event.implicit[0]:
                merged += self._merged(event, depth)
                continue
            key = self._node(event, depth + 1)
            value[key] = self._node(self.next(), depth + 1)
        for each in merged:  # a key of the mapping itself wins, then the first
            value = {**each, **value}
        return value

    def _merged(self, event: yaml.Event, depth: int) -> list[dict[Any, Any]]:
        found = self._node(self.next(), depth + 1)
        listed = found if isinstance(found, list) else [found]
        if not all(isinstance(each, dict) for each in listed):
            raise self._refused(event, "a merge key (<<) of something else", "mappings to merge")
        return listed

    def _sequence(self, depth: int) -> list[Any]:
        value: list[Any] = []
        while type(event := self.next()) is not yaml.SequenceEndEvent:
            value.append(self._node(event, depth + 1))
        return value

    def _scalar(self, event: yaml.ScalarEvent) -> Any:
        text: str = event.value
        if event.implicit[0] and event.tag is None:
            if text in CORE_WORDS:
                return CORE_WORDS[text]
            return int(text) if _INT.fullmatch(text) else text
        match (event.tag or "!").removeprefix(_TAG):
            case "!" | "str" | "float":
                return text
            case "int" if _INT.fullmatch(text):
                return int(text)
            case "bool" if isinstance(CORE_WORDS.get(text), bool):
                return CORE_WORDS[text]
            case "null" if CORE_WORDS.get(text, text) is None:
                return None
            case tag:
                raise self._refused(event, f"the tag {tag[:60]}", "no tag")

    def _check_tag(self, event: yaml.CollectionStartEvent, name: str) -> None:
        if event.tag not in (None, "!", _TAG + name):
            raise self._refused(event, f"the tag {event.tag.removeprefix(_TAG)[:60]}", "no tag")

    def _refused(self, event: yaml.Event, found: str, expected: str) -> InvalidInput:
        mark = event.start_mark
        place = f":{mark.line + 1}:{mark.column + 1}" if mark else ""
        return InvalidInput(f"{self.file}{place}: found {found}, expected {expected}")


class _Located(str):
    """A scalar as written, with its line and column (from 1)."""

    __slots__ = ("place",)
    place: tuple[int, int]


class _LocatingReader(_Reader):
    """Reads every scalar as text with its place."""

    def _scalar(self, event: yaml.ScalarEvent) -> _Located:
        text = _Located(event.value)
        mark = event.start_mark
        assert mark is not None, "BUG: libyaml marks every event"
        text.place = mark.line + 1, mark.column + 1
        return text
