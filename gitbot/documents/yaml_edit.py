"""Removes one key or item from a YAML or JSON text, and leaves everything else as it is written."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import yaml

from gitbot.documents.kubernetes_yaml import read_kubernetes_yaml
from gitbot.documents.libyaml import CParser  # noqa: F401 - says what to do if it is missing
from gitbot.documents.positions import Path
from gitbot.errors import InvalidInput


def remove_key(data: bytes, file: str, number: int, path: Path) -> bytes | None:
    """The text without `path` in its document `number` (from 0; empty ones do not count).

    Comments and order stay. The result is read again: None if it is not exactly the remaining data.
    Raises InvalidInput if the text cannot be read.
    """
    wanted = read_kubernetes_yaml(data, file)
    holder: Any = wanted[number]
    for step in path[:-1]:
        holder = holder[step]
    del holder[path[-1]]
    text = data.decode("utf-8")
    try:
        begin, end = _span(text, _documents(text)[number], path)
    except StopIteration:  # a merge key brings it
        return None
    made = (text[:begin] + text[end:]).encode("utf-8")
    try:
        return made if read_kubernetes_yaml(made, file) == wanted else None
    except InvalidInput:
        return None


def _documents(text: str) -> list[Any]:
    found = yaml.compose_all(text, Loader=yaml.CSafeLoader)
    return [node for node in found if not node.tag.endswith(":null")]


def _span(text: str, node: Any, path: Path) -> tuple[int, int]:
    """The characters to cut: whole lines of block style, the entry and a comma of flow style."""
    for step in path[:-1]:
        node = next(value for name, _, value in _entries(node) if name == step)
    entries = list(_entries(node))
    number = next(number for number, entry in enumerate(entries) if entry[0] == path[-1])
    starts = [start for _, start, _ in entries]
    begin, end = starts[number], _end(text, entries[number][2])
    following = starts[number + 1] if number + 1 < len(entries) else None
    if node.flow_style:
        if following is not None:
            return begin, following
        return (_end(text, entries[number - 1][2]) if number else begin), end
    line = text.rfind("\n", 0, begin) + 1
    own = text[line:begin].strip() == ("-" if isinstance(node, yaml.SequenceNode) else "")
    if not own and following is not None:
        return begin, following  # it follows the dash of a list
    newline = text.find("\n", end)
    return line, len(text) if newline < 0 else newline + 1


def _entries(node: Any) -> Iterator[tuple[str | int, int, Any]]:
    """Key or number, its offset, and its value."""
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            yield str(key.value), key.start_mark.index, value
    else:
        for number, item in enumerate(node.value):
            yield number, item.start_mark.index, item


def _end(text: str, node: Any) -> int:
    """Offset after the last character; a block's own end mark is after following comments."""
    if not isinstance(node, yaml.CollectionNode) or node.flow_style or not node.value:
        start: int = node.start_mark.index
        return start + len(text[start : node.end_mark.index].rstrip("\n"))
    last = node.value[-1]
    return _end(text, last[1] if isinstance(last, tuple) else last)
