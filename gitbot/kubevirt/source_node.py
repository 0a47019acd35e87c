"""Whether a node can take part in a migration: whether its kubelet and virt-handler respond.

Without them the VMIM is created, waits for the node and fails. Kubernetes marks a node whose
kubelet is silent with condition Ready and a taint; virt-controller sets the label
kubevirt.io/schedulable to false if the heartbeat of its virt-handler is older than five minutes
(KubeVirt, pkg/virt-controller/watch/node/node.go). virt-handler itself does so when it stops, and
when it starts until its device plugins are ready (pkg/virt-handler/heartbeat/heartbeat.go).
"""

from __future__ import annotations

from gitbot.kubernetes.objects import (
    KubernetesObject,
    annotations_of,
    at,
    condition_of,
    labels_of,
    name_of,
)
from gitbot.kubevirt.names import HEARTBEAT, SCHEDULABLE
from gitbot.model.text.instants import format_instant, parse_instant

_UNREACHABLE = "node.kubernetes.io/unreachable"
_TAINTS = {"Unknown": _UNREACHABLE, "False": "node.kubernetes.io/not-ready"}
"""What the node lifecycle controller taints a node with, by the status of its condition Ready."""


_PATIENCE = 300  # seconds, pkg/virt-controller/watch/node/node.go

POD_GOES = (
    "Kubernetes has deleted it, and then its node answers, is removed, or has taint "
    "node.kubernetes.io/out-of-service"
)
"""When the pod of a silent node is gone, so that KubeVirt may start its VM elsewhere."""


def silence_of(node: KubernetesObject, pod: KubernetesObject | None = None) -> str:
    """Why no VM can leave the node live, and when Kubernetes deletes its `pod`; "" if it can.

    A node that reports neither condition nor label counts as responding.
    """
    name = name_of(node).name
    if lost := lost_of(node):
        ends = deletion_of(node, pod)
        then = f"; Kubernetes deletes its pod at {format_instant(ends)}" if ends else ""
        return f"its node {name} {lost}{then}"
    if labels_of(node).get(SCHEDULABLE) == "false":
        beaten = _heartbeat_of(node)
        since = f" since {format_instant(beaten)}" if beaten else ""
        return (
            f"virt-handler of its node {name} does not answer{since}: label {SCHEDULABLE} is false"
        )
    return ""


def handler_is_lost_at(node: KubernetesObject) -> int:
    """When KubeVirt gives up a silent virt-handler (seconds UTC); 0 if that is not known.

    Until then it may only be restarting.
    """
    beaten = _heartbeat_of(node) if labels_of(node).get(SCHEDULABLE) == "false" else 0
    return beaten + _PATIENCE if beaten else 0


def _heartbeat_of(node: KubernetesObject) -> int:
    try:
        return parse_instant(str(annotations_of(node).get(HEARTBEAT, "")))
    except ValueError:  # a dump may have anything there
        return 0


def lost_of(node: KubernetesObject) -> str:
    """`does not answer: Ready is Unknown`: no pod starts or ends there; "" if the node responds."""
    ready = condition_of(node, "Ready") or {}
    if ready.get("status", "True") != "True":
        since = f" since {ready['lastTransitionTime']}" if ready.get("lastTransitionTime") else ""
        why = f" ({ready['reason']})" if ready.get("reason") else ""
        return f"does not answer: Ready is {ready['status']}{since}{why}"
    taints = {item.get("key") for item in at(node, "spec", "taints", default=())}
    return f"does not answer: taint {_UNREACHABLE}" if _UNREACHABLE in taints else ""


def deletion_of(node: KubernetesObject, pod: KubernetesObject | None) -> int:
    """When Kubernetes deletes a pod of a silent node (seconds UTC); 0 if never, or if not known.

    The node lifecycle controller taints the node with NoExecute when condition Ready changes. The
    first toleration that matches says for how many seconds the pod stays, without limit if it has
    none. Without one that matches it is deleted at once (kubernetes, pkg/controller/tainteviction).
    """
    ready = condition_of(node, "Ready") or {}
    key = _TAINTS.get(str(ready.get("status")))
    if pod is None or key is None:
        return 0
    tolerated = (
        item.get("tolerationSeconds")
        for item in at(pod, "spec", "tolerations", default=())
        if item.get("key") in (key, None, "") and item.get("effect") in ("NoExecute", None, "")
    )
    seconds = next(tolerated, 0)
    try:
        since = parse_instant(str(ready.get("lastTransitionTime", "")))
        return 0 if seconds is None else since + max(0, int(seconds))
    except (TypeError, ValueError):  # a dump may have anything there
        return 0
