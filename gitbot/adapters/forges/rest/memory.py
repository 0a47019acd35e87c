"""Answers about accounts and rules, kept for a minute: one run asks for the same many times."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar, cast

from gitbot.ports.clock import Clock

REMEMBERED = 60  # seconds for which an answer is used
_V = TypeVar("_V")


@dataclass(slots=True, kw_only=True)
class Memory:
    """What was asked, by a key, on this clock."""

    clock: Clock
    _known: dict[tuple[str, ...], tuple[int, object]] = field(default_factory=dict)

    def of(self, key: tuple[str, ...], ask: Callable[[], _V]) -> _V:
        known = self._known.get(key)
        if known is None or self.clock.now() - known[0] >= REMEMBERED:
            known = self._known[key] = (self.clock.now(), ask())
        return cast("_V", known[1])
