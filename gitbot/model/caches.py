"""Caches of results computed from values that never change, by content or by identity."""

from __future__ import annotations

import marshal
from collections.abc import Callable, Iterable
from typing import Any, Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class ContentCache(Generic[V]):
    """Caches up to `most` results by the content of JSON data. Callers must not change a result."""

    def __init__(self, make: Callable[..., V], *, most: int = 10_000) -> None:
        self._make = make
        self._most = most
        self._known: dict[bytes, V] = {}

    def __call__(self, *data: Any) -> V:
        try:
            # this version writes no references, so equal data gives one key
            key = marshal.dumps(data, 2)
        except ValueError:  # not plain data, such as a mapping of another class
            return self._make(*data)
        known = self._known.get(key)
        if known is None:
            if len(self._known) >= self._most:
                self._known = {}
            known = self._known[key] = self._make(*data)
        return known


class IdentityCache(Generic[V]):
    """Caches up to `most` results by the identity of their data, which it keeps alive meanwhile.

    A snapshot stores data that many objects share once, so it is found without being read. Each
    snapshot has its own, so a large cache keeps what a watching process read long ago.
    """

    def __init__(self, make: Callable[..., V], *, most: int = 1_000) -> None:
        self._make = make
        self._most = most
        self._known: dict[tuple[int, ...], tuple[tuple[Any, ...], V]] = {}

    def __call__(self, *data: Any) -> V:
        key = tuple(map(id, data))
        known = self._known.get(key)
        if known is None:
            if len(self._known) >= self._most:
                self._known = {}
            known = self._known[key] = (data, self._make(*data))
        return known[1]


class LastValueCache(Generic[K, V]):
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


class RowCache(Generic[V]):
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
