"""How long the planner takes for a rack: 300 nodes in 3 zones, 4,000 VMs, 85 % full.

Run as a script; it prints figures and asserts no times.
"""

from __future__ import annotations

import time

from gitbot.constraints.instances import Instances
from gitbot.constraints.replay import replay
from gitbot.constraints.zone_anti_affinity import zone_anti_affinity
from gitbot.model.cluster import KINDS, ClusterSnapshot
from gitbot.model.names import IntentRef
from gitbot.model.objects import labels_of, name_of
from gitbot.model.problem import EmptyNodes, PlacementProblem, Request
from gitbot.planner import make_plan
from gitbot.simulation.rack import RACK, TIER, rack
from gitbot.snapshot import from_objects

NOW = 1_764_547_200
GIB = 1024**3


def emptied(snapshot: ClusterSnapshot) -> PlacementProblem:
    """The first rack is to be emptied, three nodes at once, beside a rule for each namespace."""
    instances = Instances(snapshot)
    rules = tuple(
        zone_anti_affinity(
            instances,
            ref=IntentRef(kind="ZoneAntiAffinity", namespace=namespace, name="quorum"),
            namespace=namespace,
            selector={"matchLabels": {TIER: "quorum"}},
        )
        for namespace in sorted({name_of(obj).name for obj in snapshot.of("Namespace")})
    )
    nodes = [name_of(obj).name for obj in snapshot.of("Node") if labels_of(obj).get(RACK) == "r01"]
    goal = EmptyNodes(
        request=Request(
            id="drain/rack/20251201T000000Z",
            intent=IntentRef(kind="MaintenanceWindow", namespace="", name="rack"),
        ),
        nodes=tuple(nodes),
        max_nodes_at_once=3,
        block=False,
        cordoned_by_gitbot=True,
    )
    return PlacementProblem(cluster="rack", now=NOW, snapshot=snapshot, rules=rules, goals=(goal,))


def main() -> None:
    """Print what was planned and the seconds."""
    cluster = rack(start_time=NOW)
    objects = [obj for kind in KINDS for obj in cluster.list(kind)]
    case = emptied(from_objects("rack", objects, NOW))
    began = time.perf_counter()
    plan = make_plan(case)
    ended = time.perf_counter()
    findings = replay(case, plan)
    replayed = time.perf_counter()
    nodes, vms = (len(case.snapshot.of(kind)) for kind in ("Node", "VirtualMachineInstance"))
    print(f"rack: {nodes} nodes, {vms} VMs, one rack of 12 emptied")
    print(f"plan {ended - began:.2f} s, replay {replayed - ended:.2f} s, {len(findings)} findings")
    memory = sum(move.memory_bytes for move in plan.moves) // GIB
    print(f"{len(plan.moves)} moves (bound {plan.bound.moves}) of {memory} GiB", end=" ")
    print(f"in {len(plan.waves)} waves, {len(plan.holds)} holds")
    seconds = plan.waves[-1].ends - NOW
    print(f"estimated {seconds} s, {100 * seconds // plan.bound.seconds} % of the lower bound")


if __name__ == "__main__":
    main()
