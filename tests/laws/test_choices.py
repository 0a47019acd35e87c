"""What the planner remembers of a VM's choices is what it would be told again."""

import random

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from gitbot.model.plan.problem import PlacementProblem
from gitbot.planner.plan_types import TargetPolicy, Task
from gitbot.planner.problem_index import ProblemIndex
from gitbot.planner.state.choices import Choices
from gitbot.planner.state.plan_state import PlanState
from tests.bench.instance import problem
from tests.bench.instances import full, maintenance
from tests.doubles.problems import ZONE, named, node, vm
from tests.doubles.problems import problem as placement_problem
from tests.laws.tiny import problem_of, tiny

SEEDS = st.integers(min_value=0, max_value=2**32)


def assert_remembered(asked: PlacementProblem, draw: random.Random) -> int:
    """Move VMs off some nodes at random; returns how many answers were not asked for again."""
    board = PlanState.of(ProblemIndex.of(asked))
    closed = draw.sample(board.nodes, max(1, len(board.nodes) // 2))
    wish = TargetPolicy(closed=dict.fromkeys(closed, "closed"))
    vms = sorted(vm for vm in board.occupancy if board.place(vm) in closed)
    choices = Choices(board, Task(content={}, wishes=dict.fromkeys(vms, wish)), vms)
    remembered = 0
    for _ in range(2):
        waiting, mark = draw.sample(vms, len(vms)), board.mark()
        choices.begin()
        while waiting:
            step = next(board.steps(waiting.pop(), wish), None)
            if step is not None:
                board.take(step)
                choices.took(step)
            for other in waiting[:4]:
                remembered += choices.stands(other)
                assert (choices.now(other) == board.asked(other, wish)).all()
        board.back(mark)
    return remembered


@given(seed=SEEDS)
@settings(max_examples=150)
def test_on_tiny_clusters(seed: int) -> None:
    assert_remembered(problem_of(tiny(seed)), random.Random(seed))


@given(seed=SEEDS)
@settings(max_examples=8)
def test_on_clusters_with_rules(seed: int) -> None:
    for case in (maintenance(20, seed=seed), full(12, fill=0.8, drained=2, seed=seed)):
        assert assert_remembered(problem(case), random.Random(seed)) > 0


def test_terms_of_one_vm_about_another() -> None:
    apart = {
        "podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {"labelSelector": {"matchLabels": {"app": "db"}}, "topologyKey": ZONE}
            ]
        }
    }
    objects = [
        node("n1", zone="a"),
        *(node(name, zone=zone) for name, zone in (("n2", "b"), ("n3", "b"), ("n4", "c"))),
        *vm("first", on="n1", labels={"app": "db"}, affinity=apart),
        *vm("second", on="n1", labels={"app": "db"}),
    ]
    board = PlanState.of(ProblemIndex.of(placement_problem(objects)))
    wish = TargetPolicy(closed={"n1": "closed"})
    first, second = named("first"), named("second")
    task = Task(content={}, wishes=dict.fromkeys((first, second), wish))
    for mover, other in ((first, second), (second, first)):
        choices = Choices(board, task, (first, second))
        with board.trial():
            step = board.step(mover, "n2", wish)
            board.take(step)
            choices.took(step)
            assert board.choices(other, wish) == ("n4",)
            assert np.flatnonzero(choices.now(other)).tolist() == [3]
