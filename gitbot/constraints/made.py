"""Results for values that never change, cached by identity."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class LastMade(Generic[K, V]):
    """Caches the result for the last value only; the next result may be made from it."""

    def __init__(self, make: Callable[[K, tuple[K, V] | None], V]) -> None:
        """`make` gets a value, and the last value with its result: None at the first call."""
        self._make = make
        self._last: tuple[K, V] | None = None

    def __call__(self, value: K) -> V:
        last = self._last
        if last is None or last[0] is not value:
            last = self._last = (value, self._make(value, last))
        return last[1]


class Remade(Generic[V]):
    """Caches the results for the last rows of values, by identity of the values."""

    def __init__(self, make: Callable[..., V]) -> None:
        self._make = make
        self._known: dict[tuple[int, ...], tuple[tuple[object, ...], V]] = {}

    def __call__(self, rows: Iterable[tuple[object, ...]]) -> list[V]:
        """The result for each row; results for other rows are dropped."""
        last, now = self._known, {}
        made = []
        for row in rows:
            key = tuple(map(id, row))
            held = now[key] = last.get(key) or (row, self._make(*row))
            made.append(held[1])
        self._known = now
        return made


class Made(Generic[K, V]):
    """Caches the results for up to `most` values."""

    def __init__(self, make: Callable[[K], V], *, most: int) -> None:
        self._make = make
        self._most = most
        self._known: dict[int, tuple[K, V]] = {}

    def __call__(self, value: K) -> V:
        known = self._known.get(id(value))
        if known is None or known[0] is not value:
            if len(self._known) >= self._most:
                self._known = {}
            known = self._known[id(value)] = (value, self._make(value))
        return known[1]
