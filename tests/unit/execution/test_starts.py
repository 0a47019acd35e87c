"""Why a move does not start now, until when, and whether looking again soon may help."""

from copy import deepcopy
from typing import Any

import pytest

from gitbot.execution.claims import FENCE
from gitbot.execution.executor_types import REFUSED, Approved, BreakerLimits, OutdatedGroup
from gitbot.kubevirt.names import CREATED_BY, HEARTBEAT, MIGRATION_UID, SCHEDULABLE
from gitbot.model.ledger.events import MoveState
from gitbot.model.ledger.request_id import RequestId
from gitbot.model.plan.diagnosis import TOGETHER, warned
from gitbot.model.plan.findings import Finding, Severity
from gitbot.model.plan.plan import MoveRef, PlacementPlan
from gitbot.model.plan.problem import Limits, Pin, PlacementProblem
from gitbot.model.text.instants import Interval, format_instant
from tests.unit.execution.scene import NOW, World, migration, move

OTHER = RequestId.read("request/db/two")


@pytest.fixture
def world() -> World:
    return World.of("a", "b", "c", one="a", two="a", three="b")


def waiting(world: World) -> list[tuple[int, str, int, bool]]:
    return [(item.move, item.reason, item.until, item.retry) for item in world.last.waiting]


def refusal(world: World) -> tuple[str, int, bool]:
    ((_, reason, until, retry),) = waiting(world)
    return reason, until, retry


# What one move waits for


def blocked(world: World) -> None:
    world.refused = "c"


def stopped(world: World) -> None:
    world.view["stop"] = "lunch"


def paused(world: World) -> None:
    world.view["stop"] = "first"
    world.step()
    del world.view["stop"]
    world.approved.clear()
    world.approve(move("one", "a", "c"), paused="ask ann")


def closed(world: World) -> None:
    world.approved.clear()
    world.approve(move("one", "a", "c"), allowed=(Interval(start=NOW + 60, end=NOW + 900),))


def migrated(world: World) -> None:
    world.migrations["evac"] = migration("evac", "one", "Running", own=False)


def silent(world: World) -> None:
    world.nodes["a"]["status"]["conditions"] = [{"type": "Ready", "status": "Unknown"}]


def restarting(world: World) -> None:
    node = world.nodes["a"]["metadata"]
    node.setdefault("labels", {})[SCHEDULABLE] = "false"
    node.setdefault("annotations", {})[HEARTBEAT] = format_instant(NOW - 30)


def without_devices(world: World) -> None:
    restarting(world)
    since = format_instant(NOW - 300)
    world.pods.append(
        {
            "metadata": {
                "name": "virt-handler-x7",
                "namespace": "kubevirt",
                "ownerReferences": [{"kind": "DaemonSet", "name": "virt-handler"}],
            },
            "spec": {"nodeName": "a"},
            "status": {
                "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": since}]
            },
        }
    )


def lost(world: World) -> None:
    world.nodes["c"]["status"]["conditions"] = [{"type": "Ready", "status": "False"}]


def unanswered(world: World) -> None:
    twin = deepcopy(world)
    twin.step()
    world.view["unanswered"] = frozenset({twin.event("intended").migration})


def full(world: World) -> None:
    world.problem["limits"] = Limits(parallel=1, reserve=0)
    world.migrations["evac"] = migration("evac", "two", "Running", own=False)


OFF = "label kubevirt.io/schedulable is false"
NO_DEVICES = (
    "virt-handler of its node a answers, but its device plugins are not ready (it runs since "
    f"{format_instant(NOW - 300)}): {OFF}: kubectl logs -n kubevirt virt-handler-x7 says which "
    "device does not register with the kubelet: mend it, then delete that pod; no VM leaves the "
    "node live before"
)
REASONS = [
    (blocked, "its group no longer passes the checks and needs a new plan", 0, False),
    (stopped, "stopped: lunch", 0, False),
    (paused, "ask ann", 0, False),
    (closed, "outside its allowed time", NOW + 60, False),
    (migrated, "another migration of the VM is running: evac", 0, True),
    (silent, "its node a does not answer: Ready is Unknown", 0, False),
    (
        restarting,
        f"virt-handler of its node a does not answer since {format_instant(NOW - 30)}: {OFF}",
        0,
        False,
    ),
    (
        without_devices,
        NO_DEVICES,
        0,
        False,
    ),
    (lost, "c does not answer: Ready is False", 0, False),
    (unanswered, "the API server answers no request for its migration", 0, False),
    (full, "1 migration runs, gitbot starts at most 1 at once", 0, True),
]


@pytest.mark.parametrize(("change", "reason", "until", "retry"), REASONS)
def test_what_a_move_waits_for(
    world: World, change: Any, reason: str, until: int, retry: bool
) -> None:
    world.approve(move("one", "a", "c"))
    change(world)
    world.step()
    assert refusal(world) == (reason, until, retry)
    assert world.effects == []


def test_where_the_scheduler_decides_a_node_that_does_not_answer_keeps_nobody(
    world: World,
) -> None:
    world.approve(move("one", "a", "c", pin=Pin.ZONE))
    lost(world)
    world.step()
    assert world.effects == ["create one"]


def test_a_move_takes_a_slot_of_the_node_that_its_vm_is_on_by_now() -> None:
    world = World.of("a", "b", "c", one="b", two="b")
    world.problem["limits"] = Limits(per_source_node=1)
    world.approve(move("one", "a", "c"), move("two", "b", "c", 2))
    assert world.step() == ["1 approved", "2 approved", "1 intended"]
    assert world.waits == {2: "1 migrations leave b"}


def test_moves_of_one_group_that_follow_each_other_are_judged_together() -> None:
    """One slot: the first may start only because the plan moves its companion after it."""
    world = World.of("a", "b", "c", one="a", two="a")
    world.problem["limits"] = Limits(parallel=1, reserve=0)
    together = (warned(TOGETHER, "one, two move as one"),)
    world.approve(move("one", "a", "c", checks=together), move("two", "a", "c", 2, checks=together))
    alone = Finding(code="constraints/rule-worsened", severity=Severity.ERROR, message="alone")
    world.view["replay"] = lambda _, plan: () if len(plan.moves) == 2 else (alone,)
    assert world.step() == ["1 approved", "2 approved", "1 intended"]
    assert world.effects == ["create one"]


def test_what_starts_is_judged_with_a_move_whose_target_pod_has_no_node_yet(world: World) -> None:
    """b is free for one's target pod once three has left it, and the plan does not allow b."""
    world.approve(move("one", "a", "c", pin=Pin.NONE))
    world.step()
    world.run()
    world.approve(move("three", "b", "c"), request=OTHER)
    stray = Finding(code="constraints/landing", severity=Severity.ERROR, message="one on b")
    both = [{"one", "three"}]
    world.view["replay"] = lambda _, plan: (
        (stray,) if [{item.vm.name for item in plan.moves}] == both else ()
    )
    world.step()
    assert world.effects == []
    assert refusal(world) == ("one on b", 0, True)
    (job,) = world.migrations.values()
    labels = {CREATED_BY: "uid-one", MIGRATION_UID: job["metadata"]["uid"]}
    metadata = {"name": "target", "namespace": "db", "labels": labels}
    world.pods.append({"metadata": metadata, "spec": {"nodeName": "c"}})
    world.step()
    assert world.effects == ["create three"]


def test_a_fault_of_that_move_alone_stops_nobody(world: World) -> None:
    world.approve(move("one", "a", "c", pin=Pin.NONE))
    world.step()
    world.run()
    world.approve(move("three", "b", "c"), request=OTHER)
    full = Finding(code="constraints/not-schedulable", severity=Severity.ERROR, message="c is full")
    world.view["replay"] = lambda _, plan: (
        (full,) if "one" in {item.vm.name for item in plan.moves} else ()
    )
    world.step()
    assert world.effects == ["create three"]


def test_each_attempt_pauses_twice_as_long(world: World) -> None:
    world.view["breaker"] = BreakerLimits(failures=99)
    world.approve(move("one", "a", "c"), attempts=4)
    world.step()
    for seconds in (60, 120, 240):
        world.run("Running")
        world.set_phase("one", "Failed")
        world.step()
        failed_at = world.now
        assert refusal(world) == ("it failed and is tried again", failed_at + seconds, True)
        world.now = failed_at + seconds - 1
        assert world.step() == []
        world.now += 1
        assert world.step() == ["1 intended"]


def test_a_create_that_was_refused_is_tried_after_a_pause(world: World) -> None:
    world.approve(move("one", "a", "c"))
    world.step()
    line = world.event("intended").replace(
        state=MoveState.WAITING, outcome=REFUSED, reason="busy", claim=None
    )
    world.ledger = world.ledger.replace(events=(*world.ledger.events, line))
    world.now += 59
    assert world.step() == []
    assert refusal(world) == ("busy", NOW + 60, False)
    world.now += 1
    assert world.step() == ["1 intended"]


def test_a_name_that_somebody_else_has_is_waited_for(world: World) -> None:
    world.approve(move("one", "a", "c"))
    world.step()
    name = world.event("intended").migration.partition("/")[2]
    again = World.of("a", "b", "c", one="a", two="a")
    again.migrations[name] = migration(name, "two", "Succeeded", own=False)
    again.approve(move("one", "a", "c"))
    again.step()
    assert refusal(again) == (f"a migration named db/{name} is not gitbot's", 0, False)


def test_an_earlier_wave_is_waited_for(world: World) -> None:
    world.approve(move("one", "a", "c"), move("three", "b", "c", 2, wave=1))
    world.step()
    assert refusal(world) == ("move 1 of an earlier wave is not over", 0, False)


# What was announced


@pytest.mark.parametrize(("executor", "who"), [("bob", "executor bob"), ("", "an executor")])
def test_what_another_announced_is_waited_for_and_has_its_place(
    world: World, executor: str, who: str
) -> None:
    world.problem["limits"] = Limits(parallel=1, reserve=0)
    world.view["executor"] = executor
    world.approve(move("one", "a", "c"))
    world.step()
    until = FENCE.settles_at(world.event("intended").claim.until)
    world.view["executor"] = "ann"
    world.approved.insert(0, two())
    world.step()
    said = f"it is announced: {who} may create it until {format_instant(until)}"
    full_now = "1 migration runs, gitbot starts at most 1 at once"
    assert waiting(world) == [(1, said, 0, True), (2, full_now, 0, True)]
    world.now = until
    world.step()
    assert world.effects == ["create one"], "what is announced comes before what is not"


def test_a_line_of_an_older_gitbot_names_nobody_who_may_create_it(world: World) -> None:
    world.approve(move("one", "a", "c"))
    world.step()
    lines = (
        item.replace(claim=None) if item.state == "intended" else item
        for item in world.ledger.events
    )
    world.ledger = world.ledger.replace(events=tuple(lines))
    assert world.step() == []
    assert refusal(world)[0].startswith("it is announced: an executor may create it until ")


def two() -> Approved:
    """Another request, with a move that is tried first where nothing else counts."""
    other = World.of()
    other.approve(move("two", "a", "c", 2, request=OTHER), request=OTHER, digest="sha256:2")
    return other.approved[0]


# What waits for others of its plan


@pytest.mark.parametrize(
    ("group", "said"), [("other", ["1 held", "2 intended"]), ("one", ["1 held", "2 held"])]
)
def test_a_group_that_is_proposed_again_blocks_no_later_wave_of_others(
    world: World, group: str, said: list[str]
) -> None:
    world.refused = "c"
    world.approve(move("one", "a", "c"), move("three", "b", "a", 2, wave=1, group=group))
    assert world.step() == ["1 approved", "2 approved", *said]


def test_nor_moves_of_other_requests_that_name_it_whatever_their_group_is_called(
    world: World,
) -> None:
    world.refused = "c"
    world.approve(move("one", "a", "c"))
    first = MoveRef(request=RequestId.read("request/db/one"), id=1)
    world.approve(move("three", "b", "a", 1, request=OTHER, after=(first,)), request=OTHER)
    world.step()
    assert world.effects == ["create three"]


# The checks, when some of what may start is refused


def refuses(world: World, *nodes: str) -> list[PlacementPlan]:
    """Plans with a move to one of the nodes are refused; returns what was asked."""
    asked: list[PlacementPlan] = []

    def replay(problem: PlacementProblem, plan: PlacementPlan) -> tuple[Finding, ...]:
        del problem
        asked.append(plan)
        bad = [item.to.node for item in plan.moves if item.to.node in nodes]
        return tuple(
            Finding(code="constraints/landing", severity=Severity.ERROR, message=f"{name} is full")
            for name in bad[:1]
        )

    world.view |= {"replay": replay, "judge_groups": False}
    return asked


def test_what_the_checks_refuse_first_is_held_with_its_group_and_the_rest_starts(
    world: World,
) -> None:
    refuses(world, "c")
    world.approve(
        move("one", "a", "c"), move("two", "a", "b", 2), move("three", "b", "a", 3, group="other")
    )
    assert world.step()[3:] == ["1 held", "2 held", "3 intended"]
    stale = OutdatedGroup(
        request=RequestId.read("request/db/one"), group="one", reasons=("c is full",)
    )
    assert world.last.stale == (stale,)
    assert world.event("held").attempt == 0, "nothing was tried"
    assert waiting(world) == [
        (1, "c is full", 0, False),
        (2, "its group no longer passes the checks and needs a new plan", 0, False),
    ]


def test_what_is_refused_beside_others_only_waits(world: World) -> None:
    refuses(world, "c")
    world.approve(move("three", "b", "a", group="other"), move("one", "a", "c", 2))
    assert world.step()[2:] == ["1 intended"]
    assert world.last.stale == ()
    assert waiting(world) == [(2, "c is full", 0, False)]


def test_what_is_refused_while_others_move_is_looked_at_again_soon(world: World) -> None:
    refuses(world, "c")
    world.migrations["evac"] = migration("evac", "three", "Running", own=False)
    world.approve(move("one", "a", "c"))
    assert world.step() == ["1 approved"]
    assert waiting(world) == [(1, "c is full", 0, True)]
    assert world.last.stale == ()


def test_eight_are_refused_by_the_checks_in_one_look() -> None:
    names = [f"vm{number}" for number in range(10)]
    world = World.of("a", "b", "c", busy="b", **dict.fromkeys(names, "a"))
    asked = refuses(world, "c")
    world.problem["limits"] = Limits(parallel=99, per_source_node=99, per_target_node=99)
    world.migrations["evac"] = migration("evac", "busy", "Running", own=False)
    world.approve(
        *(move(name, "a", "c", number, group=name) for number, name in enumerate(names, 1))
    )
    world.step()
    assert [item.reason for item in world.last.waiting] == [
        *["c is full"] * 8,
        *["others before it do not pass the checks now"] * 2,
    ]
    assert len(asked) == 9, "all of them once, and eight alone"


def test_what_passes_together_starts_together(world: World) -> None:
    """Two that change places pass together, and neither alone."""
    asked: list[PlacementPlan] = []

    def replay(problem: PlacementProblem, plan: PlacementPlan) -> tuple[Finding, ...]:
        del problem
        asked.append(plan)
        found = Finding(code="constraints/landing", severity=Severity.ERROR, message="alone")
        return () if len(plan.moves) == 2 else (found,)

    world.view |= {"replay": replay, "judge_groups": False}
    world.approve(
        move("one", "a", "b", wave=1, after=(), starts=NOW + 7),
        move("three", "b", "a", 2, wave=2, after=()),
    )
    world.step()
    assert world.effects == ["create one", "create three"]
    (plan,) = asked
    assert {(item.wave, item.starts) for item in plan.moves} == {(0, 0)}, "both start now"
