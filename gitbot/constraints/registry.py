"""The filters and scorers in kube-scheduler's order. A new constraint is one file and one line."""

from __future__ import annotations

from collections.abc import Callable

from gitbot.constraints.filter import Filter
from gitbot.constraints.scorer import Scorer
from gitbot.constraints.state import State
from gitbot.model.pod import Pod

FILTERS: tuple[Callable[[State, Pod], Filter | None], ...] = ()

SCORERS: tuple[Scorer, ...] = ()
