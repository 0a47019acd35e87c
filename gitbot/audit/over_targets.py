"""Targets of a plan that the cluster's own descheduler calls over-utilised with the VMs there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from gitbot.audit.descheduler import Classified, Utilization, classify
from gitbot.audit.descheduler_policy import policies_in
from gitbot.constraints.moves.instances import Instances
from gitbot.constraints.scheduler.world import World
from gitbot.kubernetes.names import NamespacedName
from gitbot.kubernetes.objects import name_of
from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.model.cluster.load import ClusterLoad


def over_targets(
    snapshot: ClusterSnapshot, load: ClusterLoad, ends: Mapping[NamespacedName, str]
) -> Iterator[tuple[Utilization, Classified, str]]:
    """Policy and node, for each node where a VM of `ends` is then, and why nothing is evicted.

    Requests count as they are after the moves, measured load as it is now.
    """
    policies = policies_in(snapshot)
    moved = _moved(snapshot, ends) if policies else {}
    for asked in policies:
        found = classify(asked, snapshot, load, moved)
        for item in found.of("over"):
            if item.node in ends.values():
                yield asked, item, found.idle


def _moved(
    snapshot: ClusterSnapshot, ends: Mapping[NamespacedName, str]
) -> dict[str, Counter[str]]:
    """By node, how much more of each resource its pods request after the moves."""
    instances, world = Instances.of(snapshot), World.of(snapshot)
    more: dict[str, Counter[str]] = {}
    for vm, node in ends.items():
        source = instances[vm].source_pod
        pod = None if source is None else world.pod(name_of(source))
        if pod is not None:
            held = Counter({**pod.requests.held, "pods": 1})
            more.setdefault(node, Counter()).update(held)
            more.setdefault(instances[vm].node, Counter()).subtract(held)
    return more
