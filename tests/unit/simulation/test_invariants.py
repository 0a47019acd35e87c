"""Whatever happens to a simulated cluster, some things hold at every step."""

import random
from collections import Counter
from contextlib import suppress
from typing import Any

import pytest

from gitbot.constraints.scheduler.world import World
from gitbot.kubernetes.objects import at, uid_of
from gitbot.kubevirt.limits import is_running
from gitbot.simulation.kubevirt.reconcile_result import MIGRATION, VMI
from gitbot.simulation.port import SimulatedPort
from gitbot.simulation.simulated_cluster import SimulatedCluster
from gitbot.simulation.simulation_settings import SimulationSettings
from gitbot.simulation.status_errors import ApiError
from gitbot.simulation.store import key_of
from tests.doubles.rack import RackSize, rack
from tests.doubles.trouble import evict_instance, fail_next_migration, restart_machine

SIZE = RackSize(nodes=9, machines=45, nodes_in_rack=3, namespaces=3)


def anything(cluster: SimulatedCluster, dice: random.Random) -> None:
    """One thing that may happen in a cluster."""
    vmis = cluster.list(VMI)
    nodes = cluster.list("Node")
    namespace, name = key_of(dice.choice(vmis))
    node = key_of(dice.choice(nodes))[1]
    match dice.randrange(9):
        case 0 | 1 | 2 | 3:
            selector = {"kubernetes.io/hostname": node} if dice.random() < 0.5 else {}
            spec: dict[str, Any] = {"vmiName": name, "addedNodeSelector": selector}
            with suppress(ApiError):  # in flight, not migratable, ended
                cluster.api.create(
                    {
                        "apiVersion": "kubevirt.io/v1",
                        "kind": MIGRATION,
                        "metadata": {"generateName": "m-", "namespace": namespace},
                        "spec": spec,
                    }
                )
        case 4:
            evict_instance(cluster, name, namespace)
        case 5:
            restart_machine(cluster, name, namespace)
        case 6:
            cluster.cordon(node, unschedulable=dice.random() < 0.5)
        case 7:
            for migration in cluster.list(MIGRATION)[:1]:
                cluster.delete(MIGRATION, key_of(migration)[1], key_of(migration)[0])
        case _:
            fail_next_migration(cluster, name, namespace, reason="bad luck")


def check(cluster: SimulatedCluster) -> None:
    """What holds at every step."""
    snapshot = SimulatedPort(cluster).snapshot()
    world, kept = World.of(snapshot), cluster.placement.world()
    for node in world.nodes:
        assert dict(world.free(node.name)) == dict(kept.free(node.name))
        assert min(world.free(node.name).values()) >= 0, f"{node.name} is overfull"
    moving = [item for item in cluster.list(MIGRATION) if is_running(item)]
    assert len(moving) <= 5
    leaving = Counter(
        at(cluster.get(VMI, item["spec"]["vmiName"], key_of(item)[0]), "status", "nodeName")
        for item in moving
    )
    assert max(leaving.values(), default=0) <= 4  # two, and two that have just landed
    pods = cluster.list("Pod")
    for vmi in cluster.list(VMI):
        if at(vmi, "status", "phase") != "Running" or at(vmi, "metadata", "deletionTimestamp"):
            continue
        living = [
            pod
            for pod in pods
            if at(pod, "metadata", "labels", "kubevirt.io/created-by") == uid_of(vmi)
            and at(pod, "status", "phase") == "Running"
            and at(pod, "spec", "nodeName") == at(vmi, "status", "nodeName")
        ]
        assert len(living) == 1, f"{key_of(vmi)} runs in {len(living)} pods"


@pytest.mark.parametrize(
    "seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 12))]
)
def test_capacity_limits_and_homes_hold_whatever_happens(seed: int) -> None:
    dice = random.Random(seed)
    cluster = rack(SIZE, seed=seed, dials=SimulationSettings(copy_minimum=7))
    specs = {key_of(vm): vm["spec"] for vm in cluster.list("VirtualMachine")}
    for _ in range(40):
        anything(cluster, dice)
        cluster.engine.run_ready()
        check(cluster)
        cluster.advance(dice.randrange(20))
        check(cluster)
    assert {key_of(vm): vm["spec"] for vm in cluster.list("VirtualMachine")} == specs
    assert len(cluster.list(VMI)) >= len(specs) - 5
