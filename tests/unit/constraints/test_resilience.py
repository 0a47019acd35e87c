"""Single losses before and after a plan, and the proof that spares the search."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from gitbot.constraints.failure.node_loss import LossSimulation
from gitbot.constraints.failure.resilience import resilience
from gitbot.kubernetes.objects import KubernetesObject, with_value
from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.model.ledger.request_id import RequestId
from gitbot.model.plan.plan import Drained, LossLevel, Move, NodeRef, PlacementPlan, VmRef
from gitbot.model.plan.problem import EmptyNodes, Pin
from gitbot.snapshot import from_objects
from tests.doubles.problems import node, request, vm
from tests.scenarios.small_clusters import flat, kubevirt, machine

Placed = tuple[str, str, str]  # VM, node, memory
FOUR: Sequence[Placed] = (
    ("web-1", "n-a", "3Gi"),
    ("web-2", "n-b", "3Gi"),
    ("db-1", "n-c", "5Gi"),
    ("db-2", "n-d", "5Gi"),
)


def snapshot(vms: Sequence[Placed], **fields: Any) -> ClusterSnapshot:
    objects = list[Any]([kubevirt(), *(node(f"n-{z}", zone=z, memory="8Gi") for z in "abcd")])
    for name, on, memory in vms:
        asked = fields.get(name, {})
        objects += [vm(name, on=on, memory=memory, **asked), started(name, asked)]
    return from_objects("test", tuple(flat(objects)), 0)


def started(name: str, asked: Mapping[str, Any]) -> KubernetesObject:
    """The VirtualMachine whose template asks for the same."""
    keys = {"affinity": "affinity", "node_selector": "nodeSelector"}
    spec = {keys[key]: value for key, value in asked.items() if key in keys}
    spec["topologySpreadConstraints"] = asked.get("topology_spread", [])
    made = machine(name, **spec)
    return with_value(made, asked.get("labels", {}), "spec", "template", "metadata", "labels")


def moved(
    places: Mapping[str, tuple[str, str]],
    *,
    emptied: Sequence[str] = (),
    by: RequestId | None = None,
) -> PlacementPlan:
    about = request() if by is None else replace(request(), id=by)
    moves = [
        Move(
            id=number,
            request=about.id,
            group="g",
            intent=about.intent,
            vm=VmRef(namespace="default", name=name, uid=""),
            source=NodeRef(node=source, zone=""),
            to=NodeRef(node=to, zone=""),
            allowed_nodes=(to,),
            pin=Pin.NODE,
            added_node_selector={},
            memory_bytes=0,
            estimated_seconds=0,
            wave=number,
        )
        for number, (name, (source, to)) in enumerate(places.items(), start=1)
    ]
    drains = (Drained(request=about.id, emptied=tuple(emptied), kept=()),) if emptied else ()
    return PlacementPlan(cluster="test", moves=tuple(moves), drains=drains)


def lost(
    plan: PlacementPlan, goals: Sequence[EmptyNodes] = (), level: LossLevel = "Node"
) -> tuple[list[str], list[str]]:
    (found,) = resilience(snapshot(FOUR), plan, goals=goals, levels=(level,))
    assert {item.lost for item in found.worse} <= {item.lost for item in found.after}
    return [item.lost for item in found.before], [item.lost for item in found.after]


@pytest.mark.parametrize("level", ["Node", "Zone"])
def test_a_move_that_leaves_room_changes_nothing(level: LossLevel) -> None:
    assert lost(moved({"web-1": ("n-a", "n-b")}), level=level) == ([], [])


@pytest.mark.parametrize(
    ("away", "expected"),
    [(None, ["n-c", "n-d"]), (600, ["n-c", "n-d"])],
)
def test_a_drained_node_takes_nothing_after_the_plan(away: int | None, expected: list[str]) -> None:
    plan = moved({"web-1": ("n-a", "n-b")}, emptied=["n-a"])
    goal = EmptyNodes(request=request(), nodes=("n-a",), away=away)
    assert lost(plan, [goal]) == ([], expected)


def test_of_nodes_that_return_the_last_is_away_at_the_end() -> None:
    """n-a is back when n-b leaves, so the large VMs can start there."""
    places = {"web-1": ("n-a", "n-b"), "web-2": ("n-b", "n-c")}
    plan = moved(places, emptied=["n-a", "n-b"])
    goal = EmptyNodes(request=request(), nodes=("n-a", "n-b"), away=600)
    assert lost(plan, [goal])[1] == []
    assert lost(plan, [EmptyNodes(request=request(), nodes=("n-a", "n-b"))])[1] != []


def test_only_vms_of_the_named_namespaces_count() -> None:
    plan = moved({"web-1": ("n-a", "n-b")}, emptied=["n-a"])
    for pattern, expected in (("def*", 2), ("other", 0)):
        (found,) = resilience(snapshot(FOUR), plan, levels=("Node",), namespaces=(pattern,))
        assert len(found.after) == expected


def test_it_says_which_vms_and_why() -> None:
    plan = moved({"web-1": ("n-a", "n-b")}, emptied=["n-a"])
    (found,) = resilience(snapshot(FOUR), plan, levels=("Zone",))
    assert [(item.lost, item.vms, item.first) for item in found.after] == [
        ("c", 1, ("default/db-1",)),
        ("d", 1, ("default/db-2",)),
    ]
    assert found.after[0].why.startswith("0/3 nodes are available: 2 Insufficient memory")


APART = {
    "podAntiAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [
            {
                "labelSelector": {"matchLabels": {"app": "x"}},
                "topologyKey": "topology.kubernetes.io/zone",
            }
        ]
    }
}
EVEN = [
    {
        "topologyKey": "topology.kubernetes.io/zone",
        "maxSkew": 1,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "x"}},
    }
]
TERMS: Sequence[Mapping[str, Any]] = (
    {},
    {"labels": {"app": "x"}},
    {"labels": {"app": "x"}, "affinity": APART},
    {"labels": {"app": "x"}, "topology_spread": EVEN},
    {"node_selector": {"topology.kubernetes.io/zone": "b"}},
)


@pytest.mark.parametrize("seed", range(12))
def test_no_proof_contradicts_the_search(seed: int) -> None:
    """On tight clusters with terms between VMs: what is proven, placing every VM shows as well."""
    draw = random.Random(seed)
    for _ in range(10):
        count = draw.randint(1, 10)
        vms = [
            (f"v-{n}", f"n-{draw.choice('abcd')}", f"{draw.choice((1, 2, 3))}Gi")
            for n in range(count)
        ]
        fields = {name: draw.choice(TERMS) for name, _, _ in vms}
        losses = LossSimulation(snapshot(vms, **fields))
        groups = [("n-a",), ("n-b",), ("n-a", "n-b"), ("n-c", "n-d")]
        expected = [group for group in groups if losses.of(group).pending]
        assert [loss.nodes for loss in losses.not_survived(groups)] == expected
