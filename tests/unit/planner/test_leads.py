"""Drains that are ready by the start: when their moves begin."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from gitbot.constraints.replay.replay import replay
from gitbot.model.plan.lead import LEAST_LEAD, MOST_LEAD, needed_lead
from gitbot.model.plan.plan import PlacementPlan
from gitbot.model.plan.problem import EmptyNodes, Freeze, Limits, PlacementProblem
from gitbot.model.text.instants import Interval
from gitbot.model.text.names import IntentRef
from gitbot.published import plan_digest
from tests.doubles.problems import NOW, named, node, problem, request, vm
from tests.unit.planner.reading import move, planned

HOUR, MINUTE = 3600, 60
START = (NOW // 300 + 1) * 300 + 24 * HOUR
OBJECTS: list[Any] = [
    *(node(name, memory="200Gi") for name in ("n1", "n2", "n3")),
    vm("big", on="n1", memory="60Gi"),  # 980 s at 64 MiB/s
    vm("two", on="n1", memory="60Gi"),
    vm("three", on="n1", memory="60Gi"),
    vm("small", on="n2", memory="4Gi"),  # 84 s
]


def drain(*nodes: str, start: int = START, **fields: Any) -> EmptyNodes:
    allowed = (Interval(start=start - MOST_LEAD, end=start + 4 * HOUR),)
    return EmptyNodes(
        request=request("drain", allowed=allowed), nodes=nodes, ready_by=start, **fields
    )


def case(goal: EmptyNodes, *, frozen: Sequence[Interval] = (), now: int = NOW) -> PlacementProblem:
    ref = IntentRef(kind="FreezeWindow", namespace="", name="f")
    freeze = Freeze(intent=ref, vms=frozenset({named("big")}), times=tuple(frozen))
    return problem(OBJECTS, goals=[goal], freezes=[freeze] if frozen else [], now=now)


def begins(plan: PlacementPlan) -> int | None:
    (drained,) = plan.drains
    return drained.begins


def ends(plan: PlacementPlan) -> int:
    return max(move.starts + move.estimated_seconds for move in plan.moves)


@pytest.mark.parametrize(
    ("seconds", "lead"),
    [
        (0, LEAST_LEAD),
        (12 * MINUTE, 15 * MINUTE),
        (12 * MINUTE + 1, 20 * MINUTE),
        (HOUR, 75 * MINUTE),
        (20 * HOUR, MOST_LEAD),
    ],
)
def test_a_lead_has_a_quarter_more_in_whole_five_minutes(seconds: int, lead: int) -> None:
    assert needed_lead(seconds) == lead


@pytest.mark.parametrize(
    ("goal", "lead"),
    [
        (drain("n1"), 45 * MINUTE),  # two at once, then one: 1960 s
        (drain("n2"), 15 * MINUTE),
        (drain("n3"), 15 * MINUTE),  # it is empty
        (drain("n1", "n2", together=True), 45 * MINUTE),
        (drain("n2", "n1", max_nodes_at_once=1, ordered=True), 15 * MINUTE),  # n1 waits for n2
    ],
)
def test_moves_begin_early_enough_to_be_done_at_the_start(goal: EmptyNodes, lead: int) -> None:
    plan = planned(case(goal))
    assert begins(plan) == START - lead
    assert all(move.starts >= START - lead for move in plan.moves)
    first = [move for move in plan.moves if move.source.node == goal.nodes[0]]
    assert all(move.starts + move.estimated_seconds <= START for move in first)


def test_time_that_is_frozen_does_not_count() -> None:
    """The last 40 minutes are frozen for one VM, so all of the lead lies before them."""
    freeze = Interval(start=START - 40 * MINUTE, end=START)
    plan = planned(case(drain("n1"), frozen=[freeze]))
    assert begins(plan) == START - 85 * MINUTE
    assert ends(plan) <= START


def test_two_drains_each_have_their_own_instant() -> None:
    other = drain("n2")
    busy = replace(other, request=request("other", allowed=other.request.allowed))
    plan = planned(problem(OBJECTS, goals=[drain("n1"), busy]))
    assert {each.begins for each in plan.drains} == {START - 45 * MINUTE, START - 15 * MINUTE}
    assert ends(plan) <= START


def test_a_drain_that_others_keep_from_its_slots_begins_as_early_as_it_may() -> None:
    """One slot, which a request takes an hour before the start, as soon as it may."""
    time = Interval(start=START - 70 * MINUTE, end=START)
    away = move(*(f"r{number}" for number in range(4)), to="n4", allowed=(time,))
    objects = [
        *OBJECTS,
        *(node(name, memory="400Gi") for name in ("n4", "n5")),
        *(vm(f"r{number}", on="n5", memory="60Gi") for number in range(4)),
    ]
    one = Limits(parallel=1, reserve=0)
    plan = planned(problem(objects, goals=[away, drain("n1")], limits=one))
    assert begins(plan) == START - MOST_LEAD
    assert ends(plan) <= START


@pytest.mark.parametrize("late", [20 * MINUTE, 0, -HOUR])
def test_a_plan_made_too_late_begins_at_once(late: int) -> None:
    plan = planned(case(drain("n1"), now=START - late))
    assert begins(plan) == START - 45 * MINUTE
    assert min(move.starts for move in plan.moves) == START - late


def test_replay_refuses_moves_before_the_instant_of_the_plan() -> None:
    goal = drain("n1")
    plan = planned(case(goal))
    early = replace(plan, drains=tuple(replace(each, begins=START) for each in plan.drains))
    assert {item.code for item in replay(case(goal), early)} == {"constraints/outside-allowed-time"}


def test_the_digest_covers_the_instant_and_no_digest_without_one_changes() -> None:
    plan = planned(case(drain("n1")))
    other = replace(plan, drains=tuple(replace(each, begins=1) for each in plan.drains))
    plain = replace(plan, drains=())
    assert len({plan_digest(each, ()) for each in (plan, other, plain)}) == 3
    fixed = planned(case(replace(drain("n1"), ready_by=0)))
    assert begins(fixed) is None
    assert plan_digest(fixed, ()) == plan_digest(replace(fixed, drains=()), ())


def test_the_same_problem_gives_the_same_instant() -> None:
    assert planned(case(drain("n1"))) == planned(case(drain("n1")))
