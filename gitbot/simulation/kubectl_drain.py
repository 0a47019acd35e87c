"""`kubectl drain` in process: cordon, evict all but DaemonSets' pods, try again on 429."""

from __future__ import annotations

from gitbot.kubernetes.objects import KubernetesObject, controller_of
from gitbot.kubernetes.phases import is_final
from gitbot.simulation.simulated_cluster import SimulatedCluster
from gitbot.simulation.status_errors import ApiError
from gitbot.simulation.store import key_of

RETRY = 5  # seconds between two evictions of one pod (kubectl, pkg/drain)


def drain(cluster: SimulatedCluster, node: str, *, limit: int = 600) -> tuple[str, ...]:
    """Cordon and empty a node; returns the pods (namespace/name) that are left after `limit` s."""
    cluster.cordon(node)
    end = cluster.now() + limit
    while left := _to_evict(cluster, node):
        for pod in left:
            _evict(cluster, pod)
        if cluster.now() >= end:
            break
        cluster.advance(RETRY)
    return tuple("/".join(key_of(pod)) for pod in _to_evict(cluster, node))


def _evict(cluster: SimulatedCluster, pod: KubernetesObject) -> None:
    if "deletionTimestamp" in pod["metadata"]:
        return
    try:
        cluster.api.evict(key_of(pod), {})
    except ApiError as refusal:
        if refusal.code not in (404, 429):
            raise
    cluster.engine.run_ready()


def _to_evict(cluster: SimulatedCluster, node: str) -> list[KubernetesObject]:
    found = []
    for pod in cluster.store.indexed("Pod", "node", node):
        owner = controller_of(pod)
        if not is_final(pod) and (owner is None or owner["kind"] != "DaemonSet"):
            found.append(pod)
    return found
