"""Scene `customapp` with its whole story: three tiers, in the state after each of ten steps.

The story is that of the KubeVirt blog, "Advanced scheduling using affinity and anti-affinity
rules": databases, caches and application servers, one of each in every zone. The demo starts with
its first two steps (`gitbot.simulation.scenes`).
"""

from collections.abc import Callable, Mapping
from typing import Any

from gitbot.kubernetes.objects import at
from gitbot.simulation import scenes
from gitbot.simulation.building import ZONE, guest, instance_replica_set
from gitbot.simulation.kubectl_drain import drain
from gitbot.simulation.scenes import DATABASE, NAMESPACE, STEP_LIMIT, jumpbox_machine, nodes
from gitbot.simulation.simulated_cluster import SimulatedCluster
from gitbot.simulation.simulation_settings import SimulationSettings
from gitbot.simulation.store import key_of
from tests.doubles.trouble import cancel_evacuation
from tests.doubles.workloads import deployment

__all__ = [
    "NAMESPACE", "application", "cache", "customapp", "database", "delete_instance",
    "jumpbox_machine", "nodes",
]  # fmt: skip

INSTANCE = "VirtualMachineInstance"
CACHE = {"app": "cache"}
APPLICATION = {"kubevirt.io/domain": "blackbox"}
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def customapp(
    *,
    step: int = 2,
    live_migratable: bool = True,
    jumpbox: bool = False,
    seed: int = 0,
    start_time: int = 1_764_547_200,
    dials: SimulationSettings | None = None,
) -> SimulatedCluster:
    """The cluster after a step of the story (0: nodes only, to 10), settled.

    In steps 7 and 10 a VM that can move but whose rules leave it no node (its own pod counts) is
    evacuated in vain again and again, as in KubeVirt: such a cluster never settles. Step 8 cancels
    that evacuation.
    """
    cluster = scenes.customapp(
        step=step,
        live_migratable=live_migratable,
        jumpbox=jumpbox,
        seed=seed,
        start_time=start_time,
        dials=dials,
    )
    for index in range(3, step + 1):
        STEPS[index](cluster)
        cluster.run_until(cluster.engine.idle, limit=STEP_LIMIT)
    return cluster


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
    if not final:
        return scenes.database()
    terms = {"nodeSelectorTerms": [_performance("In")]}
    affinity = {"nodeAffinity": {_REQUIRED: terms}, "podAntiAffinity": _apart(DATABASE)}
    spec = {"domain": guest(memory="16Gi", cores=2), "affinity": affinity}
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
            cancel_evacuation(cluster, key_of(vmi)[1], NAMESPACE)


def _send_home(cluster: SimulatedCluster) -> None:
    for pod in cluster.store.indexed("Pod", "node", "kni-worker2"):
        if at(pod, "metadata", "labels", default={}).get("app") == "cache":
            cluster.delete("Pod", key_of(pod)[1], NAMESPACE)
    cluster.run_until(cluster.engine.idle, limit=STEP_LIMIT)
    delete_instance(cluster, "blackbox", "kni-worker2")


STEPS: Mapping[int, Callable[[SimulatedCluster], object]] = {
    3: _use_final_rules,
    4: lambda cluster: delete_instance(cluster, "mssql2016", "kni-worker6"),
    5: lambda cluster: cluster.apply([cache()]),
    6: lambda cluster: cluster.apply([application()]),
    7: lambda cluster: drain(cluster, "kni-worker"),
    8: _reopen,
    9: _send_home,
    10: lambda cluster: drain(cluster, "kni-worker2", limit=120),
}
