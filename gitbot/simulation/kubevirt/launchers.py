"""The launcher pods and migrations of a VMI, from the caller's cache."""

from __future__ import annotations

from gitbot.kubernetes.names import NamespacedName
from gitbot.kubernetes.objects import KubernetesObject, at, labels_of, name_of, uid_of
from gitbot.kubernetes.phases import is_final
from gitbot.kubevirt import names
from gitbot.kubevirt.launcher_pod import is_launcher
from gitbot.kubevirt.limits import is_running
from gitbot.simulation.kubevirt.reconcile_result import PODS_OF_VMI, UNFINISHED, VMI, ObjectView


def launcher_pods(view: ObjectView, vmi: KubernetesObject) -> list[KubernetesObject]:
    """All launcher pods of a VMI, including finished ones."""
    uid, namespace = uid_of(vmi), name_of(vmi).namespace
    pods = view.select(PODS_OF_VMI, uid) if uid else ()
    return [pod for pod in pods if name_of(pod).namespace == namespace and is_launcher(pod)]


def active_pods(view: ObjectView, vmi: KubernetesObject) -> list[KubernetesObject]:
    return [pod for pod in launcher_pods(view, vmi) if not is_final(pod)]


def current_pod(view: ObjectView, vmi: KubernetesObject) -> KubernetesObject | None:
    """The pod in which the guest runs: the newest on the VMI's node.

    Before the VMI has a node it is the newest of all.
    """
    node = at(vmi, "status", "nodeName", default="")
    pods = [
        pod
        for pod in launcher_pods(view, vmi)
        if not node or at(pod, "spec", "nodeName", default="") == node
    ]
    return max(pods, key=lambda pod: (created_at(pod), not is_final(pod)), default=None)


def created_at(obj: KubernetesObject) -> str:
    """The creation time as RFC 3339, which compares as text."""
    return str(at(obj, "metadata", "creationTimestamp", default=""))


def target_pods(
    view: ObjectView, migration: KubernetesObject, vmi: KubernetesObject
) -> list[KubernetesObject]:
    return [
        pod
        for pod in launcher_pods(view, vmi)
        if labels_of(pod).get(names.MIGRATION_UID) == uid_of(migration)
    ]


def vmi_of(view: ObjectView, migration: KubernetesObject) -> KubernetesObject | None:
    name = str(at(migration, "spec", "vmiName", default=""))
    return view.get(VMI, NamespacedName(namespace=name_of(migration).namespace, name=name))


def running_migrations(view: ObjectView) -> list[KubernetesObject]:
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


def outbound(view: ObjectView, node: str, running: list[KubernetesObject]) -> int:
    """How many of the running migrations leave a node."""
    count = 0
    for migration in running:
        vmi = vmi_of(view, migration)
        if vmi is not None:
            source = at(vmi, "status", "migrationState", "sourceNode", default="")
            count += node in (at(vmi, "status", "nodeName", default=""), source)
    return count
