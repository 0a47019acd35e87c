"""How much the searches of one plan may ask, together: counted, so the same on any machine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

PLAN_QUESTIONS = 75_000
"""What the exact searches of a plan of a small cluster ask at most: 5 to 30 µs each."""

OF_VM = 100
"""So many questions more for each VM of the cluster."""

ALL, FIRST = 4 / 3, 8 / 3
"""So many times as much may everything ask together that looks for a better plan than the first,
and, with that, the making of room for the first.
"""


@dataclass(slots=True)
class SearchBudget:
    """The questions that exact searches may ask; what they and all others have asked.

    `cut`: a search wanted more.
    """

    most: int
    exact: int = 0
    asked: int = 0
    cut: bool = False
    better: bool = False  # there is a plan, and what is asked now looks for a better one

    @classmethod
    def of(cls, vms: int) -> SearchBudget:
        return cls(PLAN_QUESTIONS + OF_VM * vms)

    def spent(self) -> bool:
        """Whether nothing more may be tried, to one who wants to."""
        if self.asked < (ALL if self.better else FIRST) * self.most:
            return False
        self.cut = True
        return True

    @contextmanager
    def for_better(self) -> Iterator[None]:
        before, self.better = self.better, True
        try:
            yield
        finally:
            self.better = before
