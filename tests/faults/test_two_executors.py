"""Two executors at once, as when a job of a forge and a Deployment both run: each effect once.

Whatever the one is doing, at every read, write and push of its whole run in turn, the other does a
pass of its own in between. The ledger's compare-and-swap lets only one decide, and a migration has
one name, no matter who creates it.
"""

from dataclasses import replace

import pytest

from gitbot.errors import GitbotError
from gitbot.execution.executor_types import Terms
from gitbot.model.ledger.events import ForeignMove
from gitbot.model.plan.problem import Limits
from gitbot.model.text.instants import Interval
from gitbot.published.ledger_lines import verify
from gitbot.workflows.apply import apply, hold, resume
from tests.doubles.moves import a_move
from tests.doubles.stage import Stage, a_plan
from tests.faults.test_crashes import Killed, a_stage, end_of, install, run_to_the_end


class OtherRunAt:
    """At the nth point that is passed, another executor does a pass; it may be killed in it."""

    def __init__(
        self, stage: Stage, number: int, *, seconds: int, killed_at: int = 0, pause: int = 0
    ) -> None:
        self.stage = stage
        self.number = number
        self.seconds = seconds
        self.killed_at = killed_at
        self.pause = pause  # seconds for which the first executor hangs before that
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
        self.stage.clock.sleep(self.pause)
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
        assert not verify(stage.store.read().events)


@pytest.mark.parametrize(("slots", "pause"), [(3, 0), (1, 25), (2, 25)])
def test_caps_hold_over_both(slots: int, pause: int) -> None:
    """Seven moves, fewer slots, and windows that open while the one of them hangs."""
    limits = Limits(parallel=slots, per_source_node=9, per_target_node=9, per_zone=9, reserve=0)
    names = [f"vm{number}" for number in range(7)]

    def stage_of_many() -> tuple[Stage, list[int]]:
        stage = Stage.of(nodes={"a": "east", "c": "west"}, vms=dict.fromkeys(names, "a"))
        stage.base, stage.cluster.seconds = replace(stage.base, limits=limits), 90
        for number, name in enumerate(names):
            request = f"request/db/{name}"
            opens = stage.clock.present + 20 * (6 - number)  # later ones open earlier
            stage.base.terms_by_request[request] = Terms(
                allowed=(Interval(start=opens, end=opens + 86_400),)
            )
            plan = a_plan(a_move(name, "a", "c", request=request, group=request))
            stage.approve(plan, branch=name)
        most: list[int] = []

        def count() -> None:
            phases = [item["status"]["phase"] for item in stage.cluster.migrations.values()]
            most.append(sum(phase not in ("Succeeded", "Failed") for phase in phases))

        stage.clock.listeners.append(count)
        return stage, most

    stage, most = stage_of_many()
    counter = OtherRunAt(stage, 0, seconds=1)
    install(stage, counter)
    run_many(stage)
    assert max(most) == slots
    for number in range(2, counter.passed + 1, 3):
        stage, most = stage_of_many()
        install(stage, OtherRunAt(stage, number, seconds=30, pause=pause))
        run_many(stage)
        assert max(most) <= slots, f"at point {number}"
        assert set(stage.cluster.where().values()) == {"c"}
        assert len(stage.cluster.creates()) == 7


def run_many(stage: Stage) -> None:
    """Passes until all VMs have moved."""
    for _ in range(60):
        apply(stage.shell, wait_for_opening=600)
        if set(stage.cluster.where().values()) == {"c"}:
            return
        stage.clock.sleep(5)
    raise AssertionError("it never comes to rest")


@pytest.mark.parametrize("killed_at", [2, 4, 6, 8])
def test_the_other_executor_may_die_in_its_pass(killed_at: int) -> None:
    expected = a_stage()
    run_to_the_end(expected)
    for number in range(1, points() + 1, 3):
        stage = a_stage()
        install(stage, OtherRunAt(stage, number, seconds=60, killed_at=killed_at))
        run_to_the_end(stage)
        assert end_of(stage) == end_of(expected), f"at point {number}"


def test_what_another_gitbot_moves_is_observed_as_what_people_move() -> None:
    """Two repositories act on one cluster: the label alone does not make a migration one's own."""
    one, two = (
        Stage.of(nodes={"a": "east", "c": "west"}, vms={"one": "a", "two": "a"}) for _ in range(2)
    )
    two.cluster, two.clock = one.cluster, one.clock
    one.cluster.anchors |= {"one": "", "two": ""}  # a person accepted both
    one.approve(a_plan(a_move("one", "a", "c")))
    assert apply(replace(one.shell, ledger_name="one")).states == {"succeeded": 1}
    apply(replace(one.shell, ledger_name="one"))
    apply(replace(two.shell, ledger_name="two"))
    (seen,) = two.store.read().requests("prod")
    assert isinstance(seen, ForeignMove)
    assert (seen.vm, seen.author, seen.landed) == ("db/one", "another gitbot", "c")
    assert not any(isinstance(event, ForeignMove) for event in one.store.read().events)
    assert apply(replace(two.shell, ledger_name="two")).did_nothing


@pytest.mark.parametrize("seen", ["at the create", "at the next look", "by hold"])
def test_what_another_gitbot_moves_under_the_same_name_is_left_alone(seen: str) -> None:
    """Both ledgers have a request of that name for the VM, as two windows of one name would."""
    one, two = (
        Stage.of(nodes={"a": "east", "b": "east", "c": "west"}, vms={"one": "a"}) for _ in range(2)
    )
    two.cluster, two.clock = one.cluster, one.clock
    one.cluster.anchors |= {"one": "", "two": ""}  # a person accepted both
    one.cluster.stuck = {"one"}
    hold(two.shell, reason="the first line of another ledger", by="ann")
    resume(two.shell, reason="go", by="ann")
    one.approve(a_plan(a_move("one", "a", "c")))
    two.approve(a_plan(a_move("one", "a", "b")))
    first = replace(one.shell, ledger_name="one")
    second = replace(two.shell, ledger_name="two")

    def other_is_quicker(verb: str, _: str) -> None:
        if verb == "create":
            one.cluster.trouble = lambda *_: None
            apply(first, max_runtime=1)
            if seen != "at the create":
                raise Killed

    one.cluster.trouble = other_is_quicker
    if seen == "at the create":
        apply(second, max_runtime=1)
    else:
        with pytest.raises(Killed):
            apply(second, max_runtime=1)
    if seen == "by hold":
        assert hold(second, reason="smoke", by="ann", cancel_running=True).deleted == ()
    else:
        two.clock.sleep(150)
        apply(second, max_runtime=1)
    assert [verb for verb, _ in one.cluster.calls] == ["create"]
    assert two.states()[-1] == ("1 intended" if seen == "by hold" else "1 waiting")
    assert one.states()[-1] == "1 created"
