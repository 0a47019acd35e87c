"""All single losses of nodes and zones before a plan and after it, at 1,000 nodes.

6,000 VMs, 75 % of the memory requested, in 10 zones that can be lost and in 3 that cannot; then
each with required anti-affinity of its own. The plan moves the six VMs of one node to another one.
"""

import time
from collections.abc import Iterator

from gitbot.constraints.failure.resilience import resilience
from gitbot.constraints.moves.instances import Instances
from gitbot.constraints.scheduler.world import World
from gitbot.kubernetes.objects import KubernetesObject
from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.model.cluster.scheduling import ZONE
from gitbot.model.ledger.request_id import MigrationRequestId
from gitbot.model.plan.plan import Move, NodeRef, PlacementPlan, VmRef
from gitbot.model.plan.problem import Pin
from gitbot.model.text.names import IntentRef
from gitbot.snapshot import from_objects
from tests.bench.bench_audit import asking
from tests.bench.bench_process import bound
from tests.bench.large_cluster import TAKEN_AT, objects
from tests.bench.table import Figure, show

NODES, GOAL = 1_000, 5.0


def _in_zones(found: Iterator[KubernetesObject], zones: int) -> Iterator[KubernetesObject]:
    for obj in found:
        if obj["kind"] == "Node":
            labels = obj["metadata"]["labels"]
            labels[ZONE] = f"zone-{int(labels[ZONE].rpartition('-')[2]) % zones}"
        yield obj


def _moves(snapshot: ClusterSnapshot) -> PlacementPlan:
    instances = Instances.of(snapshot)
    source, target = min(instances.on_node), max(instances.on_node)
    moves = [
        Move(
            id=number,
            request=MigrationRequestId(namespace="bench", name="move"),
            group="move",
            intent=IntentRef(kind="MigrationRequest", namespace="bench", name="move"),
            vm=VmRef(namespace=vm.namespace, name=vm.name, uid=instances[vm].uid),
            source=NodeRef(node=source, zone=""),
            to=NodeRef(node=target, zone=""),
            allowed_nodes=(target,),
            pin=Pin.NODE,
            added_node_selector={},
            memory_bytes=0,
            estimated_seconds=0,
            wave=0,
        )
        for number, vm in enumerate(instances.on_node[source], start=1)
    ]
    return PlacementPlan(cluster="prod", moves=tuple(moves))


def figures() -> Iterator[Figure]:
    for zones, terms in ((10, False), (3, False), (10, True)):
        made = asking(NODES) if terms else objects(NODES)
        found = _in_zones(made, zones)
        snapshot = from_objects("prod", list(found), TAKEN_AT, kubernetes_version="v1.36.3")
        plan = _moves(snapshot)
        World.of(snapshot)
        began = time.process_time()
        lost = resilience(snapshot, plan, levels=("Node", "Zone"))
        seconds = time.process_time() - began
        failing = sum(len(one.after) for one in lost)
        asked = "VMs with anti-affinity" if terms else "VMs without terms"
        what = f"{NODES:,} nodes, {zones} zones, {asked}: all single losses twice ({failing} fail)"
        yield bound(what, seconds, GOAL, "s")


if __name__ == "__main__":
    show(figures())
