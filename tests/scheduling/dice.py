"""Seeded choices. One Dice a scenario: the same seed gives the same scenario on every machine."""

import random
from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")


class Dice:
    """random.Random with the three throws that a generator needs."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def chance(self, percent: int) -> bool:
        """True that often."""
        return self._random.randrange(100) < percent

    def number(self, least: int, most: int) -> int:
        """An integer, both ends included."""
        return self._random.randint(least, most)

    def pick(self, items: Sequence[T]) -> T:
        """One of the items."""
        return items[self._random.randrange(len(items))]

    def some(self, items: Sequence[T], least: int, most: int) -> list[T]:
        """Between least and most different items."""
        return self._random.sample(list(items), min(self.number(least, most), len(items)))

    def several(self, make: Callable[[], T], least: int, most: int) -> list[T]:
        """Between least and most things made one after the other."""
        return [make() for _ in range(self.number(least, most))]
