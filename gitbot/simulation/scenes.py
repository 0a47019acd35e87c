"""Scene `customapp`: three tiers on a stretched cluster, in the state after each of ten steps.

The story is that of the KubeVirt blog, "Advanced scheduling using affinity and anti-affinity
rules": databases, caches and application servers, one of each in every zone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from gitbot.model.objects import at
from gitbot.simulation.building import (
    REGION,
    ZONE,
    deployment,
    guest,
    instance_replica_set,
    kubevirt,
    machine,
    namespace,
    node,
)
from gitbot.simulation.cluster import SimulatedCluster
from gitbot.simulation.dials import Dials
from gitbot.simulation.drain import drain
from gitbot.simulation.store import key_of

NAMESPACE = "customapp"
INSTANCE = "VirtualMachineInstance"
DATABASE = {"kubevirt.io/domain": "mssql2016"}
CACHE = {"app": "cache"}
APPLICATION = {"kubevirt.io/domain": "blackbox"}
STEP_LIMIT = 900  # seconds that a step may take to settle
ZONES = ("scu", "scu", "bcn", "bcn", "sab", "sab")
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def customapp(
    *,
    step: int = 2,
    live_migratable: bool = True,
    jumpbox: bool = False,
    seed: int = 0,
    start_time: int = 1_764_547_200,
    dials: Dials | None = None,
) -> SimulatedCluster:
    """The cluster after a step of the story (0: nodes only, to 10), settled.

    With `live_migratable` the VMs have eviction strategy LiveMigrate, else None, as in the source.
    `jumpbox` adds one VirtualMachine without rules on kni-worker. In steps 7 and 10 a VM that can
    move but whose rules leave it no node (its own pod counts) is evacuated in vain again and again,
    as in KubeVirt: such a cluster never settles. Step 8 cancels that evacuation.
    """
    settings = dials or Dials(prefer=("kni-worker6",), live_migratable=live_migratable)
    cluster = SimulatedCluster(seed=seed, start_time=start_time, dials=settings, name="iberia")
    strategy = "LiveMigrate" if live_migratable else "None"
    cluster.load([kubevirt(evictionStrategy=strategy)])
    cluster.apply([*nodes(), namespace(NAMESPACE)])
    if jumpbox:
        cluster.set_dials(prefer=("kni-worker",))
        cluster.apply([jumpbox_machine()])
        cluster.settle()
        cluster.set_dials(prefer=settings.prefer)
    for index in range(1, step + 1):
        STEPS[index](cluster)
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


def _apart(labels: Mapping[str, str]) -> dict[str, Any]:
    """Required anti-affinity on these labels by zone."""
    key, value = next(iter(labels.items()))
    selector = {"matchExpressions": [{"key": key, "operator": "In", "values": [value]}]}
    return {_REQUIRED: [{"labelSelector": selector, "topologyKey": ZONE}]}


def _performance(operator: str) -> dict[str, Any]:
    expression = {"key": "performance", "operator": operator, "values": ["high"]}
    return {"matchExpressions": [expression]}


def database(*, final: bool) -> dict[str, Any]:
    """mssql2016 with the rules of the first try, or the final ones."""
    spec: dict[str, Any] = {"domain": guest(memory="16Gi", cores=2)}
    if final:
        terms = {"nodeSelectorTerms": [_performance("In")]}
        spec["affinity"] = {
            "nodeAffinity": {_REQUIRED: terms},
            "podAntiAffinity": _apart(DATABASE),
        }
    else:
        spec["nodeSelector"] = {"performance": "high"}
    return instance_replica_set(
        "mssql2016", namespace=NAMESPACE, replicas=3, labels=DATABASE, spec=spec
    )


def cache() -> dict[str, Any]:
    """varnish-cache: rather not on fast nodes, one in a zone."""
    preferred = {"weight": 10, "preference": _performance("NotIn")}
    resources = {"requests": {"cpu": "250m", "memory": "512Mi"}}
    container = {"name": "varnish", "image": "varnish:stable", "resources": resources}
    spec = {
        "affinity": {
            "nodeAffinity": {_PREFERRED: [preferred]},
            "podAntiAffinity": _apart(CACHE),
        },
        "containers": [container],
    }
    return deployment("varnish-cache", namespace=NAMESPACE, replicas=3, labels=CACHE, spec=spec)


def application() -> dict[str, Any]:
    """Blackbox: on the node of a cache, one in a zone."""
    selector = {"matchExpressions": [{"key": "app", "operator": "In", "values": ["cache"]}]}
    term = {"labelSelector": selector, "topologyKey": "kubernetes.io/hostname"}
    spec = {
        "affinity": {"podAffinity": {_REQUIRED: [term]}, "podAntiAffinity": _apart(APPLICATION)},
        "domain": guest(memory="2Gi"),
    }
    return instance_replica_set(
        "blackbox", namespace=NAMESPACE, replicas=3, labels=APPLICATION, spec=spec
    )


def jumpbox_machine() -> dict[str, Any]:
    """A VirtualMachine without rules."""
    spec = {"domain": guest(memory="2Gi", requests=False)}
    return machine(
        "jumpbox", namespace=NAMESPACE, labels={"kubevirt.io/domain": "jumpbox"}, spec=spec
    )


def _use_final_rules(cluster: SimulatedCluster) -> None:
    key = (NAMESPACE, "mssql2016")
    current = cluster.store.get("VirtualMachineInstanceReplicaSet", key)
    spec = {**current["spec"], "template": database(final=True)["spec"]["template"]}
    cluster.store.replace({**current, "spec": spec})
    cluster.cordon("kni-worker2", unschedulable=False)


def delete_instance(cluster: SimulatedCluster, domain: str, node_name: str) -> None:
    """Delete the first VMI of a domain (label kubevirt.io/domain) that runs on a node."""
    for vmi in cluster.list(INSTANCE, NAMESPACE):
        labels = at(vmi, "metadata", "labels", default={})
        if labels.get("kubevirt.io/domain") == domain and (
            at(vmi, "status", "nodeName") == node_name
        ):
            cluster.delete(INSTANCE, key_of(vmi)[1], NAMESPACE)
            return


def _reopen(cluster: SimulatedCluster) -> None:
    """Uncordon, and give up what the drain could not move."""
    cluster.cordon("kni-worker", unschedulable=False)
    for vmi in cluster.list(INSTANCE, NAMESPACE):
        if at(vmi, "status", "evacuationNodeName"):
            cluster.cancel_evacuation(key_of(vmi)[1], NAMESPACE)


def _send_home(cluster: SimulatedCluster) -> None:
    for pod in cluster.store.indexed("Pod", "node", "kni-worker2"):
        if at(pod, "metadata", "labels", default={}).get("app") == "cache":
            cluster.delete("Pod", key_of(pod)[1], NAMESPACE)
    cluster.run_until(cluster.engine.idle, limit=STEP_LIMIT)
    delete_instance(cluster, "blackbox", "kni-worker2")


STEPS: Mapping[int, Callable[[SimulatedCluster], object]] = {
    1: lambda cluster: cluster.apply([database(final=False)]),
    2: lambda cluster: drain(cluster, "kni-worker2"),
    3: _use_final_rules,
    4: lambda cluster: delete_instance(cluster, "mssql2016", "kni-worker6"),
    5: lambda cluster: cluster.apply([cache()]),
    6: lambda cluster: cluster.apply([application()]),
    7: lambda cluster: drain(cluster, "kni-worker"),
    8: _reopen,
    9: _send_home,
    10: lambda cluster: drain(cluster, "kni-worker2", limit=120),
}
