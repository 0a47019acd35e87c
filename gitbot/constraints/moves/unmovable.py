"""What no migration can remove from a node: VMs that are bound to it, and other pods."""

from __future__ import annotations

from collections.abc import Iterator

from gitbot.constraints.moves.instances import Instance
from gitbot.kubernetes.names import NamespacedName
from gitbot.kubernetes.objects import at, condition_of, labels_of, name_of
from gitbot.kubernetes.phases import is_final
from gitbot.kubevirt.names import CREATED_BY
from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.model.cluster.opt_out import LABEL


def bound(item: Instance) -> str:
    """Why gitbot cannot or may not migrate a VM; "" if it may."""
    if item.vmi is None:
        return "no VMI"
    condition = condition_of(item.vmi, "LiveMigratable")
    if condition is None or condition.get("status") != "True":
        reason = "unknown" if condition is None else condition.get("reason") or "False"
        return f"LiveMigratable is {reason}"
    label = item.labels.get(LABEL)
    return f"{LABEL}={label}" if label is not None else ""


def pods_that_stay(snapshot: ClusterSnapshot) -> Iterator[tuple[str, NamespacedName]]:
    """Node and name of running pods that are neither launcher pods nor pods of a DaemonSet."""
    for pod in snapshot.of("Pod"):
        node = at(pod, "spec", "nodeName", default="")
        if node and not is_final(pod) and CREATED_BY not in labels_of(pod):
            owners = at(pod, "metadata", "ownerReferences", default=())
            if not any(owner.get("kind") in ("DaemonSet", "Node") for owner in owners):
                yield node, name_of(pod)
