"""What is predicted of a lost node is what the simulated cluster then does."""

from dataclasses import replace
from typing import Any

import pytest

from gitbot.constraints.failure.node_loss import LossSimulation
from gitbot.constraints.moves.instances import Instances
from gitbot.kubernetes.objects import KubernetesObject, with_value
from gitbot.simulation.port import SimulatedPort
from gitbot.snapshot import from_objects
from tests.doubles.customapp import customapp
from tests.doubles.problems import named, node, pod, vm
from tests.doubles.trouble import lose_node, return_node
from tests.scenarios.small_clusters import Objects, flat, kubevirt, machine

NODES = ("kni-worker", "kni-worker2", "kni-worker3", "kni-worker4", "kni-worker5")
ZONES = ("bcn", "sab", "scu")


@pytest.mark.parametrize("name", [*NODES, *ZONES])
@pytest.mark.parametrize("step", [2, 6])
def test_a_lost_node_or_zone_in_the_simulated_cluster(name: str, step: int) -> None:
    """The nodes are fenced: cordoned, lost, their pods gone. Replica sets make new VMIs."""
    cluster = customapp(step=step)
    port = SimulatedPort(cluster)
    before = port.snapshot()
    there = Instances.of(before)
    zones = there.domains.column("topology.kubernetes.io/zone")
    nodes = sorted(node for node, zone in zones.items() if name in (node, zone))
    assert nodes
    lost = [vm for node in nodes for vm in there.on_node.get(node, ())]
    loss = LossSimulation(before).of(nodes)
    for node_name in nodes:
        cluster.cordon(node_name)
        lose_node(cluster, node_name)
    cluster.advance(400)
    for node_name in nodes:
        return_node(cluster, node_name)
    cluster.settle()
    after = Instances.of(port.snapshot())
    left = {vm: item.node for vm, item in there.items() if vm not in lost}
    assert {vm: after[vm].node for vm in left} == left  # nothing else moved
    came = sorted(item.node for vm, item in after.items() if vm not in left and item.node)
    assert came == sorted(item.to for item in loss.restarts if item.to)
    assert len(loss.restarts) + len(loss.off) == len(lost)


def test_a_quick_proof_never_contradicts_the_search() -> None:
    """On tight clusters of equal VMs, those that are surely survived are survived."""
    for size in range(2, 12):
        vms = [(f"w-{n}", f"n-{n % 3}") for n in range(size)]
        objects: Objects = [
            kubevirt(),
            *(node(f"n-{number}", memory="8Gi") for number in range(3)),
            *(vm(name, on=on, memory="2Gi") for name, on in vms),
            *(machine(name) for name, _ in vms),
        ]
        losses = LossSimulation(from_objects("test", tuple(flat(objects)), 0))
        groups = [(f"n-{number}",) for number in range(3)]
        expected = [group for group in groups if losses.of(group).pending]
        assert [loss.nodes for loss in losses.not_survived(groups)] == expected, size


def test_a_pool_without_a_member_is_named() -> None:
    objects: Objects = [
        kubevirt(),
        node("n-1", memory="8Gi"),
        vm("w", on="n-1", memory="1Gi"),
        machine("w"),
        pool(0),
        autoscaler("VirtualMachinePool", "web", 6),
    ]
    made = LossSimulation(from_objects("test", tuple(flat(objects)), 0)).grown(named("w"), 1)
    words = f"no room is kept for {POOL}: {ASKED} 6, but it has no member to judge by"
    assert made.kept == (words,)
    alone = from_objects("test", tuple(flat([*objects][:-1])), 0)
    assert LossSimulation(alone).grown(named("w"), 1).kept == ()


def test_more_of_one_until_nothing_fits() -> None:
    objects: Objects = [
        kubevirt(),
        node("n-1", memory="4Gi"),
        vm("w", on="n-1", memory="1Gi"),
        machine("w"),
    ]
    made = LossSimulation(from_objects("test", tuple(flat(objects)), 0)).grown(named("w"), 5)
    assert [item.to for item in made.starts] == ["n-1", "n-1", "n-1", "", ""]
    assert made.kept == ()
    assert made.starts[-1].why == "0/1 nodes are available: 1 Insufficient memory"


def owned(obj: KubernetesObject, kind: str, name: str) -> KubernetesObject:
    owner = {"apiVersion": "v1", "kind": kind, "name": name, "uid": f"uid-{name}"}
    return with_value(obj, [{**owner, "controller": True}], "metadata", "ownerReferences")


def autoscaler(kind: str, name: str, most: int) -> KubernetesObject:
    return {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "grows", "namespace": "default"},
        "spec": {"scaleTargetRef": {"kind": kind, "name": name}, "maxReplicas": most},
    }


def pool(replicas: int, **spec: Any) -> KubernetesObject:
    return {
        "apiVersion": "pool.kubevirt.io/v1beta1",
        "kind": "VirtualMachinePool",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"replicas": replicas, **spec},
    }


POOL = "VirtualMachinePool default/web"
ASKED = "maxReplicas of HorizontalPodAutoscaler grows is"


@pytest.mark.parametrize(
    ("more", "starts", "kept"),
    [
        ([], 5, []),
        ([pool(1)], 5, []),
        ([pool(3)], 3, [f"2 more of {POOL}: spec.replicas is 3"]),
        ([pool(3, paused=True)], 5, []),
        (
            [pool(1), autoscaler("VirtualMachinePool", "web", 4)],
            2,
            [f"3 more of {POOL}: {ASKED} 4"],
        ),
        (
            [pool(1), autoscaler("VirtualMachinePool", "web", 9)],
            0,
            [f"5 of 8 more of {POOL}: {ASKED} 9"],
        ),
        (
            [autoscaler("Deployment", "shop", 3)],
            3,
            [f"2 more of Deployment default/shop: {ASKED} 3"],
        ),
        ([autoscaler("Deployment", "other", 3)], 5, []),
    ],
)
def test_growth_leaves_room_for_what_pools_and_autoscalers_may_start(
    more: list[KubernetesObject], starts: int, kept: list[str]
) -> None:
    """A node for eight times 1 GiB: two VMs, one of them of a pool, and a pod of a Deployment."""
    set_of = owned(replica_set("shop-1"), "Deployment", "shop")
    objects: Objects = [
        kubevirt(),
        node("n-1", memory="8Gi"),
        vm("w", on="n-1", memory="1Gi"),
        machine("w"),
        vm("web-0", on="n-1", memory="1Gi"),
        owned(machine("web-0"), "VirtualMachinePool", "web"),
        set_of,
        owned(pod("shop-1-x", on="n-1", memory="1Gi"), "ReplicaSet", "shop-1"),
        *more,
    ]
    made = LossSimulation(from_objects("test", tuple(flat(objects)), 0)).grown(named("w"), 5)
    assert [f"room is kept for {words}" for words in kept] == list(made.kept)
    assert sum(bool(item.to) for item in made.starts) == starts


def test_a_vm_of_a_pool_needs_no_room_beside_its_own() -> None:
    objects: Objects = [
        kubevirt(),
        node("n-1", memory="4Gi"),
        vm("web-0", on="n-1", memory="1Gi"),
        owned(machine("web-0"), "VirtualMachinePool", "web"),
        pool(3),
    ]
    made = LossSimulation(from_objects("test", tuple(flat(objects)), 0)).grown(named("web-0"), 2)
    assert made.kept == ()


def test_sets_that_were_not_read_are_named() -> None:
    objects: Objects = [kubevirt(), node("n-1", memory="4Gi"), vm("w", on="n-1", memory="1Gi")]
    whole = from_objects("test", tuple(flat(objects)), 0)
    lacks = replace(whole, missing_kinds=("HorizontalPodAutoscaler", "VirtualMachinePool"))
    (said,) = LossSimulation(lacks).grown(named("w"), 1).kept
    assert said.startswith("the files have no VirtualMachinePool or HorizontalPodAutoscaler, so")
    plurals = "virtualmachinepools,horizontalpodautoscalers"
    assert said.endswith(f"`kubectl get {plurals} -A -o yaml` adds them")


def replica_set(name: str) -> KubernetesObject:
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"replicas": 1, "selector": {"matchLabels": {"app": name}}},
    }
