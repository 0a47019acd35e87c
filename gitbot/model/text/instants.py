"""Instants are integer seconds UTC; printed RFC 3339 with Z. Intervals are half-open."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache

FOREVER = 253402300799  # 9999-12-31T23:59:59Z, the last instant that RFC 3339 can print
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@lru_cache(maxsize=4096)
def format_instant(seconds: int) -> str:
    return (_EPOCH + timedelta(seconds=seconds)).isoformat()[:19] + "Z"


@lru_cache(maxsize=4096)
def parse_instant(text: str) -> int:
    """Integer seconds UTC of an RFC 3339 text with offset or Z; fractions are cut.

    Raises ValueError for anything else.
    """
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError(f"no offset in {text!r}")
    return int((moment - _EPOCH) // timedelta(seconds=1))


def compact_instant(seconds: int) -> str:
    """`20261206T210000Z`, the form of an occurrence in ledger ids and branch names."""
    return (_EPOCH + timedelta(seconds=seconds)).strftime("%Y%m%dT%H%M%SZ")


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Interval:
    """The half-open time [start, end) in seconds UTC."""

    start: int
    end: int

    def contains(self, instant: int) -> bool:
        return self.start <= instant < self.end


def intersect(left: tuple[Interval, ...], right: tuple[Interval, ...]) -> tuple[Interval, ...]:
    """The times that are in both, sorted and without empty ones."""
    pieces = (
        Interval(start=max(a.start, b.start), end=min(a.end, b.end)) for a in left for b in right
    )
    return tuple(sorted(piece for piece in pieces if piece.start < piece.end))


def subtract(left: tuple[Interval, ...], right: tuple[Interval, ...]) -> tuple[Interval, ...]:
    """The times of `left` that are in none of `right`, sorted."""
    rest = list(left)
    for cut in right:
        rest = [piece for interval in rest for piece in _without(interval, cut)]
    return tuple(sorted(rest))


def _without(interval: Interval, cut: Interval) -> list[Interval]:
    if cut.end <= interval.start or interval.end <= cut.start:
        return [interval]
    before = Interval(start=interval.start, end=cut.start)
    after = Interval(start=cut.end, end=interval.end)
    return [piece for piece in (before, after) if piece.start < piece.end]
