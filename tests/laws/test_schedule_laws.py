"""Laws of a schedule: every order of starts and ends that its moves allow keeps the law."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gitbot.constraints.replay.replay import replay
from gitbot.model.grouping import grouped
from gitbot.model.plan.plan import Move, PlacementPlan
from gitbot.model.plan.problem import EmptyNodes, PlacementProblem
from gitbot.planner import make_plan
from tests.laws.tiny import Tiny, problem_of, tiny
from tests.laws.tiny_brute import Brute
from tests.laws.tiny_scarce import scarce
from tests.laws.tiny_verdict import planned, together

SEEDS = st.integers(min_value=0, max_value=2**32)
Places = tuple[frozenset[int], ...]
Stages = tuple[int, ...]  # of each move: 0 waits, 1 runs, 2 has ended


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One move of a plan by numbers, and the moves that it waits for."""

    vm: int
    source: int
    to: int
    after: frozenset[int]


class Walk:
    """Every state that a plan can reach: a move starts when all that it names have ended."""

    def __init__(self, case: Tiny, plan: PlacementPlan) -> None:
        self.case = case
        self.brute = Brute(case)
        self.brute.begun = frozenset()
        moves = sorted(plan.moves, key=lambda move: (move.starts, move.ref))
        self.steps = _steps(case, moves)
        self.as_one = grouped(
            (move.group, number) for number, move in enumerate(moves) if move.as_one
        )

    def places(self, stages: Stages) -> Places:
        held = [{place} for place in self.case.start]
        for step, stage in zip(self.steps, stages, strict=True):
            if stage:
                held[step.vm].add(step.to)
            if stage == 2:
                held[step.vm].remove(step.source)
        return tuple(frozenset(nodes) for nodes in held)

    def next(self, stages: Stages) -> Iterator[tuple[int, Stages]]:
        for number, stage in enumerate(stages):
            ready = all(stages[other] == 2 for other in self.steps[number].after)
            if stage == 1 or (stage == 0 and ready):
                yield number, (*stages[:number], stage + 1, *stages[number + 1 :])

    def reachable(self) -> set[Stages]:
        start: Stages = (0,) * len(self.steps)
        seen, queue = {start}, [start]
        while queue:
            for _, after in self.next(queue.pop()):
                if after not in seen:
                    seen.add(after)
                    queue.append(after)
        return seen

    def check(self) -> int:
        """The number of states; AssertionError where one breaks the law."""
        states = self.reachable()
        for stages in sorted(states):
            places = self.places(stages)
            for number, _ in self.next(stages):
                step = self.steps[number]
                if not stages[number]:
                    what = (self.case, self.steps, stages, number)
                    assert places[step.vm] == {step.source}, ("source", *what)
                    assert self.brute.fits(places, step.vm, step.to), ("room", *what)
        self._check_rules(states)
        return len(states)

    def _check_rules(self, states: set[Stages]) -> None:
        """Compare each state with those in which one of its moves alone has not started.

        VMs that move as one may miss each other until the last of them has landed.
        """
        for rule in (rule for rule in self.case.rules if rule.required):
            found = {item: self.brute.breaches(rule, self.places(item)) for item in sorted(states)}
            for stages, breaches in found.items():
                spared = self._between(stages) if rule.shape == "near" else set()
                for number in (number for number, stage in enumerate(stages) if stage):
                    before = found.get((*stages[:number], 0, *stages[number + 1 :]))
                    what = ("rule", self.case, self.steps, stages, number)
                    assert before is None or all(
                        key in spared or amount <= before.get(key, 0)
                        for key, amount in breaches.items()
                    ), what

    def _between(self, stages: Stages) -> set[int]:
        """The VMs of groups that move as one and of which some have landed or begun, not all."""
        return {
            self.steps[number].vm
            for numbers in self.as_one.values()
            if len({stages[number] for number in numbers}) > 1 or stages[numbers[0]] == 1
            for number in numbers
        }


def _steps(case: Tiny, moves: Sequence[Move]) -> list[Step]:
    hosts = {item.name: number for number, item in enumerate(case.nodes)}
    vms = {item.name: number for number, item in enumerate(case.vms)}
    return [
        Step(
            vm=vms[move.vm.name],
            source=hosts[move.source.node],
            to=hosts[move.to.node],
            after=frozenset(
                number
                for number, other in enumerate(moves)
                if other.ref in (move.after or ())
                or (move.after_return and other.source.node == move.to.node)
            ),
        )
        for move in moves
    ]


@pytest.mark.parametrize("seeds", together(400))
def test_every_order_of_ends_keeps_the_law(seeds: range) -> None:
    for case in map(tiny, seeds):
        Walk(case, planned(case)).check()


def test_every_order_of_ends_keeps_the_law_where_a_chain_heals_and_shifts() -> None:
    """The one way through is v4 before v3: after v3 has healed the spread, v4 would break it."""
    case = scarce(1_000_564)
    plan = planned(case)
    Walk(case, plan).check()
    Brute(case, own=True).walk(plan)
    starts = {move.vm.name: move.starts for move in plan.moves}
    assert starts["v4"] < starts["v3"]


@pytest.mark.parametrize("seeds", together(150))
def test_every_order_of_ends_keeps_the_law_where_room_is_scarce(seeds: range) -> None:
    for case in map(scarce, seeds):
        Walk(case, planned(case)).check()


@given(seed=SEEDS)
@settings(max_examples=60)
def test_every_order_of_ends_keeps_the_law_on_any_case(seed: int) -> None:
    case = tiny(seed)
    Walk(case, make_plan(problem_of(case))).check()


@given(seed=SEEDS)
@settings(max_examples=60)
def test_a_move_starts_when_the_last_of_those_that_it_names_has_ended(seed: int) -> None:
    plan = make_plan(problem_of(tiny(seed)))
    ends = {move.ref: move.starts + move.estimated_seconds for move in plan.moves}
    for move in plan.moves:
        assert move.after is not None
        assert all(ends[ref] <= move.starts for ref in move.after)
        assert move.wave or not move.after


def rolled(case: Tiny, **fields: Any) -> PlacementProblem:
    """The tiny problem with another goal: every node is serviced once."""
    asked = problem_of(case)
    nodes = tuple(item.name for item in case.nodes)
    goal = EmptyNodes(request=asked.goals[0].request, nodes=nodes, away=600, **fields)
    return replace(asked, goals=(goal,))


@example(seed=63222, lanes=1, cordon=False, block=False)  # v2 and v3 move as one
@given(seed=SEEDS, lanes=st.integers(1, 5), cordon=st.booleans(), block=st.booleans())
@settings(max_examples=80)
def test_every_node_of_a_window_once(seed: int, lanes: int, cordon: bool, block: bool) -> None:
    case = tiny(seed)
    asked = rolled(case, max_nodes_at_once=lanes, cordoned_by_gitbot=cordon, block=block)
    plan = make_plan(asked)
    assert replay(asked, plan) == ()
    Walk(case, plan).check()
    moves = sorted(plan.moves, key=lambda move: (move.starts, move.ref))
    assert max(Counter(move.vm for move in moves).values(), default=0) <= 2
    ends = {move.ref: move.starts + move.estimated_seconds for move in moves}
    for move in moves:
        for other in moves:
            if not other.group.endswith(f"/{move.to.node}"):
                continue
            if move.after_return:
                assert move.starts >= ends[other.ref] + 600
            else:
                assert move.ref in (other.after or ()) or other.starts >= ends[move.ref]
