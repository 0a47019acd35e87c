"""How long the planner takes for a rack: 300 nodes in 3 zones, 4,000 VMs, 85 % full.

Run as a script; it prints figures and asserts no times.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

from gitbot.model.constraint import RuleConstraint
from gitbot.model.names import IntentRef
from gitbot.model.objects import KubernetesObject
from gitbot.model.problem import EmptyNodes, PlacementProblem, Request
from gitbot.planner import make_plan
from gitbot.testing.problems import node, problem, vm

NODES, ZONES, VMS, RACK = 300, 3, 4000, 12
GIB = 1024**3


def cluster(nodes: int, vms: int) -> Iterator[tuple[KubernetesObject, ...]]:
    """Nodes of 64 GiB round robin in zones; VMs of 2, 4 and 8 GiB; one in twenty stays put."""
    for number in range(nodes):
        yield (node(f"node-{number:03}", zone=f"zone-{number % ZONES}", memory="64Gi"),)
    sizes = ("2Gi", "4Gi", "6Gi", "4Gi")
    for number in range(vms):
        yield vm(
            f"vm-{number:04}",
            on=f"node-{number % nodes:03}",
            labels={"app": f"app-{number // 3:04}"},
            memory=sizes[(number * 7 + number // nodes) % len(sizes)],
            migratable=number % 20 != 7,
        )


def rack(rules: tuple[RuleConstraint, ...] = ()) -> PlacementProblem:
    """A rack of twelve nodes to be emptied, three at once."""
    intent = IntentRef(kind="MaintenanceWindow", namespace="", name="rack-7")
    goal = EmptyNodes(
        request=Request(id="drain/rack-7/20261206T210000Z", intent=intent),
        nodes=tuple(f"node-{number * ZONES:03}" for number in range(RACK)),
        max_nodes_at_once=3,
        block=False,
        cordoned_by_gitbot=True,
    )
    return problem(cluster(NODES, VMS), goals=[goal], rules=rules)


def main() -> None:
    """Print how full the cluster is, what was planned, and the seconds."""
    began = time.perf_counter()
    case = rack()
    built = time.perf_counter()
    plan = make_plan(case)
    ended = time.perf_counter()
    memory = sum(move.memory_bytes for move in plan.moves) // GIB
    print(f"snapshot {built - began:.2f} s, plan {ended - built:.2f} s")
    print(f"{len(plan.moves)} moves of {memory} GiB in {len(plan.waves)} waves,", end=" ")
    print(f"{len(plan.holds)} holds; bound {plan.bound.moves} moves")


if __name__ == "__main__":
    main()
