"""The creation of a target pod, and the steps after a refusal.

Source: KubeVirt, migration.go, createTargetPod and processMigrationPhase.
"""

from __future__ import annotations

from gitbot.kubernetes.names import NamespacedName
from gitbot.kubernetes.objects import KubernetesObject, at, condition_of, name_of, with_value
from gitbot.kubevirt.target_pod import target_pod, why_no_target
from gitbot.simulation.kubevirt.launchers import current_pod
from gitbot.simulation.kubevirt.migration_scene import MigrationScene
from gitbot.simulation.kubevirt.pod_context import pod_context
from gitbot.simulation.kubevirt.reconcile_result import Create, Reconciled, RecordEvent, Update
from gitbot.simulation.kubevirt.status_writes import with_condition

QUOTA_CONDITION = "migrationRejectedByResourceQuota"
_RETRY = 5  # seconds; virt-controller doubles its delay from milliseconds up to 1000 s


def create_target(scene: MigrationScene, vmi: KubernetesObject) -> Reconciled:
    """Create the target pod, or report why that is not possible."""
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


def _refused(scene: MigrationScene, message: str) -> Reconciled:
    """An Event on the VMI; if a quota refused, a condition on the migration too."""
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
