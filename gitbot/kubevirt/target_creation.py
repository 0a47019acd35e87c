"""The creation of a target pod, and what happens where that is refused.

Source: KubeVirt 1.9.0, migration.go, createTargetPod and processMigrationPhase.
"""

from __future__ import annotations

from gitbot.kubevirt.configuration import gate, setting
from gitbot.kubevirt.containers import container_disks
from gitbot.kubevirt.edits import with_condition, with_value
from gitbot.kubevirt.migration_scene import Scene
from gitbot.kubevirt.pod_context import pod_context
from gitbot.kubevirt.pods import current_pod
from gitbot.kubevirt.reconcile import Create, Reconciled, RecordEvent, Update
from gitbot.kubevirt.target_pod import target_pod
from gitbot.model.names import NamespacedName
from gitbot.model.objects import KubernetesObject, at, condition_of, name_of

QUOTA_CONDITION = "migrationRejectedByResourceQuota"
_RETRY = 5  # seconds; virt-controller doubles its delay from milliseconds up to 1000 s


def why_no_target(
    vmi: KubernetesObject,
    kubevirt: KubernetesObject,
    source_node: KubernetesObject | None,
    source_pod: KubernetesObject | None = None,
) -> str:
    """Why virt-controller cannot even ask for a target pod, "" where it can.

    It says so in its own log alone; the migration stays Pending for good.
    """
    if not gate(kubevirt, "ImageVolume") and container_disks(vmi) and source_pod is not None:
        missing = _without_digest(vmi, source_pod)
        if missing:
            return f"no image digest of container disk {missing} in the source pod's status"
    if source_node is None:
        node, name = at(vmi, "status", "nodeName", default=""), name_of(vmi).name
        return f'node "{node}" associated with vmi "{name}" does not exist'
    matches = setting(kubevirt, "migrations", "matchSELinuxLevelOnMigration")
    if matches is not False and not at(vmi, "status", "selinuxContext"):
        return "SELinux context not set on VMI status"
    return ""


def _without_digest(vmi: KubernetesObject, source_pod: KubernetesObject) -> str:
    statuses = at(source_pod, "status", "containerStatuses")
    if statuses is None:
        return ""
    if not any("imageID" in status for status in statuses):
        return ""  # a snapshot does not keep it: nothing can be said
    images = {status.get("name"): str(status.get("imageID", "")) for status in statuses}
    for disk in container_disks(vmi):
        if "@sha256:" not in images.get(f"volume{disk}", ""):
            return disk
    return ""


def create_target(scene: Scene, vmi: KubernetesObject) -> Reconciled:
    """Ask for the target pod, or say why that is not possible."""
    view, kubevirt = scene.view, scene.kubevirt()
    node = NamespacedName(namespace="", name=str(at(vmi, "status", "nodeName", default="")))
    source_node, source_pod = view.get("Node", node), current_pod(view, vmi)
    reason = why_no_target(vmi, kubevirt, source_node, source_pod)
    if reason:
        return Reconciled(requeue_after=_RETRY, waits_for=reason)
    context = pod_context(view, vmi)
    pod = target_pod(
        vmi=vmi,
        source_pod=source_pod,
        migration=scene.migration,
        kubevirt=kubevirt,
        source_node=source_node,
        namespace_object=context.namespace,
        quotas=context.quotas,
        claims=context.claims,
        classes=context.classes,
    )
    event = RecordEvent(
        object=scene.migration,
        type="Normal",
        reason="SuccessfulCreate",
        message="Created migration target pod {name}",
    )
    create = Create(object=pod, event=event, refused=lambda message: _refused(scene, message))
    return Reconciled(writes=(create,))


def _refused(scene: Scene, message: str) -> Reconciled:
    """An Event on the VMI; where a quota refused, a condition on the migration too."""
    text = f"Error creating pod: {message}"
    if "violates PodSecurity" in message:
        text = (
            "failed to render launch manifest: failed to create target pod for vmi "
            f"{scene.text}, it needs a privileged namespace to run: {message}"
        )
    event = RecordEvent(object=scene.vmi, type="Warning", reason="FailedCreate", message=text)
    if "exceeded quota" not in message or condition_of(scene.migration, QUOTA_CONDITION):
        return Reconciled(writes=(event,), requeue_after=_RETRY, waits_for=text)
    held = with_condition(scene.migration, QUOTA_CONDITION, "True", scene.now)
    state = at(held, "status", "migrationState")
    if state is None:
        pod = current_pod(scene.view, scene.vmi)
        if pod is not None:
            path = ("status", "migrationState", "sourcePod")
            held = with_value(held, name_of(pod).name, *path)
    update = Update(object=held, subresource="status")
    return Reconciled(writes=(event, update), requeue_after=_RETRY, waits_for=text)
