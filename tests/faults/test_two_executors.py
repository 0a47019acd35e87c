"""Two executors at once, as when a job of a forge and a Deployment both run: each effect once.

Whatever the one is doing, at every read, write and push of its whole run in turn, the other does a
pass of its own in between. The ledger's compare-and-swap lets only one decide, and a migration has
one name whoever creates it.
"""

from __future__ import annotations

import pytest

from gitbot.errors import GitbotError
from gitbot.model.ledger_json import verify
from gitbot.workflows.apply import apply
from tests.faults.test_crashes import Killed, a_stage, end_of, install, run_to_the_end
from tests.unit.workflows.doubles import Stage


class OtherRunAt:
    """At the nth point that is passed, another executor does a pass; it may be killed in it."""

    def __init__(self, stage: Stage, number: int, *, seconds: int, killed_at: int = 0) -> None:
        self.stage = stage
        self.number = number
        self.seconds = seconds
        self.killed_at = killed_at
        self.passed = 0
        self.inside = 0

    def __call__(self, *_: object) -> None:
        if self.inside:
            self.inside += 1
            if self.inside == self.killed_at:
                raise Killed
            return
        self.passed += 1
        if self.passed != self.number:
            return
        self.inside = 1
        try:
            apply(self.stage.shell, max_runtime=self.seconds)
        except (Killed, GitbotError):
            pass
        finally:
            self.inside = 0


def points() -> int:
    stage = a_stage()
    counter = OtherRunAt(stage, 0, seconds=1)
    install(stage, counter)
    run_to_the_end(stage)
    return counter.passed


@pytest.mark.parametrize("seconds", [1, 3600], ids=["one-look", "to-the-end"])
def test_a_whole_pass_of_another_executor_at_every_point(seconds: int) -> None:
    expected = a_stage()
    run_to_the_end(expected)
    count = points()
    assert count > 30
    for number in range(1, count + 1):
        stage = a_stage()
        install(stage, OtherRunAt(stage, number, seconds=seconds))
        run_to_the_end(stage)
        where, creates, last = end_of(stage)
        assert (where, creates) == end_of(expected)[:2], f"at point {number}"
        assert last == end_of(expected)[2], f"at point {number}"
        assert not verify(stage.store.read().entries)


@pytest.mark.parametrize("killed_at", [2, 4, 6, 8])
def test_the_other_executor_may_die_in_its_pass(killed_at: int) -> None:
    expected = a_stage()
    run_to_the_end(expected)
    for number in range(1, points() + 1, 3):
        stage = a_stage()
        install(stage, OtherRunAt(stage, number, seconds=60, killed_at=killed_at))
        run_to_the_end(stage)
        assert end_of(stage) == end_of(expected), f"at point {number}"
