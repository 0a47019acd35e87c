"""Planning ends: on small clusters that are not at rest, within a stated number of steps."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from gitbot.constraints.moves.migration_state import MigrationState
from gitbot.constraints.replay.replay import replay
from gitbot.planner import make_plan
from gitbot.planner.search.exact import COST_OF_UNKNOWN, QUESTIONS
from tests.laws.tiny_unsettled import unsettled
from tests.laws.tiny_verdict import together

STEPS = QUESTIONS // COST_OF_UNKNOWN
"""So many steps at most are tried for a plan of five nodes, seven VMs and five goals.

One exact search of a large healing asks that often. On clusters this small everything that a plan
tries is less: at most 3,000 steps in the first 4,000 seeds.
"""


class EndlessError(BaseException):  # no Exception: the planner plans on without its cause
    """The planner tries more steps than the law allows."""


@contextmanager
def counted(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Each start of a move counts, and the one beyond STEPS ends the planning."""
    steps = 0

    def counting(start: Any) -> Any:
        def counts(self: MigrationState, *arguments: Any) -> Any:
            nonlocal steps
            steps += 1
            if steps > STEPS:
                raise EndlessError
            return start(self, *arguments)

        return counts

    with monkeypatch.context() as patched:
        for name in ("start", "move"):
            patched.setattr(MigrationState, name, counting(getattr(MigrationState, name)))
        yield


@pytest.mark.timeout(300)
@pytest.mark.parametrize("seeds", together(300))
def test_planning_ends_with_a_lawful_plan_although_the_cluster_is_not_at_rest(
    seeds: range, monkeypatch: pytest.MonkeyPatch
) -> None:
    for seed in seeds:
        case = unsettled(seed)
        with counted(monkeypatch):
            plan = make_plan(case)
        assert replay(case, plan) == (), seed
