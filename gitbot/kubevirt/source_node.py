"""Whether a node can take part in a migration: whether its kubelet and virt-handler respond.

Without them the VMIM is created, waits for the node and fails. Kubernetes marks a node whose
kubelet is silent with condition Ready and a taint; virt-controller sets the label
kubevirt.io/schedulable to false if the heartbeat of its virt-handler is older than five minutes
(KubeVirt, pkg/virt-controller/watch/node/node.go). virt-handler itself does so when it stops, and
when it starts until its device plugins are ready, with every heartbeat while one of them is not
(pkg/virt-handler/heartbeat/heartbeat.go).
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
from gitbot.kubevirt.launcher_pod import is_deleting
from gitbot.kubevirt.names import HEARTBEAT, SCHEDULABLE
from gitbot.model.text.instants import format_instant, parse_instant

_UNREACHABLE = "node.kubernetes.io/unreachable"
_TAINTS = {"Unknown": _UNREACHABLE, "False": "node.kubernetes.io/not-ready"}
"""What the node lifecycle controller taints a node with, by the status of its condition Ready."""
NOT_ANSWERING = frozenset(_TAINTS.values())


_PATIENCE = 300  # seconds, pkg/virt-controller/watch/node/node.go
_DAEMON_SET = ("DaemonSet", "virt-handler")

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


def is_handler(pod: KubernetesObject) -> bool:
    """Whether it is a virt-handler that stays; one that ends sets the label to false as well."""
    owners = at(pod, "metadata", "ownerReferences", default=())
    mine = any((item.get("kind"), item.get("name")) == _DAEMON_SET for item in owners)
    return mine and not is_deleting(pod)


def handler_is_lost_at(node: KubernetesObject, handler: KubernetesObject | None = None) -> int:
    """When a virt-handler that offers no VMs a place is given up (seconds UTC); 0 if not known.

    Until then it may only be restarting. KubeVirt gives up one whose heartbeat is old. One that
    beats on waits for its device plugins, for which seconds are enough, or no time is.
    """
    beaten = _heartbeat_of(node) if labels_of(node).get(SCHEDULABLE) == "false" else 0
    return min(beaten, _ready_since(handler) or beaten) + _PATIENCE if beaten else 0


def devices_missing(
    node: KubernetesObject, handler: KubernetesObject | None, now: int
) -> tuple[str, str]:
    """That a virt-handler answers and its device plugins do not get ready; what a person does."""
    since, beaten = _ready_since(handler), _heartbeat_of(node)
    late = handler_is_lost_at(node, handler) <= now < beaten + _PATIENCE
    if handler is None or not since or not late:
        return "", ""
    pod = name_of(handler)
    reason = (
        f"virt-handler of its node {name_of(node).name} answers, but its device plugins are not "
        f"ready (it runs since {format_instant(since)}): label {SCHEDULABLE} is false"
    )
    hint = (
        f"kubectl logs -n {pod.namespace} {pod.name} says which device does not register with the "
        "kubelet: mend it, then delete that pod; no VM leaves the node live before"
    )
    return reason, hint


def _ready_since(handler: KubernetesObject | None) -> int:
    ready = condition_of(handler or {}, "Ready") or {}
    try:
        since = parse_instant(str(ready.get("lastTransitionTime", "")))
    except ValueError:  # a dump may have anything there
        return 0
    return since if ready.get("status") == "True" else 0


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
