"""The label keys and topology keys anywhere in an intent's spec."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

_LABELS = frozenset({"matchLabels", "nodeSelector"})


def topology_keys(spec: Any) -> list[str]:
    return sorted(set(_topology(spec)))


def label_keys(spec: Any) -> list[str]:
    """Keys of labels in selectors, expressions and topology keys."""
    return sorted({*_topology(spec), *_labels(spec)})


def _topology(value: Any) -> Iterator[str]:
    for name, inner in _entries(value):
        if name == "topologyKey" and isinstance(inner, str):
            yield inner
        yield from _topology(inner)


def _labels(value: Any) -> Iterator[str]:
    for name, inner in _entries(value):
        if name in _LABELS and isinstance(inner, Mapping):
            yield from map(str, inner)
        elif name == "key" and isinstance(inner, str):
            yield inner
        yield from _labels(inner)


def _entries(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        yield from value.items()
    elif isinstance(value, list | tuple):
        yield from (("", item) for item in value)
