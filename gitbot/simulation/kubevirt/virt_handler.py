"""A simulated virt-handler: the writes of the agents on the nodes during a migration.

The order of the writes is that of KubeVirt (pkg/virt-handler, migration-source.go and
migration-target.go); the caller decides how long each takes, and whether it fails. Kubelet's part,
the end of the pod that was left behind, is here too.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from gitbot.kubernetes.names import NamespacedName
from gitbot.kubernetes.objects import (
    Json,
    KubernetesObject,
    annotations_of,
    at,
    labels_of,
    name_of,
    uid_of,
    with_value,
    without,
)
from gitbot.kubernetes.phases import is_final, phase_of
from gitbot.kubevirt import names
from gitbot.kubevirt.launcher_pod import is_deleting
from gitbot.model.text.instants import format_instant, parse_instant
from gitbot.simulation.kubevirt.reconcile_result import (
    MIGRATIONS_OF_VMI,
    NOTHING,
    ObjectView,
    Reconciled,
    Update,
)
from gitbot.simulation.kubevirt.status_writes import since, with_condition


class Hang(StrEnum):
    """Where a handler stops answering; the caller decides for how long."""

    NEVER = ""
    PREPARE = "prepare"
    COPY = "copy"


@dataclass(frozen=True, slots=True, kw_only=True)
class HandlerTimes:
    """How long the steps of one migration take, in seconds, and how it ends.

    `prepare`: hand-off to target address; `start`: from there to the copy; `copy`: the copy;
    `settle`: switch-over to completed; `leave`: end to the source pod's end (the failed target
    pod's, the label's). `fails` is the reason with which the copy fails at its end.
    """

    prepare: int = 1
    start: int = 1
    copy: int = 10
    settle: int = 0
    leave: int = 1
    fails: str = ""
    hangs: Hang = Hang.NEVER


def reconcile_handler(
    view: ObjectView, vmi: KubernetesObject, now: int, times: HandlerTimes
) -> Reconciled:
    """One step of the handlers of a VMI's source and target node.

    Call again if the VMI, its migration or its launcher pods change, and after `requeue_after`.
    """
    state: Json | None = at(vmi, "status", "migrationState")
    if state is None or is_deleting(vmi) or is_final(vmi):
        return NOTHING
    if state.get("completed"):
        return _leave(view, vmi, state, now, times)
    migration = _migration_of(view, vmi, state)
    if migration is None:
        return NOTHING
    if not state.get("targetNodeAddress"):
        return _prepare(vmi, migration, now, times)
    if not state.get("startTimestamp"):
        return _start(vmi, migration, now, times)
    if not state.get("endTimestamp"):
        return _copy(vmi, state, now, times)
    return _settle(vmi, state, now, times)


def _migration_of(view: ObjectView, vmi: KubernetesObject, state: Json) -> KubernetesObject | None:
    for migration in view.select(MIGRATIONS_OF_VMI, str(name_of(vmi))):
        if uid_of(migration) == state.get("migrationUid") and not is_final(migration):
            return migration
    return None


def _prepare(
    vmi: KubernetesObject, migration: KubernetesObject, now: int, times: HandlerTimes
) -> Reconciled:
    if times.hangs is Hang.PREPARE:
        return Reconciled(waits_for="the target's handler, which is silent")
    if phase_of(migration) != "PreparingTarget":
        return NOTHING
    left = since(migration, "PreparingTarget", now) + times.prepare - now
    if left > 0:
        return Reconciled(requeue_after=left)
    changed = with_value(vmi, "192.0.2.10", "status", "migrationState", "targetNodeAddress")
    return Reconciled(writes=(Update(object=changed),))


def _start(
    vmi: KubernetesObject, migration: KubernetesObject, now: int, times: HandlerTimes
) -> Reconciled:
    if phase_of(migration) != "TargetReady":
        return NOTHING
    left = since(migration, "TargetReady", now) + times.start - now
    if left > 0:
        return Reconciled(requeue_after=left)
    started = {"startTimestamp": format_instant(now), "mode": "PreCopy"}
    return Reconciled(writes=(Update(object=_with_state(vmi, started)),))


def _with_state(vmi: KubernetesObject, changes: Json) -> dict[str, Any]:
    state = {**at(vmi, "status", "migrationState", default={}), **changes}
    return with_value(vmi, state, "status", "migrationState")


def _copy(vmi: KubernetesObject, state: Json, now: int, times: HandlerTimes) -> Reconciled:
    started = parse_instant(state["startTimestamp"])
    if state.get("abortRequested"):
        return Reconciled(writes=(Update(object=_aborted(vmi, now)),))
    if times.hangs is Hang.COPY:
        return Reconciled(waits_for="the copy, which never ends")
    left = started + times.copy - now
    if left > 0:
        return Reconciled(requeue_after=left, waits_for="the copy")
    if times.fails:
        return Reconciled(writes=(Update(object=_failed(vmi, now, times.fails)),))
    if not state.get("targetNodeDomainDetected"):
        changed = _with_state(vmi, {"targetNodeDomainDetected": True})
        return Reconciled(writes=(Update(object=changed),))
    return Reconciled(writes=(Update(object=_switched(vmi, state, now)),))


def _aborted(vmi: KubernetesObject, now: int) -> dict[str, Any]:
    failed = _failed(vmi, now, "Live migration aborted")
    return _with_state(failed, {"abortStatus": "Succeeded"})


def _failed(vmi: KubernetesObject, now: int, reason: str) -> dict[str, Any]:
    ended = {"completed": True, "failed": True, "failureReason": reason}
    return _with_state(vmi, {**ended, "endTimestamp": format_instant(now)})


def _switched(vmi: KubernetesObject, state: Json, now: int) -> dict[str, Any]:
    """The guest now runs on the target: node, marks of an eviction, outdated image."""
    node = state["targetNode"]
    instant = format_instant(now)
    ended = {"endTimestamp": instant, "targetNodeDomainReadyTimestamp": instant}
    changed = with_value(_with_state(vmi, ended), node, "status", "nodeName")
    changed = without(changed, "status", "evacuationNodeName")
    labels = {key: value for key, value in labels_of(vmi).items() if key != names.OUTDATED_LAUNCHER}
    changed = with_value(changed, {**labels, names.NODE_NAME: node}, "metadata", "labels")
    annotations = dict(annotations_of(vmi))
    if annotations.pop(names.EVICTION_SOURCE, None) is not None:
        changed = with_value(changed, annotations, "metadata", "annotations")
    if state.get("targetMemoryOverhead"):
        overhead = state["targetMemoryOverhead"]
        changed = with_value(changed, overhead, "status", "memory", "memoryOverhead")
    return changed


def _settle(vmi: KubernetesObject, state: Json, now: int, times: HandlerTimes) -> Reconciled:
    left = parse_instant(state["endTimestamp"]) + times.settle - now
    if left > 0:
        return Reconciled(requeue_after=left)
    return Reconciled(writes=(Update(object=_with_state(vmi, {"completed": True})),))


def _leave(
    view: ObjectView, vmi: KubernetesObject, state: Json, now: int, times: HandlerTimes
) -> Reconciled:
    """After the end: remove the label and the pod that the guest has left."""
    ended = parse_instant(state["endTimestamp"]) if state.get("endTimestamp") else now
    side = "targetPod" if state.get("failed") else "sourcePod"
    name = NamespacedName(namespace=name_of(vmi).namespace, name=state.get(side, ""))
    pod = view.get("Pod", name) if name.name else None
    lingers = pod is not None and not is_final(pod) and not is_deleting(pod)
    labelled = names.TARGET_NODE_NAME in labels_of(vmi)
    if not lingers and not labelled:
        return NOTHING
    left = ended + times.leave - now
    if left > 0:
        return Reconciled(requeue_after=left)
    if labelled and _migration_of(view, vmi, state) is None:
        label = ("metadata", "labels", names.TARGET_NODE_NAME)
        return Reconciled(writes=(Update(object=without(vmi, *label)),), requeue_after=1)
    if lingers and pod is not None:
        phase = "Failed" if state.get("failed") else "Succeeded"
        ended_pod = with_condition(
            with_value(pod, phase, "status", "phase"), "Ready", "False", now, reason="PodCompleted"
        )
        return Reconciled(writes=(Update(object=ended_pod, subresource="status"),))
    return NOTHING
