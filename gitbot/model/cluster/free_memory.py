"""The memory that the scheduler may still give away on a node."""

from __future__ import annotations

from collections.abc import Collection

from gitbot.kubernetes.objects import at, name_of
from gitbot.kubernetes.phases import is_final
from gitbot.kubernetes.quantities import whole
from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.model.cluster.resource_requests import requests_of


def free_memory(snapshot: ClusterSnapshot, nodes: Collection[str]) -> dict[str, int]:
    """Bytes by node, of those of `nodes` that exist; below 0 where more is promised than there is.

    Raises ValueError if a quantity is unreadable.
    """
    found = {
        name_of(node).name: whole(at(node, "status", "allocatable", "memory", default=0))
        for node in snapshot.of("Node")
        if name_of(node).name in nodes
    }
    for pod in snapshot.of("Pod"):
        node = at(pod, "spec", "nodeName", default="")
        if node in found and not is_final(pod):
            found[node] -= requests_of(pod).held.get("memory", 0)
    return found
