"""The life of a VMI in virt-controller: its launcher pod, its phases up to Scheduled, its end.

Source: KubeVirt, pkg/virt-controller/watch/vmi/lifecycle.go. From Scheduled on the handlers
on the nodes take over (`boot`, `handler`).
"""

from __future__ import annotations

from typing import Any

from gitbot.kubernetes.objects import (
    KubernetesObject,
    annotations_of,
    at,
    condition_of,
    labels_of,
    name_of,
    uid_of,
    with_value,
    without,
)
from gitbot.kubernetes.phases import is_final, phase_of
from gitbot.kubevirt import names
from gitbot.kubevirt.launcher_pod import is_deleting, is_ready
from gitbot.kubevirt.memory_overhead import dedicated
from gitbot.kubevirt.target_pod import source_pod
from gitbot.simulation.kubevirt.launchers import current_pod, launcher_pods
from gitbot.simulation.kubevirt.pod_context import pod_context
from gitbot.simulation.kubevirt.reconcile_result import (
    Create,
    Delete,
    ObjectView,
    Reconciled,
    RecordEvent,
    Update,
    Write,
)
from gitbot.simulation.kubevirt.status_writes import with_condition, with_phase, without_condition

_LABELS_FOR_PODS = (names.NODE_NAME, names.OUTDATED_LAUNCHER)
_FINALIZERS = (names.VMI_FINALIZER, "foregroundDeleteVirtualMachine")


def reconcile_instance(view: ObjectView, vmi: KubernetesObject, now: int) -> Reconciled:
    """One pass over a VMI. Call again if it, its launcher pods or the KubeVirt object change."""
    pod = current_pod(view, vmi)
    writes: list[Write] = list(_pods_writes(view, vmi, pod, now))
    changed = _with_pods(view, _next(view, vmi, pod, now), pod, now)
    if _lacks_guarantee(changed, pod):
        text, reason = "failed to guarantee pod resources", "FailedGuaranteeResources"
        writes.append(RecordEvent(object=vmi, type="Warning", reason=reason, message=text))
    if changed != vmi:
        writes.append(Update(object=changed))
    if pod is not None and not is_deleting(pod):
        synced = _synced_pod(changed, pod)
        if synced != pod:
            writes.append(Update(object=synced))
    return Reconciled(writes=tuple(writes))


def _pods_writes(
    view: ObjectView, vmi: KubernetesObject, pod: KubernetesObject | None, now: int
) -> list[Write]:
    """Create the launcher pod if one is needed; delete it if the VMI ends."""
    if is_deleting(vmi) or is_final(vmi):
        return [
            write
            for item in launcher_pods(view, vmi)
            if not is_deleting(item)
            for write in _delete(vmi, item)
        ]
    if pod is not None or phase_of(vmi) not in ("", "Pending"):
        return []
    kubevirt = next(iter(view.list("KubeVirt")), {})
    context = pod_context(view, vmi)
    new = source_pod(
        vmi,
        kubevirt,
        context.namespace,
        quotas=context.quotas,
        claims=context.claims,
        classes=context.classes,
    )
    message = "Created virtual machine pod {name}"
    event = RecordEvent(object=vmi, type="Normal", reason="SuccessfulCreate", message=message)

    def refused(text: str) -> Reconciled:
        failed = f"Error creating pod: {text}"
        warning = RecordEvent(object=vmi, type="Warning", reason="FailedCreate", message=failed)
        waiting = Update(object=with_phase(vmi, "Pending", now))
        writes = (warning,) if phase_of(vmi) else (warning, waiting)
        return Reconciled(writes=writes, requeue_after=5, waits_for=failed)

    return [Create(object=new, event=event, refused=refused)]


def _delete(vmi: KubernetesObject, pod: KubernetesObject) -> tuple[Write, Write]:
    message = f"Deleted virtual machine pod {name_of(pod).name}"
    return (
        Delete(kind="Pod", name=name_of(pod), uid=uid_of(pod)),
        RecordEvent(object=vmi, type="Normal", reason="SuccessfulDelete", message=message),
    )


def _next(
    view: ObjectView, vmi: KubernetesObject, pod: KubernetesObject | None, now: int
) -> dict[str, Any]:
    match phase_of(vmi):
        case "" | "Pending":
            if pod is not None:
                return with_phase(vmi, "Scheduling", now)
            return with_phase(vmi, "Failed" if is_deleting(vmi) else "Pending", now)
        case "Scheduling":
            return _scheduling(vmi, pod, now)
        case "Scheduled" | "Running":
            ended = pod is not None and is_final(pod) and not is_deleting(vmi)
            gone = pod is None or (ended and not _being_left(vmi))
            return with_phase(vmi, "Failed", now) if gone else dict(vmi)
        case "Succeeded" | "Failed" if not launcher_pods(view, vmi) or _all_down(view, vmi):
            return _released(vmi)
        case _:
            return dict(vmi)


def _being_left(vmi: KubernetesObject) -> bool:
    """Whether the guest has just moved: its old pod may be the current one for a moment."""
    state = at(vmi, "status", "migrationState", default={})
    return bool(state.get("endTimestamp")) and not state.get("completed")


def _all_down(view: ObjectView, vmi: KubernetesObject) -> bool:
    return is_deleting(vmi) and all(is_final(pod) for pod in launcher_pods(view, vmi))


def _scheduling(vmi: KubernetesObject, pod: KubernetesObject | None, now: int) -> dict[str, Any]:
    if pod is None or is_final(pod) or is_deleting(pod):
        return with_phase(vmi, "Failed", now)
    waiting = condition_of(pod, "PodScheduled")
    if waiting is not None and waiting.get("status") == "False":
        return with_condition(
            vmi,
            "PodScheduled",
            "False",
            now,
            reason=waiting.get("reason", ""),
            message=waiting.get("message", ""),
        )
    changed = without_condition(vmi, "PodScheduled")
    if not is_ready(pod) or is_deleting(vmi) or _lacks_guarantee(changed, pod):
        return changed
    node = at(pod, "spec", "nodeName", default="")
    labels = {**labels_of(vmi), names.NODE_NAME: node}
    changed = with_value(with_phase(changed, "Scheduled", now), node, "status", "nodeName")
    changed = with_value(changed, "Unix", "status", "migrationTransport")
    return with_value(changed, labels, "metadata", "labels")


def _lacks_guarantee(vmi: KubernetesObject, pod: KubernetesObject | None) -> bool:
    """Whether a guest with dedicated CPUs waits in a running pod that cannot have any."""
    if phase_of(vmi) != "Scheduling" or pod is None or is_deleting(vmi) or not is_ready(pod):
        return False
    return dedicated(vmi) and at(pod, "status", "qosClass") != "Guaranteed"


def _released(vmi: KubernetesObject) -> dict[str, Any]:
    """Without the finalizer, because nothing of it is running."""
    finalizers = at(vmi, "metadata", "finalizers", default=[])
    kept = [text for text in finalizers if text not in _FINALIZERS]
    if kept == finalizers:
        return dict(vmi)
    return with_value(vmi, kept, "metadata", "finalizers")


def _with_pods(
    view: ObjectView, vmi: dict[str, Any], pod: KubernetesObject | None, now: int
) -> dict[str, Any]:
    """With the list of its pods, readiness, and the effect of an eviction's mark."""
    pods = launcher_pods(view, vmi)
    active = {uid_of(item): at(item, "spec", "nodeName", default="") for item in pods}
    if active != at(vmi, "status", "activePods", default={}):
        status = ("status", "activePods")
        vmi = with_value(vmi, active, *status) if active else without(vmi, *status)
    if at(vmi, "status", "evacuationNodeName"):
        text = "VMI is marked for eviction"
        vmi = with_condition(
            vmi, "EvictionRequested", "True", now, reason="EvictionRequested", message=text
        )
    else:
        vmi = without_condition(vmi, "EvictionRequested")
    return _with_readiness(vmi, pod, now)


def _with_readiness(vmi: dict[str, Any], pod: KubernetesObject | None, now: int) -> dict[str, Any]:
    if phase_of(vmi) in ("", "Pending") or (condition_of(vmi, "Ready") is None and pod is None):
        return vmi
    reason, message = "", ""
    if pod is None:
        reason, message = "PodNotExists", "virt-launcher pod has not yet been scheduled"
    elif is_deleting(pod):
        reason, message = "PodTerminating", "virt-launcher pod is terminating"
    elif phase_of(vmi) != "Running":
        reason, message = "GuestNotRunning", "Guest VM is not reported as running"
    status = "False" if reason else "True"
    return with_condition(vmi, "Ready", status, now, reason=reason, message=message)


def _synced_pod(vmi: KubernetesObject, pod: KubernetesObject) -> KubernetesObject:
    """The labels and annotations that follow the VMI while the pod runs."""
    labels = dict(labels_of(pod))
    for key in _LABELS_FOR_PODS:
        if key in labels_of(vmi):
            labels[key] = labels_of(vmi)[key]
        else:
            labels.pop(key, None)
    annotations = dict(annotations_of(pod))
    if at(vmi, "status", "evacuationNodeName"):
        annotations[names.EVICTION_IN_PROGRESS] = "true"
    else:
        annotations.pop(names.EVICTION_IN_PROGRESS, None)
    if labels != dict(labels_of(pod)):
        pod = with_value(pod, labels, "metadata", "labels")
    if annotations != dict(annotations_of(pod)):
        pod = with_value(pod, annotations, "metadata", "annotations")
    return pod
