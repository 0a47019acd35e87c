"""What is remembered of snapshots: made once, never shared where it changes."""

from __future__ import annotations

from gitbot.constraints.instances import Instances
from gitbot.constraints.made import LastMade, Made
from gitbot.constraints.world import World
from gitbot.model.names import NamespacedName
from gitbot.model.objects import KubernetesObject
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
    asked: list[str] = []

    def make(value: list[str]) -> str:
        asked.append(value[0])
        return value[0]

    made = LastMade(make)
    first, second = ["x"], ["x"]
    assert [made(first), made(first), made(second), made(first)] == ["x"] * 4
    assert len(asked) == 3, "equal values are not the same value"


def test_many_are_remembered_up_to_a_number() -> None:
    asked: list[int] = []

    def make(value: list[int]) -> int:
        asked.append(value[0])
        return value[0]

    made = Made(make, most=2)
    values = [[0], [1], [2]]
    assert [made(values[n]) for n in (0, 1, 0, 1)] == [0, 1, 0, 1]
    assert asked == [0, 1]
    assert [made(values[n]) for n in (2, 0)] == [2, 0]
    assert asked == [0, 1, 2, 0]


def test_two_worlds_of_one_snapshot_change_apart() -> None:
    snapshot = from_objects("prod", [NODE, POD], 0)
    first, second = World.of(snapshot), World.of(snapshot)
    first.remove(NAME)
    first.cordon("a")
    assert first.node_of(NAME) == ""
    for other in (second, World.of(snapshot)):
        assert other.node_of(NAME) == "a"
        assert not other.unschedulable("a")


def test_instances_are_made_once_of_a_snapshot() -> None:
    snapshot = from_objects("prod", [NODE, POD], 0)
    assert Instances.of(snapshot) is Instances.of(snapshot)
    assert Instances.of(from_objects("prod", [NODE, POD], 0)) is not Instances.of(snapshot)
