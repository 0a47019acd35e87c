"""What is remembered of snapshots: made once, never shared where it changes."""

import gc
from copy import deepcopy
from dataclasses import replace
from typing import Any

from gitbot.constraints.moves.instances import Instances
from gitbot.constraints.scheduler.cluster_facts import FACT_KINDS, StandingFacts
from gitbot.constraints.scheduler.world import World
from gitbot.kubernetes.names import NamespacedName
from gitbot.kubernetes.objects import KubernetesObject
from gitbot.model.caches import IdentityCache, LastValueCache, RowCache
from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.model.cluster.pod import Pod
from gitbot.snapshot import from_objects

POD: KubernetesObject = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"namespace": "db", "name": "one"},
    "spec": {"nodeName": "a", "containers": [{"name": "c"}]},
}
NODE: KubernetesObject = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a"}}
NAME = NamespacedName(namespace="db", name="one")


def test_the_last_is_made_once_and_another_anew() -> None:
    before: list[tuple[list[str], str] | None] = []

    def make(value: list[str], last: tuple[list[str], str] | None) -> str:
        before.append(last)
        return value[0]

    made = LastValueCache(make)
    first, second = ["x"], ["x"]
    assert [made(first), made(first), made(second), made(first)] == ["x"] * 4
    assert before == [None, (first, "x"), (second, "x")], "equal values are not the same value"


def test_many_are_remembered_up_to_a_number() -> None:
    asked: list[int] = []

    def make(value: list[int]) -> int:
        asked.append(value[0])
        return value[0]

    made = IdentityCache(make, most=2)
    values = [[0], [1], [2]]
    assert [made(values[n]) for n in (0, 1, 0, 1)] == [0, 1, 0, 1]
    assert asked == [0, 1]
    assert [made(values[n]) for n in (2, 0)] == [2, 0]
    assert asked == [0, 1, 2, 0]


def test_a_row_of_the_very_same_values_is_made_once_while_it_keeps_coming() -> None:
    asked: list[str] = []

    def make(*parts: str) -> str:
        asked.append("".join(parts))
        return asked[-1]

    made = RowCache(make)
    one, two = "one", "two"
    assert made([(one,), (one, two)]) == ["one", "onetwo"]
    assert made([(one, two), (two,)]) == ["onetwo", "two"]
    assert asked == ["one", "onetwo", "two"]
    assert made([(one,)]) == ["one"]
    assert asked[3:] == ["one"], "it was not among the last ones"


def test_two_worlds_of_one_snapshot_change_apart() -> None:
    snapshot = from_objects("prod", [NODE, POD], 0)
    first, second = World.of(snapshot), World.of(snapshot)
    first.remove(NAME)
    first.cordon("a")
    assert first.node_of(NAME) == ""
    for other in (second, World.of(snapshot)):
        assert other.node_of(NAME) == "a"
        assert not other.unschedulable("a")


def _pod(name: str, node: str, cpu: str) -> KubernetesObject:
    requests = {"requests": {"cpu": cpu}}
    return {
        **POD,
        "metadata": {"namespace": "db", "name": name, "labels": {"app": name}},
        "spec": {"nodeName": node, "containers": [{"name": "c", "resources": requests}]},
    }


def test_a_world_made_from_the_last_one_answers_as_one_made_from_nothing() -> None:
    room = {"status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "10"}}}
    nodes = [{**NODE, "metadata": {"name": name}, **room} for name in ("a", "b")]
    first = from_objects("prod", [*nodes, *(_pod(f"p{n}", "a", "100m") for n in range(12))], 0)
    facts = World.of(first).state.facts
    new = [_pod("p1", "b", "300m"), _pod("q", "b", "1")]  # p0 went, p1 moved, q came
    pods = (*first.of("Pod")[2:], *from_objects("prod", new, 1).of("Pod"))
    followed = World.of(replace(first, objects={**first.objects, "Pod": pods}))
    fresh = World.of(from_objects("prod", [*nodes, *pods], 1))
    for node in ("a", "b"):
        assert followed.pods_on(node) == fresh.pods_on(node)
        assert followed.free(node) == fresh.free(node)
    assert followed.state.facts is facts
    assert fresh.state.facts is not facts, "the nodes are others"


def test_the_facts_are_made_of_the_kinds_that_are_looked_at_for_a_change() -> None:
    asked: set[str] = set()

    class Listening(dict[str, tuple[KubernetesObject, ...]]):
        def get(self, kind: str, default: Any = None) -> Any:
            asked.add(kind)
            return super().get(kind, default)

    StandingFacts(ClusterSnapshot(cluster="prod", taken_at=0, objects=Listening()))
    assert asked == set(FACT_KINDS)


def test_instances_are_made_once_of_a_snapshot() -> None:
    snapshot = from_objects("prod", [NODE, POD], 0)
    assert Instances.of(snapshot) is Instances.of(snapshot)
    assert Instances.of(from_objects("prod", [NODE, POD], 0)) is not Instances.of(snapshot)


def test_pods_of_former_snapshots_are_kept_by_nothing() -> None:
    """A process that watches reads new objects in every pass."""

    def kept(number: int) -> int:
        pods = [
            {**deepcopy(POD), "metadata": {"namespace": "db", "name": f"{number}-{index}"}}
            for index in range(20)
        ]
        World.of(from_objects("prod", [NODE, *pods], 0))
        gc.collect()
        return sum(isinstance(item, Pod) for item in gc.get_objects())

    assert kept(1) == kept(2) == kept(3)
