"""Scene `customapp`: three databases on a cluster that is stretched over three zones.

The story is that of the KubeVirt blog, "Advanced scheduling using affinity and anti-affinity
rules": the first try only requires fast nodes, and a drain leaves two databases in one zone.
"""

from __future__ import annotations

from typing import Any

from gitbot.simulation.building import (
    REGION,
    ZONE,
    guest,
    instance_replica_set,
    kubevirt,
    machine,
    namespace,
    node,
)
from gitbot.simulation.kubectl_drain import drain
from gitbot.simulation.simulated_cluster import SimulatedCluster
from gitbot.simulation.simulation_settings import SimulationSettings

NAMESPACE = "customapp"
DATABASE = {"kubevirt.io/domain": "mssql2016"}
STEP_LIMIT = 900  # seconds that a step may take to settle
ZONES = ("scu", "scu", "bcn", "bcn", "sab", "sab")


def customapp(
    *,
    step: int = 2,
    live_migratable: bool = True,
    jumpbox: bool = False,
    seed: int = 0,
    start_time: int = 1_764_547_200,
    dials: SimulationSettings | None = None,
) -> SimulatedCluster:
    """The cluster, settled: nodes only (step 0), with databases (1), after a drain (2).

    With `live_migratable` the VMs have eviction strategy LiveMigrate, else None, as in the source.
    `jumpbox` adds one VirtualMachine without rules on kni-worker.
    """
    settings = dials or SimulationSettings(prefer=("kni-worker6",), live_migratable=live_migratable)
    cluster = SimulatedCluster(seed=seed, start_time=start_time, dials=settings, name="iberia")
    strategy = "LiveMigrate" if live_migratable else "None"
    cluster.load([kubevirt(evictionStrategy=strategy)])
    cluster.apply([*nodes(), namespace(NAMESPACE)])
    if jumpbox:
        cluster.set_dials(prefer=("kni-worker",))
        cluster.apply([jumpbox_machine()])
        cluster.settle()
        cluster.set_dials(prefer=settings.prefer)
    if step >= 1:
        cluster.apply([database()])
        cluster.run_until(cluster.engine.idle, limit=STEP_LIMIT)
    if step >= 2:
        drain(cluster, "kni-worker2")
        cluster.run_until(cluster.engine.idle, limit=STEP_LIMIT)
    return cluster


def nodes() -> list[dict[str, Any]]:
    """One control plane node and six workers in three zones, every second one fast."""
    control_plane = {"node-role.kubernetes.io/control-plane": ""}
    taint = {"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"}
    made = [
        node(
            "kni-control-plane",
            labels={**control_plane, REGION: "iberia"},
            taints=[taint],
            virtualization=False,
        )
    ]
    for index, zone in enumerate(ZONES):
        labels = {REGION: "iberia", ZONE: zone}
        if index % 2:
            labels["performance"] = "high"
        name = "kni-worker" if index == 0 else f"kni-worker{index + 1}"
        made.append(node(name, labels=labels, cpu="16", memory="64Gi"))
    return made


def database() -> dict[str, Any]:
    """mssql2016: it should run once in each zone, but only requires fast nodes."""
    spec = {"domain": guest(memory="16Gi", cores=2), "nodeSelector": {"performance": "high"}}
    return instance_replica_set(
        "mssql2016", namespace=NAMESPACE, replicas=3, labels=DATABASE, spec=spec
    )


def jumpbox_machine() -> dict[str, Any]:
    spec = {"domain": guest(memory="2Gi", requests=False)}
    return machine(
        "jumpbox", namespace=NAMESPACE, labels={"kubevirt.io/domain": "jumpbox"}, spec=spec
    )
