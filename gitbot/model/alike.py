"""Results for plain data, made once for equal data: thousands of pods ask for the same."""

from __future__ import annotations

import marshal
from collections.abc import Callable
from typing import Any, Generic, TypeVar

V = TypeVar("V")


class Alike(Generic[V]):
    """Caches up to `most` results by the content of JSON data. Nobody may change a result."""

    def __init__(self, make: Callable[..., V], *, most: int = 10_000) -> None:
        self._make = make
        self._most = most
        self._known: dict[bytes, V] = {}

    def __call__(self, *data: Any) -> V:
        try:
            key = marshal.dumps(data, 2)  # this version writes no references: equal data, one key
        except ValueError:  # no plain data, such as a mapping of another class
            return self._make(*data)
        known = self._known.get(key)
        if known is None:
            if len(self._known) >= self._most:
                self._known = {}
            known = self._known[key] = self._make(*data)
        return known


class Same(Generic[V]):
    """Caches up to `most` results by the identity of their data, which it keeps meanwhile.

    A snapshot keeps what many objects have in common once: that is found without being read.
    """

    def __init__(self, make: Callable[..., V], *, most: int = 10_000) -> None:
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
