"""A proof that no plan exists is never wrong: brute force finds no state that it rules out."""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest

from gitbot.model.cluster.columns import Mask
from gitbot.model.plan.problem import (
    EmptyNodes,
    HealRule,
    MoveVms,
    PlacementProblem,
    ReturnHome,
)
from gitbot.planner.plan_types import TargetPolicy, Task
from gitbot.planner.problem_index import ProblemIndex
from gitbot.planner.proofs.capacity_model import CapacityModel
from gitbot.planner.proofs.prove import (
    GoalRequirement,
    Proof,
    contradictory,
    left_by_healing,
    left_by_task,
    prove,
    quests,
)
from gitbot.planner.proofs.shortage import CapacityCheck
from gitbot.planner.state.plan_state import PlanState
from tests.depth import some_at_merge
from tests.doubles.problems import named
from tests.laws.tiny import Tiny, problem_of, tiny
from tests.laws.tiny_scarce import drawn
from tests.laws.tiny_space import Flags, Space

FIRST = 2_000_000
PARTS = 8
"""Into so many tests the ten thousand problems are split, each well below the limit of a test."""


def together(problem: PlacementProblem) -> PlacementProblem:
    """A rolling drain proves nothing about all of its nodes: they are never away together."""
    goals = [
        replace(goal, max_nodes_at_once=len(goal.nodes)) if isinstance(goal, EmptyNodes) else goal
        for goal in problem.goals
    ]
    return replace(problem, goals=tuple(goals))


def proven(case: Tiny) -> Iterator[tuple[GoalRequirement, Proof, bool]]:
    """All proofs of a case; True for those of a drain, whose nodes are all away together."""
    board = PlanState.of(ProblemIndex.of(together(problem_of(case))))
    ground = CapacityModel(board)
    for goal in board.facts.problem.goals:
        for quest in quests(ground, goal, frozenset(board.facts.vmis)):
            for proof in prove(ground, quest):
                yield quest, proof, isinstance(goal, EmptyNodes)
        if isinstance(goal, HealRule):
            nowhere = ground.mask(())
            for proof in contradictory(ground, goal):
                yield GoalRequirement(must={}, closed=nowhere, heals=goal.rule.id), proof, False


def placed(space: Space, quest: GoalRequirement, proof: Proof, *, drain: bool) -> Flags:
    """The states in which all VMs of a proof have found a place."""
    if quest.heals:
        return np.equal(space.undone(), 0)
    case, good = space.case, np.ones(len(space.places), bool)
    for vm in proof.vms:
        number = next(n for n, item in enumerate(case.vms) if item.name == vm.name)
        if drain:  # and nobody arrives on a node that is emptied
            there = ~quest.closed
            start = np.array(case.start)
            good &= ((space.places == start) | ~quest.closed[space.places]).all(axis=1)
        else:
            place = case.goal_vms.index(number)
            nodes = range(len(case.nodes))
            there = np.array([space.content(place, number, node) for node in nodes])
        good &= there[space.places[:, number]]
    return good


def wrong(case: Tiny) -> list[str]:
    """The proofs that a lawful sequence of moves contradicts."""
    found = list(proven(case))
    if not found:
        return []
    space = Space(case)
    states = space.reachable()
    return [
        proof.reason
        for quest, proof, drain in found
        if (states & placed(space, quest, proof, drain=drain)).any()
    ]


def full_ones(seeds: range) -> list[Tiny]:
    return [case for seed in seeds if (case := drawn(random.Random(seed))) is not None]


@pytest.mark.parametrize("first", range(0, 300, 100))
def test_no_proof_is_wrong(first: int) -> None:
    cases = [tiny(seed) for seed in range(first, first + 100)]
    cases += full_ones(range(first, first + 100))
    assert {case: found for case in cases if (found := wrong(case))} == {}


def task_of(board: PlanState) -> Task:
    """The VMs of a request, or of a way home, as the planner asks for them."""
    (goal,) = board.facts.problem.goals
    if isinstance(goal, ReturnHome):
        nodes = {vm: frozenset({home}) for vm, home in goal.homes.items()}
    else:
        assert isinstance(goal, MoveVms)
        nodes = dict.fromkeys(goal.vms, board.facts.matching(goal.target))
    return Task(content=nodes, wishes=dict.fromkeys(nodes, TargetPolicy()), aside=TargetPolicy())


def test_what_must_stay_undone_is_never_more_than_the_best_plan_leaves() -> None:
    known = 0
    for case in (*map(tiny, range(150)), *full_ones(range(150))):
        if case.kind in ("node", "zone", "home"):
            board = PlanState.of(ProblemIndex.of(problem_of(case)))
            least, best = left_by_task(board, task_of(board)), Space(case).best().undone
            assert least <= best, case
            known += 0 < least == best
    assert known > 8


def test_a_healing_knows_what_stays_broken() -> None:
    known = 0
    for case in (case for case in map(tiny, range(300)) if case.kind == "heal"):
        board = PlanState.of(ProblemIndex.of(problem_of(case)))
        ref = case.rules[0].name
        rule = next(rule for rule in board.facts.rules if rule.ref.name == ref)
        movers = [named(vm.name) for vm in case.vms if vm.migratable]
        least, best = left_by_healing(board, rule, movers, ()), Space(case).best().undone
        assert least <= best, case
        known += 0 < least == best
    assert known > 4


def test_rules_that_contradict_each_other_are_found() -> None:
    cases = [case for case in map(tiny, range(3_000)) if case.kind == "heal"]
    found = [
        case for case in cases if any("cannot" in proof.reason for _, proof, _ in proven(case))
    ]
    assert len(found) > 3
    assert {case: told for case in found if (told := wrong(case))} == {}


def test_proofs_are_found() -> None:
    """Of nearly full clusters without a plan, half are proven to have none."""
    cases = full_ones(range(400))
    hopeless = [case for case in cases if Space(case).best().undone]
    assert sum(any(proven(case)) for case in hopeless) >= 0.5 * len(hopeless) > 20


def test_room_that_suffices_wherever_vms_are_hides_no_proof(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cases = [*map(tiny, range(60)), *full_ones(range(150))]
    said: list[bool] = []
    quick = CapacityCheck._enough

    def heard(rooms: CapacityCheck, mask: Mask, asks: Sequence[Mapping[str, int]]) -> bool:
        said.append(quick(rooms, mask, asks))
        return said[-1]

    monkeypatch.setattr(CapacityCheck, "_enough", heard)
    found = [[proof for _, proof, _ in proven(case)] for case in cases]
    assert said.count(True) > 50
    assert said.count(False) > 50
    monkeypatch.setattr(CapacityCheck, "_enough", lambda *_: False)
    assert [[proof for _, proof, _ in proven(case)] for case in cases] == found


@pytest.mark.parametrize("part", some_at_merge(range(PARTS), 4))
def test_no_proof_of_ten_thousand_problems_is_wrong(part: int) -> None:
    cases = [tiny(seed) for seed in range(FIRST + part, FIRST + 6_000, PARTS)]
    cases += full_ones(range(FIRST + part, FIRST + 8_000, PARTS))
    assert len(cases) > 9_000 // PARTS
    assert {case: found for case in cases if (found := wrong(case))} == {}
