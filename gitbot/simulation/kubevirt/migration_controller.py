"""The next step of virt-controller with a migration: a VMIM's way through its phases.

`reconcile_migration` mirrors one pass of KubeVirt's migration controller
(pkg/virt-controller/watch/migration/migration.go) for local migrations: it acts on the target pod
and the VMI (`migration_actions`), moves the phase (`migration_phases`), and collects finished
migrations. Phase, copied state and finalizer are separate writes in separate passes, as there.
"""

from __future__ import annotations

from gitbot.kubernetes.names import NamespacedName
from gitbot.kubernetes.objects import (
    KubernetesObject,
    annotations_of,
    at,
    labels_of,
    name_of,
    uid_of,
    with_value,
)
from gitbot.kubernetes.phases import is_final
from gitbot.kubevirt import names
from gitbot.kubevirt.launcher_pod import is_deleting
from gitbot.simulation.kubevirt.launchers import created_at
from gitbot.simulation.kubevirt.migration_actions import act
from gitbot.simulation.kubevirt.migration_phases import next_status
from gitbot.simulation.kubevirt.migration_scene import MigrationScene
from gitbot.simulation.kubevirt.reconcile_result import (
    MIGRATION,
    MIGRATIONS_OF_VMI,
    NOTHING,
    Delete,
    ObjectView,
    Reconciled,
    Update,
    Write,
)

KEPT_FINISHED = 5


def reconcile_migration(view: ObjectView, migration: KubernetesObject, now: int) -> Reconciled:
    """One pass over a VMIM. `now` is in seconds UTC.

    Call again if the VMIM, its VMI, a launcher pod of that VMI, any unfinished VMIM, a
    ResourceQuota of the namespace or the KubeVirt object changes, and after `requeue_after`.
    """
    if annotations_of(migration).get(names.OBSERVED_API_VERSION) != "v1":
        return Reconciled(writes=(Update(object=_observed(migration)),))
    scene = MigrationScene.of(view, migration, now)
    if scene is None:
        return _orphaned(migration)
    acted = act(scene)
    status = next_status(scene)
    writes: list[Write] = [*acted.writes, *status.events]
    if status.migration.get("status") != migration.get("status"):
        writes.append(Update(object=status.migration, subresource="status"))
    elif is_final(migration):
        writes.extend(_finish(view, migration))
    return Reconciled(
        writes=tuple(writes), requeue_after=acted.requeue_after, waits_for=acted.waits_for
    )


def _orphaned(migration: KubernetesObject) -> Reconciled:
    """Delete a migration without a VMI; an unfinished one hangs in its finalizer.

    It hangs until a VMI of that name exists again, as in KubeVirt. A finished one is released here;
    in KubeVirt it may hang too, if the VMI goes between two writes.
    """
    if not is_deleting(migration):
        return Reconciled(writes=(_delete(migration),))
    return Reconciled(writes=tuple(_let_go(migration))) if is_final(migration) else NOTHING


def _let_go(migration: KubernetesObject) -> list[Write]:
    finalizers = at(migration, "metadata", "finalizers", default=[])
    if names.MIGRATION_FINALIZER not in finalizers:
        return []
    kept = [text for text in finalizers if text != names.MIGRATION_FINALIZER]
    return [Update(object=with_value(migration, kept, "metadata", "finalizers"))]


def _observed(migration: KubernetesObject) -> KubernetesObject:
    """The first write after creation; it also repairs a missing label."""
    labels = {names.VMI_NAME: at(migration, "spec", "vmiName", default=""), **labels_of(migration)}
    annotations = {
        **annotations_of(migration),
        names.OBSERVED_API_VERSION: "v1",
        names.STORAGE_API_VERSION: "v1",
    }
    changed = with_value(migration, labels, "metadata", "labels")
    return with_value(changed, annotations, "metadata", "annotations")


def _delete(migration: KubernetesObject) -> Delete:
    return Delete(kind=MIGRATION, name=name_of(migration), uid=uid_of(migration))


def _finish(view: ObjectView, migration: KubernetesObject) -> list[Write]:
    writes = _let_go(migration)
    for old in surplus_migrations(view, migration):
        pod = _defunct_pod(view, old)
        writes.extend([pod] if pod is not None else [])
        writes.append(_delete(old))
    return writes


def surplus_migrations(
    view: ObjectView, migration: KubernetesObject
) -> tuple[KubernetesObject, ...]:
    """The finished migrations of the same VMI beyond the newest five, oldest first.

    Failed ones count like the others; those being deleted already do not.
    """
    key = f"{name_of(migration).namespace}/{at(migration, 'spec', 'vmiName', default='')}"
    finished = [
        item
        for item in view.select(MIGRATIONS_OF_VMI, key)
        if is_final(item) and not is_deleting(item)
    ]
    finished.sort(key=created_at)
    return tuple(finished[: max(0, len(finished) - KEPT_FINISHED)])


def _defunct_pod(view: ObjectView, migration: KubernetesObject) -> Delete | None:
    """The pod that a finished migration left behind: its target if it failed, else its source."""
    state = at(migration, "status", "migrationState", default={})
    side = "targetPod" if state.get("failed") else "sourcePod" if state.get("completed") else ""
    pod_name = state.get(side, "")
    if not pod_name:
        return None
    name = NamespacedName(namespace=name_of(migration).namespace, name=pod_name)
    pod = view.get("Pod", name)
    return None if pod is None else Delete(kind="Pod", name=name, uid=uid_of(pod))
