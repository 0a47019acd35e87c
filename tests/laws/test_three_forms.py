"""Three ways to ask the same question have one answer.

Scalar: one pod, one node, with reasons. Vectorised: one pod, all nodes. Incremental: the same two
after pods moved, against a world that was built again. On random clusters and on recorded ones.
"""

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gitbot.constraints.scheduler.world import World
from gitbot.kubernetes.names import NamespacedName
from gitbot.kubernetes.objects import at, name_of
from gitbot.model.cluster.pod import Pod
from gitbot.snapshot import read_snapshot
from tests.scheduling.comparison import NO_VM
from tests.scheduling.scenarios import scenario
from tests.scheduling.vectors import recorded

Object = dict[str, Any]
Moves = list[tuple[int, int]]
GROUPS = 10


def world_of(objects: list[Object]) -> World:
    items = {"apiVersion": "v1", "kind": "List", "items": [*objects, NO_VM]}
    return World.of(read_snapshot([("objects.json", json.dumps(items).encode())], 0))


def assert_one_answer(world: World, asked: Pod) -> None:
    """Vectorised is scalar, node by node, and the judgement is both."""
    feasible = world.feasible(asked)
    judgement = world.judge(asked)
    assert judgement.feasible == feasible
    scores = [score.total for score in world.scores(asked, feasible)]
    numbers = np.array([world.state.columns.index[node] for node in feasible], dtype=np.int64)
    assert world.totals(asked, numbers).tolist() == scores
    for verdict in judgement.nodes:
        rejections = world.check(asked, verdict.node)
        assert rejections == verdict.rejections
        assert (not rejections) == (verdict.node in feasible)


def assert_moved_is_built(objects: list[Object], judged: list[Object], moves: Moves) -> None:
    """Every move done on a fork, against the world of the objects with the pods moved."""
    nodes = sorted(item["metadata"]["name"] for item in objects if item["kind"] == "Node")
    placed = [item for item in objects if item["kind"] == "Pod" and at(item, "spec", "nodeName")]
    world, origin = world_of(objects), world_of(objects)
    moved: dict[NamespacedName, str] = {}
    for pod_number, node_number in moves if placed else ():
        name = name_of(placed[pod_number % len(placed)])
        target = nodes[node_number % len(nodes)]
        if world.pod(name) is None:  # finished: it holds nothing
            continue
        world = world.fork()
        world.add(world.remove(name), target)
        moved[name] = target
    built = world_of([_at_node(item, moved) for item in objects])
    for obj in judged:
        asked = Pod.from_object(obj)
        assert world.judge(asked) == built.judge(asked)
        feasible = world.feasible(asked)
        assert feasible == built.feasible(asked)
        assert world.scores(asked, feasible) == built.scores(asked, feasible)
        assert_one_answer(world, asked)
        assert_one_answer(origin, asked)


def _at_node(obj: Object, moved: dict[NamespacedName, str]) -> Object:
    target = moved.get(name_of(obj)) if obj["kind"] == "Pod" else None
    return obj if target is None else {**obj, "spec": {**obj["spec"], "nodeName": target}}


moves = st.lists(st.tuples(st.integers(0, 99), st.integers(0, 99)), max_size=4)


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(0, 10**9), moves)
def test_on_random_clusters(seed: int, moves: Moves) -> None:
    found = scenario(seed)
    assert_moved_is_built(found["objects"], found["judge"][:2], moves)


@pytest.mark.parametrize("group", range(GROUPS))
def test_on_recorded_clusters(group: int) -> None:
    for number, (found, _) in enumerate(recorded()[group::GROUPS]):
        assert_moved_is_built(
            found["objects"], found["judge"][:2], [(number, number + 1), (number + 3, number)]
        )
