"""Questions about launcher pods.

Source: KubeVirt 1.9.0, pkg/controller/controller.go.
"""

from __future__ import annotations

from gitbot.kubevirt import names
from gitbot.kubevirt.limits import is_final, is_running, phase_of
from gitbot.kubevirt.reconcile import PODS_OF_VMI, UNFINISHED, VMI, View
from gitbot.model.names import NamespacedName
from gitbot.model.objects import KubernetesObject, at, labels_of, name_of, uid_of


def is_down(pod: KubernetesObject) -> bool:
    """Whether a pod has ended."""
    return phase_of(pod) in ("Succeeded", "Failed")


def is_deleting(obj: KubernetesObject) -> bool:
    """Whether somebody has deleted the object."""
    return at(obj, "metadata", "deletionTimestamp") is not None


def is_ready(pod: KubernetesObject) -> bool:
    """Whether a launcher pod runs: compute started, the other containers ready."""
    if phase_of(pod) != "Running" or is_deleting(pod):
        return False
    for status in at(pod, "status", "containerStatuses", default=[]):
        if status.get("name") in ("compute", "istio-proxy"):
            if at(status, "state", "running") is None:
                return False
        elif not status.get("ready"):
            return False
    return True


def is_unschedulable(pod: KubernetesObject) -> bool:
    """Whether the scheduler has said that a waiting pod fits nowhere."""
    if phase_of(pod) != "Pending" or is_deleting(pod):
        return False
    return any(
        condition.get("type") == "PodScheduled"
        and condition.get("status") == "False"
        and condition.get("reason") == "Unschedulable"
        for condition in at(pod, "status", "conditions", default=[])
    )


def is_launcher(pod: KubernetesObject) -> bool:
    """Whether a pod is a launcher, not the holder of a hotplugged volume."""
    return labels_of(pod).get(names.APP) == "virt-launcher"


def launcher_pods(view: View, vmi: KubernetesObject) -> list[KubernetesObject]:
    """All launcher pods of a VMI, ended ones too."""
    uid, namespace = uid_of(vmi), name_of(vmi).namespace
    pods = view.select(PODS_OF_VMI, uid) if uid else ()
    return [pod for pod in pods if name_of(pod).namespace == namespace and is_launcher(pod)]


def active_pods(view: View, vmi: KubernetesObject) -> list[KubernetesObject]:
    """The launcher pods of a VMI that have not ended."""
    return [pod for pod in launcher_pods(view, vmi) if not is_down(pod)]


def current_pod(view: View, vmi: KubernetesObject) -> KubernetesObject | None:
    """The pod in which the guest runs: the newest on the VMI's node.

    Before the VMI has a node it is the newest of all.
    """
    node = at(vmi, "status", "nodeName", default="")
    pods = [
        pod
        for pod in launcher_pods(view, vmi)
        if not node or at(pod, "spec", "nodeName", default="") == node
    ]
    return max(pods, key=lambda pod: (created_at(pod), not is_down(pod)), default=None)


def created_at(obj: KubernetesObject) -> str:
    """When it was created, RFC 3339: comparable as text."""
    return str(at(obj, "metadata", "creationTimestamp", default=""))


def target_pods(
    view: View, migration: KubernetesObject, vmi: KubernetesObject
) -> list[KubernetesObject]:
    """The pods that were made for this migration."""
    return [
        pod
        for pod in launcher_pods(view, vmi)
        if labels_of(pod).get(names.MIGRATION_UID) == uid_of(migration)
    ]


def vmi_of(view: View, migration: KubernetesObject) -> KubernetesObject | None:
    """The VMI that a migration is about."""
    name = str(at(migration, "spec", "vmiName", default=""))
    return view.get(VMI, NamespacedName(namespace=name_of(migration).namespace, name=name))


def running_migrations(view: View) -> list[KubernetesObject]:
    """The unfinished migrations that hold a slot: by phase, or because a target pod exists."""
    found = []
    for migration in view.select(UNFINISHED, "unfinished"):
        if is_running(migration):
            found.append(migration)
        elif not is_final(migration):
            vmi = vmi_of(view, migration)
            if vmi is not None and target_pods(view, migration, vmi):
                found.append(migration)
    return found


def outbound(view: View, node: str, running: list[KubernetesObject]) -> int:
    """How many of the running migrations lead out of a node."""
    count = 0
    for migration in running:
        vmi = vmi_of(view, migration)
        if vmi is not None:
            source = at(vmi, "status", "migrationState", "sourceNode", default="")
            count += node in (at(vmi, "status", "nodeName", default=""), source)
    return count
