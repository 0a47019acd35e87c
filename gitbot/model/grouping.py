"""Groups values that have a key in common."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

_K = TypeVar("_K")
_V = TypeVar("_V")


def grouped(pairs: Iterable[tuple[_K, _V]]) -> dict[_K, tuple[_V, ...]]:
    """The values of each key; keys and values in their original order."""
    found: dict[_K, list[_V]] = {}
    for key, value in pairs:
        known = found.get(key)
        if known is None:
            found[key] = [value]
        else:
            known.append(value)
    return {key: tuple(values) for key, values in found.items()}
