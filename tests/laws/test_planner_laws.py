"""Laws of the planner: against brute force, under shuffled input, replayed, and planned twice."""

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gitbot.constraints.moves.instances import Instances
from gitbot.constraints.replay.replay import replay
from gitbot.kubernetes.names import NamespacedName
from gitbot.kubernetes.objects import KubernetesObject
from gitbot.model.plan.plan import PlacementPlan
from gitbot.model.plan.problem import Balance, MoveVms, Pin, PlacementProblem, Target
from gitbot.model.text.canonical import canonical_json, digest
from gitbot.planner import make_plan
from gitbot.published import plan_fields
from gitbot.snapshot import from_objects
from tests.doubles.problems import request
from tests.laws.tiny import problem_of, tiny
from tests.laws.tiny_brute import Brute
from tests.laws.tiny_scarce import scarce
from tests.laws.tiny_verdict import best_of, planned, shortfall, together

SEEDS = st.integers(min_value=0, max_value=2**32)


@pytest.mark.parametrize("seeds", together(300))
def test_no_plan_is_better_where_any_vm_may_move(seeds: range) -> None:
    cases = [tiny(seed) for seed in seeds]
    assert [(case, word) for case in cases if (word := shortfall(case))] == []


@pytest.mark.parametrize("seeds", together(150))
def test_no_plan_is_better_where_others_must_step_aside(seeds: range) -> None:
    cases = [scarce(seed) for seed in seeds]
    assert [(case, word) for case in cases if (word := shortfall(case))] == []


@pytest.mark.parametrize("seeds", together(120))
def test_the_bound_is_below_every_plan_and_a_proof_is_true(seeds: range) -> None:
    proofs = 0
    for seed in seeds:
        for case in (tiny(seed), scarce(seed)):
            plan, (best, _) = planned(case), best_of(case)
            if best.undone == 0:
                assert plan.bound.moves <= best.moves, (case, plan.bound, best)
            if plan.bound.proof:
                assert len(plan.moves) == plan.bound.moves == best.moves, (case, plan.bound, best)
                proofs += len(plan.moves) > 0
    assert proofs > 10


@given(seed=SEEDS)
@settings(max_examples=40)
def test_every_wave_keeps_the_law_in_any_order_of_completion(seed: int) -> None:
    case = tiny(seed)
    Brute(case).walk(make_plan(problem_of(case)))


@given(seed=SEEDS)
@settings(max_examples=40)
def test_replay_agrees(seed: int) -> None:
    case = problem_of(tiny(seed))
    assert replay(case, make_plan(case)) == ()


@example(seed=22109, pin=Pin.ZONE)
@given(seed=SEEDS, pin=st.sampled_from([Pin.ZONE, Pin.NONE]))
@settings(max_examples=60)
def test_moves_that_the_scheduler_decides_keep_the_law_wherever_they_land(
    seed: int, pin: Pin
) -> None:
    case = problem_of(tiny(seed))
    goals = tuple(
        replace(goal, pin=pin) if isinstance(goal, MoveVms) else goal for goal in case.goals
    )
    unpinned = replace(case, goals=goals)
    assert replay(unpinned, make_plan(unpinned)) == ()


@given(seed=SEEDS, random=st.randoms(use_true_random=False))
@settings(max_examples=40)
def test_the_order_of_the_input_does_not_matter(seed: int, random: Any) -> None:
    case = problem_of(tiny(seed))
    objects = [obj for kind in case.snapshot.objects.values() for obj in kind]
    rules = list(case.rules)
    random.shuffle(objects)
    random.shuffle(rules)
    shuffled = replace(
        case,
        snapshot=from_objects(case.cluster, [_turned(obj) for obj in objects], case.now),
        rules=tuple(rules),
    )
    assert text(make_plan(shuffled)) == text(make_plan(case))


def _turned(value: Any) -> Any:
    """The same JSON with the keys of every mapping in reverse order."""
    if isinstance(value, Mapping):
        return {key: _turned(item) for key, item in reversed(list(value.items()))}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_turned(item) for item in value]
    return value


def text(plan: PlacementPlan) -> bytes:
    return canonical_json(plan_fields(plan))


def test_the_hash_seed_does_not_matter() -> None:
    program = "from tests.laws.test_planner_laws import digests; print(digests())"
    answers = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for seed in ("1", "4242")
    }
    assert len(answers) == 1


def digests() -> str:
    """One digest over the plans of some tiny problems."""
    return digest([text(make_plan(problem_of(tiny(seed)))).decode() for seed in range(60)])


@given(seed=SEEDS)
@settings(max_examples=40)
def test_planning_on_the_planned_state_is_empty(seed: int) -> None:
    case = tiny(seed)
    if case.kind == "anywhere":  # leaves wherever it is: once
        return
    before = problem_of(case)
    plan = make_plan(before)
    again = make_plan(replace(before, snapshot=planned_state(before, plan)))
    assert again.moves == ()


def planned_state(before: PlacementProblem, plan: PlacementPlan) -> Any:
    """The snapshot after all moves of a plan."""
    ends = {str(move.vm.namespaced_name): move.to.node for move in plan.moves}
    objects = [_moved(obj, ends) for kind in before.snapshot.objects.values() for obj in kind]
    return from_objects(before.cluster, objects, before.now)


def _moved(obj: KubernetesObject, ends: Mapping[str, str]) -> KubernetesObject:
    metadata = obj["metadata"]
    if obj["kind"] == "VirtualMachineInstance":
        node = ends.get(f"{metadata['namespace']}/{metadata['name']}")
        if node is not None:
            pods = dict.fromkeys(obj["status"]["activePods"], node)
            return {**obj, "status": {**obj["status"], "nodeName": node, "activePods": pods}}
    if obj["kind"] == "Pod":
        name = metadata["labels"].get("vm.kubevirt.io/name")
        node = ends.get(f"{metadata['namespace']}/{name}")
        if node is not None:
            return {**obj, "spec": {**obj["spec"], "nodeName": node}}
    return obj


def balanced(seed: int) -> PlacementProblem:
    """A tiny problem whose goal is that all of its VMs even out the nodes."""
    case = problem_of(tiny(seed))
    vms = tuple(sorted(Instances(case.snapshot)))
    pin, work = Pin.NODE, request("even")
    goal = MoveVms(request=work, vms=vms, target=Target(), pin=pin, balance=Balance())
    return replace(case, goals=(goal,))


@given(seed=SEEDS)
@settings(max_examples=150)
def test_evening_out_keeps_the_law_makes_the_fullest_no_fuller_and_ends(seed: int) -> None:
    before = balanced(seed)
    plan = make_plan(before)
    assert replay(before, plan) == ()
    assert not plan.holds
    assert plan.bound.moves <= len(plan.moves)
    after = replace(before, snapshot=planned_state(before, plan))
    levels = [sorted(fullness(case), reverse=True) for case in (before, after)]
    assert levels[1] < levels[0] or not plan.moves
    assert make_plan(after).moves == ()


@given(seed=SEEDS, most=st.integers(1, 3))
@settings(max_examples=80)
def test_evening_out_a_few_at_a_time_ends_and_takes_no_vm_back(seed: int, most: int) -> None:
    before = balanced(seed)
    (goal,) = before.goals
    assert isinstance(goal, MoveVms)
    left: dict[NamespacedName, frozenset[str]] = {}
    for _ in range(len(goal.vms) * len(before.snapshot.of("Node")) + 1):
        again = replace(goal, balance=Balance(most=most, left=left))
        case = replace(before, goals=(again,))
        plan = make_plan(case)
        assert len(plan.moves) <= most
        assert replay(case, plan) == ()
        if not plan.moves:
            return
        for move in plan.moves:
            vm = move.vm.namespaced_name
            assert move.to.node not in left.get(vm, ())
            left[vm] = left.get(vm, frozenset()) | {move.source.node}
        before = replace(before, snapshot=planned_state(before, plan))
    raise AssertionError("it moves for ever")


def fullness(case: PlacementProblem) -> list[float]:
    """Memory that pods request over what nodes have; tiny VMs ask for next to no cpu."""
    used = Counter[str]()
    for pod in case.snapshot.of("Pod"):
        asked = pod["spec"]["containers"][0]["resources"]["requests"]["memory"]
        used[pod["spec"]["nodeName"]] += int(asked.removesuffix("Gi"))
    return [
        used[node["metadata"]["name"]]
        / int(node["status"]["allocatable"]["memory"].removesuffix("Gi"))
        for node in case.snapshot.of("Node")
    ]
