"""The effects of one pass over a migration on pods and the VMI.

Source: KubeVirt, migration.go, `sync` and the functions it calls.
"""

from __future__ import annotations

from gitbot.kubernetes.objects import (
    KubernetesObject,
    annotations_of,
    at,
    name_of,
    uid_of,
    with_value,
    without,
)
from gitbot.kubernetes.phases import is_final, phase_of
from gitbot.kubevirt import names
from gitbot.kubevirt.kubevirt_object import gate
from gitbot.kubevirt.launcher_pod import hotplugged_volumes, is_deleting, is_ready
from gitbot.kubevirt.limits import (
    is_running,
    limits_of,
    pending_timeout,
    requeue_delay,
    unschedulable_timeout,
)
from gitbot.model.text.instants import format_instant, parse_instant
from gitbot.simulation.kubevirt.attachment_pod import attachment_pod, attachment_pods
from gitbot.simulation.kubevirt.backoff import backoff_left
from gitbot.simulation.kubevirt.hand_off import handed_off
from gitbot.simulation.kubevirt.host_model_alert import no_suitable_node
from gitbot.simulation.kubevirt.launchers import (
    active_pods,
    created_at,
    current_pod,
    outbound,
    running_migrations,
)
from gitbot.simulation.kubevirt.migration_blockers import utility_volumes_left
from gitbot.simulation.kubevirt.migration_scene import MigrationScene
from gitbot.simulation.kubevirt.reconcile_result import (
    NOTHING,
    UNFINISHED,
    Create,
    Delete,
    Reconciled,
    RecordEvent,
    Update,
    Write,
)
from gitbot.simulation.kubevirt.target_creation import create_target

_RETRY = 1  # seconds; virt-controller retries an error at once, then ever more slowly
NON_ROOT = 107


def act(scene: MigrationScene) -> Reconciled:
    """The writes on pods and VMI in the present phase."""
    if is_deleting(scene.vmi) or at(scene.own_state, "completed"):
        return NOTHING
    if is_final(scene.migration):
        return _mark_failed(scene) if phase_of(scene.migration) == "Failed" else NOTHING
    if scene.other_owner():
        return Reconciled(requeue_after=_RETRY, waits_for="another migration of this VMI runs")
    match phase_of(scene.migration):
        case "Pending":
            return _pending(scene)
        case "Scheduling":
            return _cancel(scene) if scene.canceled else _watch_target(scene)
        case "Scheduled":
            return _scheduled(scene)
        case "PreparingTarget" | "TargetReady":
            return _preparing(scene)
        case "Running":
            return _running(scene)
        case _:
            return NOTHING


def _pending(scene: MigrationScene) -> Reconciled:
    if scene.canceled:
        return _cancel(scene)
    left = backoff_left(scene.view, scene.migration, scene.vmi, scene.now)
    if left > 0:
        message = f"backoff migrating vmi {scene.text}"
        event = RecordEvent(
            object=scene.vmi, type="Warning", reason="MigrationBackoff", message=message
        )
        return Reconciled(writes=(event,), requeue_after=left, waits_for=message)
    if at(scene.vmi, "spec", "utilityVolumes"):
        left = max(1, utility_volumes_left(scene))
        return Reconciled(requeue_after=left, waits_for="utility volumes")
    if scene.target is None:
        return _start(scene)
    if not is_ready(scene.target):
        return _watch_target(scene)
    return _attach(scene, scene.target) if hotplugged_volumes(scene.vmi) else NOTHING


def _attach(scene: MigrationScene, target: KubernetesObject) -> Reconciled:
    """Attach hotplugged volumes to the target's node, with a pod of their own."""
    waits = "the attachment pod of hotplugged volumes"
    if attachment_pods(scene.view, target):
        return Reconciled(requeue_after=_RETRY, waits_for=waits)
    event = RecordEvent(
        object=scene.migration,
        type="Normal",
        reason="SuccessfulCreate",
        message="Created attachment pod {name}",
    )
    pod = attachment_pod(target, scene.vmi, scene.migration, scene.kubevirt())
    create = Create(object=pod, event=event)
    return Reconciled(writes=(create,), requeue_after=_RETRY, waits_for=waits)


def _start(scene: MigrationScene) -> Reconciled:
    """Create the target pod if a slot is free."""
    if current_pod(scene.view, scene.vmi) is None:
        return Reconciled(waits_for="a pod of the VMI")
    writes: list[Write] = []
    vmi = _runtime_user(scene)
    if vmi is not scene.vmi:
        writes.append(Update(object=vmi))
    if len(active_pods(scene.view, scene.vmi)) > 1:
        waits = f"more than one active pod of {scene.text}"
        return Reconciled(writes=tuple(writes), requeue_after=1, waits_for=waits)
    full = _no_slot(scene)
    if full:
        delay = requeue_delay(scene.migration)
        return Reconciled(writes=tuple(writes), requeue_after=delay, waits_for=full)
    if phase_of(scene.vmi) != "Running":
        return Reconciled(writes=tuple(writes), waits_for="the VMI to run")
    created = create_target(scene, vmi)
    return Reconciled(
        writes=(*writes, *created.writes),
        requeue_after=created.requeue_after,
        waits_for=created.waits_for,
    )


def _no_slot(scene: MigrationScene) -> str:
    parallel, per_source = limits_of(scene.kubevirt())
    unfinished = scene.view.select(UNFINISHED, "unfinished")
    running = [item for item in unfinished if is_running(item)]
    if len(running) < parallel:  # only then look for the pods of waiting ones
        running = running_migrations(scene.view)
    if len(running) >= parallel:
        return f"a slot: {len(running)} of {parallel} migrations run in the cluster"
    node = str(at(scene.vmi, "status", "nodeName", default=""))
    leaving = outbound(scene.view, node, running)
    if leaving >= per_source:
        return f"a slot: {leaving} of {per_source} migrations run out of node {node}"
    return ""


def _runtime_user(scene: MigrationScene) -> KubernetesObject:
    """A migration switches the guest to the user that the cluster uses: 107, or root."""
    vmi = scene.vmi
    if gate(scene.kubevirt(), "Root"):
        if at(vmi, "status", "runtimeUser", default=0):
            vmi = with_value(vmi, 0, "status", "runtimeUser")
        return without(vmi, "metadata", "annotations", names.NONROOT)
    if at(vmi, "status", "runtimeUser") != NON_ROOT:
        vmi = with_value(vmi, NON_ROOT, "status", "runtimeUser")
    if names.NONROOT not in annotations_of(vmi):
        annotations = {**annotations_of(vmi), names.NONROOT: "true"}
        vmi = with_value(vmi, annotations, "metadata", "annotations")
    return vmi


def _cancel(scene: MigrationScene) -> Reconciled:
    """Before hand-off a cancelled migration loses its target pod."""
    if scene.target is None:
        return NOTHING
    return _delete_target(scene, f"migration canceled and pod {name_of(scene.target)} is deleted")


def _delete_target(scene: MigrationScene, message: str) -> Reconciled:
    assert scene.target is not None
    event = RecordEvent(
        object=scene.migration, type="Normal", reason="SuccessfulDelete", message=message
    )
    if is_deleting(scene.target):
        return NOTHING
    pod = Delete(kind="Pod", name=name_of(scene.target), uid=uid_of(scene.target))
    return Reconciled(writes=(pod, event))


def _watch_target(scene: MigrationScene) -> Reconciled:
    """Give up a waiting target pod at its timeout; until then look again."""
    pod = scene.target
    if pod is None or phase_of(pod) != "Pending" or is_deleting(pod) or not created_at(pod):
        return NOTHING
    spent = max(0, scene.now - parse_instant(created_at(pod)))
    writes: tuple[Write, ...] = ()
    waits = []
    if _is_unschedulable(pod):
        writes = (*no_suitable_node(scene), _unschedulable(scene))
        left = unschedulable_timeout(scene.migration) - spent
        if left <= 0:
            message = f"unschedulable pod {name_of(pod)} timeout period exceeded"
            return _joined(writes, _delete_target(scene, message))
        waits.append(left)
    left = pending_timeout(scene.migration) - spent
    if left <= 0:
        message = f"pending pod {name_of(pod)} timeout period exceeded"
        return _joined(writes, _delete_target(scene, message))
    waits.append(left)
    return Reconciled(writes=writes, requeue_after=min(waits), waits_for="the target pod to start")


def _joined(writes: tuple[Write, ...], more: Reconciled) -> Reconciled:
    return Reconciled(writes=(*writes, *more.writes))


def _unschedulable(scene: MigrationScene) -> RecordEvent:
    return RecordEvent(
        object=scene.migration,
        type="Warning",
        reason="migrationTargetPodUnschedulable",
        message=f"Migration target pod for VMI [{scene.text}] is currently unschedulable.",
    )


def _scheduled(scene: MigrationScene) -> Reconciled:
    if scene.canceled and scene.own_state is None:
        return _cancel(scene)
    if scene.target is None or not is_ready(scene.target) or scene.own_state is not None:
        return NOTHING
    event = RecordEvent(
        object=scene.migration,
        type="Normal",
        reason="SuccessfulHandOver",
        message="Migration target pod is ready for preparation by virt-handler.",
    )
    return Reconciled(writes=(Update(object=handed_off(scene)), event))


def _preparing(scene: MigrationScene) -> Reconciled:
    state = scene.own_state
    down = scene.target is None or is_final(scene.target)
    started = any(at(state, key) for key in ("startTimestamp", "failed", "completed"))
    return _mark_failed(scene) if down and state is not None and not started else NOTHING


def _mark_failed(scene: MigrationScene) -> Reconciled:
    """Mark the end of a migration on its VMI, if no handler will."""
    state = scene.own_state
    if state is None or state.get("failed"):
        return NOTHING
    now = format_instant(scene.now)
    failed = {
        "endTimestamp": now,
        "startTimestamp": now,
        "failureReason": "Target pod is down",
        **{key: value for key, value in state.items() if value is not None},
        "failed": True,
        "completed": True,
    }
    message = f"VirtualMachineInstance migration uid {scene.uid} failed. reason: Target pod is down"
    event = RecordEvent(object=scene.vmi, type="Warning", reason="FailedMigration", message=message)
    vmi = with_value(scene.vmi, failed, "status", "migrationState")
    return Reconciled(writes=(Update(object=vmi), event))


def _running(scene: MigrationScene) -> Reconciled:
    """Ask the source handler to abort a cancelled migration that is copying."""
    state = scene.own_state
    writes: list[Write] = []
    ready = at(state, "targetNodeDomainReadyTimestamp")
    pod = scene.target
    if ready and pod is not None and names.TARGET_READY not in annotations_of(pod):
        annotations = {**annotations_of(pod), names.TARGET_READY: ready}
        writes.append(Update(object=with_value(pod, annotations, "metadata", "annotations")))
    if scene.canceled and state is not None and not state.get("abortRequested"):
        vmi = with_value(scene.vmi, True, "status", "migrationState", "abortRequested")
        message = "Migration is ready to be canceled by virt-handler."
        writes.append(Update(object=vmi))
        writes.append(
            RecordEvent(
                object=scene.migration,
                type="Normal",
                reason="SuccessfulAbortMigration",
                message=message,
            )
        )
    return Reconciled(writes=tuple(writes))


def _is_unschedulable(pod: KubernetesObject) -> bool:
    if phase_of(pod) != "Pending" or is_deleting(pod):
        return False
    return any(
        condition.get("type") == "PodScheduled"
        and condition.get("status") == "False"
        and condition.get("reason") == "Unschedulable"
        for condition in at(pod, "status", "conditions", default=[])
    )
