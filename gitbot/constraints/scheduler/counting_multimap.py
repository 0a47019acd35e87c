"""A counting multi-map that forks in the time of one shallow copy."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from typing import Generic, TypeVar

from gitbot.errors import Bug

K = TypeVar("K", bound=Hashable)
I = TypeVar("I", bound=Hashable)  # noqa: E741 - the item

_EMPTY: dict[Hashable, int] = {}


class Buckets(Generic[K, I]):
    """Key to items with counts. A bucket is shared by forks until one of them writes to it."""

    __slots__ = ("_buckets", "_owned")

    def __init__(self, buckets: dict[K, dict[I, int]] | None = None) -> None:
        self._buckets: dict[K, dict[I, int]] = {} if buckets is None else buckets
        self._owned: set[K] = set()

    def fork(self) -> Buckets[K, I]:
        self._owned = set()
        return Buckets(dict(self._buckets))

    def get(self, key: K) -> Mapping[I, int]:
        """The items of a key with their counts, in order of first addition."""
        return self._buckets.get(key, _EMPTY)  # type: ignore[arg-type]

    def __contains__(self, key: K) -> bool:
        return key in self._buckets

    def __iter__(self) -> Iterator[K]:
        return iter(self._buckets)

    def add(self, key: K, item: I, count: int = 1) -> None:
        bucket = self._buckets[key] if key in self._owned else self._own(key)
        bucket[item] = bucket.get(item, 0) + count

    def remove(self, key: K, item: I, count: int = 1) -> None:
        """Decrease the count of an item. An item at zero and an empty bucket are removed."""
        bucket = self._buckets[key] if key in self._owned else self._own(key)
        left = bucket.get(item, 0) - count
        if left < 0:
            raise Bug(f"BUG: {item!r} removed from {key!r} more often than added")
        if left:
            bucket[item] = left
        else:
            del bucket[item]
        if not bucket:
            del self._buckets[key]
            self._owned.discard(key)

    def _own(self, key: K) -> dict[I, int]:
        bucket = dict(self._buckets.get(key, {}))
        self._buckets[key] = bucket
        self._owned.add(key)
        return bucket
