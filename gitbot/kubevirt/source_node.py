"""Whether a node can take part in a migration: whether its kubelet and virt-handler respond.

Without them the VMIM is created, waits for the node and fails. Kubernetes marks a node whose
kubelet is silent with condition Ready and a taint; virt-controller sets the label
kubevirt.io/schedulable to false if the heartbeat of its virt-handler is older than five minutes
(KubeVirt, pkg/virt-controller/watch/node/node.go).
"""

from __future__ import annotations

from gitbot.kubernetes.objects import KubernetesObject, at, condition_of, labels_of, name_of
from gitbot.kubevirt.names import SCHEDULABLE

_UNREACHABLE = "node.kubernetes.io/unreachable"


def silence_of(node: KubernetesObject, pod: KubernetesObject | None = None) -> str:
    """Why no VM can leave the node live, with the time until Kubernetes evicts `pod`; "" if it can.

    A node that reports neither condition nor label counts as responding.
    """
    name = name_of(node).name
    if lost := lost_of(node):
        return f"its node {name} {lost}{_eviction(pod)}"
    if labels_of(node).get(SCHEDULABLE) == "false":
        return f"virt-handler of its node {name} does not answer: label {SCHEDULABLE} is false"
    return ""


def lost_of(node: KubernetesObject) -> str:
    """`does not answer: Ready is Unknown`: no pod starts or ends there; "" if the node responds."""
    ready = condition_of(node, "Ready") or {}
    if ready.get("status", "True") != "True":
        since = f" since {ready['lastTransitionTime']}" if ready.get("lastTransitionTime") else ""
        why = f" ({ready['reason']})" if ready.get("reason") else ""
        return f"does not answer: Ready is {ready['status']}{since}{why}"
    taints = {item.get("key") for item in at(node, "spec", "taints", default=())}
    return f"does not answer: taint {_UNREACHABLE}" if _UNREACHABLE in taints else ""


def _eviction(pod: KubernetesObject | None) -> str:
    """`; Kubernetes stops its pod after 300 s`, the time for which the pod tolerates the taint."""
    for item in at(pod, "spec", "tolerations", default=()):
        if item.get("key") == _UNREACHABLE and item.get("tolerationSeconds") is not None:
            return f"; Kubernetes stops its pod {item['tolerationSeconds']} s after that"
    return ""
