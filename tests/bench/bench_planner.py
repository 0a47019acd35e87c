"""How long the planner takes for a rack: 300 nodes in 3 zones, 4,000 VMs, 85 % full.

Run as a script; it prints figures and asserts no times.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

from gitbot.constraints.moves.instances import Instances
from gitbot.constraints.replay.replay import replay
from gitbot.constraints.rules.zone_anti_affinity import zone_anti_affinity
from gitbot.kubernetes.objects import labels_of, name_of
from gitbot.model.cluster.cluster import KINDS, ClusterSnapshot
from gitbot.model.ledger.request_id import RequestId
from gitbot.model.plan.problem import EmptyNodes, PlacementProblem, Request
from gitbot.model.text.names import IntentRef
from gitbot.planner import make_plan
from gitbot.snapshot import from_objects
from tests.bench.table import Figure, ms, show
from tests.doubles.rack import RACK, TIER, rack

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
            id=RequestId.read("drain/rack/20251201T000000Z"),
            intent=IntentRef(kind="MaintenanceWindow", namespace="", name="rack"),
        ),
        nodes=tuple(nodes),
        max_nodes_at_once=3,
        block=False,
        cordoned_by_gitbot=True,
    )
    return PlacementProblem(cluster="rack", now=NOW, snapshot=snapshot, rules=rules, goals=(goal,))


def figures() -> Iterator[Figure]:
    """What was planned, and the seconds."""
    cluster = rack(start_time=NOW)
    objects = [obj for kind in KINDS for obj in cluster.list(kind)]
    case = emptied(from_objects("rack", objects, NOW))
    began = time.perf_counter()
    plan = make_plan(case)
    ended = time.perf_counter()
    findings = replay(case, plan)
    replayed = time.perf_counter()
    nodes, vms = (len(case.snapshot.of(kind)) for kind in ("Node", "VirtualMachineInstance"))
    what = f"plan: one rack of 12 emptied, {nodes} nodes, {vms} VMs"
    yield Figure(what=f"{what}: planned in", gitbot=ms(ended - began))
    yield Figure(what=f"{what}: replayed in, {len(findings)} findings", gitbot=ms(replayed - ended))
    memory = sum(move.memory_bytes for move in plan.moves) // GIB
    yield Figure(
        what=f"{what}: moves ({memory} GiB, {len(plan.waves)} waves, {len(plan.holds)} holds)",
        gitbot=str(len(plan.moves)),
        peer=f"{plan.bound.moves} (lower bound)",
        ratio=plan.bound.moves / len(plan.moves),
    )
    seconds = plan.waves[-1].ends - NOW
    yield Figure(
        what=f"{what}: estimated duration",
        gitbot=f"{seconds} s",
        peer=f"{plan.bound.seconds} s (lower bound)",
        ratio=plan.bound.seconds / seconds,
    )


def main() -> None:
    """Print the figures."""
    show(figures())


if __name__ == "__main__":
    main()
