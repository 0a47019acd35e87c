"""What is placed in bulk keeps the law in any order of starts and ends, and step by step."""

import random
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from unittest.mock import Mock, patch

from hypothesis import given, settings
from hypothesis import strategies as st

from gitbot.constraints.moves.instances import Instances
from gitbot.constraints.replay.replay import replay
from gitbot.constraints.rules.zone_anti_affinity import ZoneAntiAffinity
from gitbot.kubernetes.names import NamespacedName
from gitbot.model.plan.problem import PlacementProblem
from gitbot.model.text.names import IntentRef
from gitbot.planner import assemble, make_plan
from gitbot.planner.drain import bulk
from gitbot.planner.plan_types import Step, TargetPolicy, Task
from gitbot.planner.problem_index import ProblemIndex
from gitbot.planner.schedule import schedule
from gitbot.planner.state.plan_state import PlanState
from tests.bench.instance import problem
from tests.bench.instances import full, maintenance
from tests.doubles.problems import named, node, vm
from tests.doubles.problems import problem as placement_problem
from tests.laws.tiny import problem_of, tiny

SEEDS = st.integers(min_value=0, max_value=2**32)


def assert_lawful(asked: PlacementProblem, draw: random.Random, *, part: int = 4) -> int:
    """Empty one node in `part`; returns how many VMs were placed in bulk."""
    board = PlanState.of(ProblemIndex.of(asked))
    closed = draw.sample(board.nodes, max(1, len(board.nodes) // part))
    steps, placed = emptied(board, closed)
    with board.trial():
        for step in steps:
            assert step.node not in closed
            assert board.takes(step), step
            board.take(step)
        assert not steps or not any(board.on(name) for name in closed)
    free = [step for step in steps if step.vm in placed]
    with board.trial():
        flying: list[Step] = []
        for step in draw.sample(free, len(free)):
            assert board.takes(step), step
            board.launch(step)
            flying.append(step)
            while flying and draw.random() < 0.5:
                board.finish(flying.pop(draw.randrange(len(flying))).vm)
    return len(free)


def emptied(
    board: PlanState, closed: Sequence[str]
) -> tuple[list[Step], frozenset[NamespacedName]]:
    """The steps that empty these nodes, in order, and the VMs that were placed in bulk."""
    wish = TargetPolicy(closed=dict.fromkeys(closed, "closed"))
    tasks = {
        name: Task(
            content=dict.fromkeys(board.on(name), board.open_nodes(wish.closed)),
            wishes=dict.fromkeys(board.on(name), wish),
        )
        for name in closed
    }
    placed_vms: set[NamespacedName] = set()
    place = bulk.BulkPlacement.place

    def noted(
        self: bulk.BulkPlacement, before: Iterable[Step]
    ) -> Mapping[NamespacedName, Step] | None:
        placed = place(self, before)
        placed_vms.update(placed or ())
        return placed

    with patch.object(bulk, "MANY", 1), patch.object(bulk.BulkPlacement, "place", noted):
        found = bulk.calm(board, tasks, wish)
    if found is None:
        return [], frozenset()
    return [step for solved in found.values() for step in solved.steps], frozenset(placed_vms)


@given(seed=SEEDS)
@settings(max_examples=60)
def test_on_tiny_clusters(seed: int) -> None:
    assert_lawful(problem_of(tiny(seed)), random.Random(seed))


@given(seed=SEEDS)
@settings(max_examples=8)
def test_on_clusters_with_rules(seed: int) -> None:
    assert assert_lawful(problem(maintenance(20, seed=seed)), random.Random(seed), part=10) > 0
    assert_lawful(problem(full(12, fill=0.6, drained=2, seed=seed)), random.Random(seed))


@given(seed=SEEDS)
@settings(max_examples=6)
def test_the_plan_is_the_same_if_each_move_is_judged_in_flight_too(seed: int) -> None:
    asked, no = problem(maintenance(24, seed=seed)), Mock(return_value=False)
    with patch.object(bulk, "MANY", 1):
        once = make_plan(asked)
        with patch.object(schedule, "in_any_order", no), patch.object(assemble, "in_any_order", no):
            assert make_plan(asked) == once
    assert once.moves
    assert replay(asked, once) == ()


def test_moves_that_were_placed_in_bulk_are_not_asked_about_in_flight() -> None:
    asked = problem(maintenance(24, seed=1))
    takes = Mock(side_effect=AssertionError)
    with patch.object(bulk, "MANY", 1), patch.object(PlanState, "takes", takes):
        assert len(make_plan(asked).moves) > 2


def test_a_domain_that_a_vm_leaves_counts_as_held() -> None:
    """As the first VM goes to zone c, zone a looks free; but the second VM may start earlier."""
    rooms = {"n1": ("a", "4Gi"), "n2": ("b", "4Gi"), "n3": ("a", "16Gi"), "n4": ("b", "8Gi")}
    rooms["n5"] = ("c", "32Gi")
    objects: list[Any] = [
        node(name, zone=zone, memory=memory) for name, (zone, memory) in rooms.items()
    ]
    objects += [*vm("db-1", on="n1", memory="2Gi"), *vm("db-2", on="n2")]
    apart = ZoneAntiAffinity(
        ref=IntentRef(kind="ZoneAntiAffinity", namespace="default", name="apart"),
        members=frozenset((named("db-1"), named("db-2"))),
        domains=Instances.of(placement_problem(objects).snapshot).domains,
    )
    board = PlanState.of(ProblemIndex.of(placement_problem(objects, rules=(apart,))))
    steps, placed = emptied(board, ("n1", "n2"))
    assert len(placed) == 2
    assert [(step.vm.name, step.node) for step in steps] == [("db-1", "n5"), ("db-2", "n4")]
