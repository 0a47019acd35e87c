"""What was made of values that never change: remembered by identity, so that it is made once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class LastMade(Generic[K, V]):
    """What was made of the last value; another value makes it anew."""

    def __init__(self, make: Callable[[K], V]) -> None:
        self._make = make
        self._last: tuple[K, V] | None = None

    def __call__(self, value: K) -> V:
        """What was made of this very value."""
        last = self._last
        if last is None or last[0] is not value:
            last = self._last = (value, self._make(value))
        return last[1]


class Made(Generic[K, V]):
    """What was made of many values, at most `most` of them."""

    def __init__(self, make: Callable[[K], V], *, most: int) -> None:
        self._make = make
        self._most = most
        self._known: dict[int, tuple[K, V]] = {}

    def __call__(self, value: K) -> V:
        """What was made of this very value."""
        known = self._known.get(id(value))
        if known is None or known[0] is not value:
            if len(self._known) >= self._most:
                self._known = {}
            known = self._known[id(value)] = (value, self._make(value))
        return known[1]
