"""The evacuation controller: marks of evictions, and drain taints, become migrations.

Source: KubeVirt, pkg/virt-controller/watch/drain/evacuation/evacuation.go. Since 1.9 it
makes one migration for each VMI at once and leaves the limits to the queue.
"""

from __future__ import annotations

from typing import Any

from gitbot.kubernetes.objects import KubernetesObject, annotations_of, at, name_of
from gitbot.kubernetes.phases import is_final
from gitbot.kubevirt import names
from gitbot.kubevirt.eviction import (
    Prediction,
    eviction_strategy,
    is_migratable,
    predict_eviction,
)
from gitbot.kubevirt.kubevirt_object import setting
from gitbot.kubevirt.launcher_pod import is_deleting
from gitbot.simulation.kubevirt.launchers import active_pods
from gitbot.simulation.kubevirt.new_migration import new_migration
from gitbot.simulation.kubevirt.reconcile_result import (
    MIGRATIONS_OF_VMI,
    NOTHING,
    VMIS_ON_NODE,
    Create,
    ObjectView,
    Reconciled,
    RecordEvent,
)

__all__ = ["Prediction", "predict_eviction", "reconcile_evacuation"]


def reconcile_evacuation(view: ObjectView, node: KubernetesObject) -> Reconciled:
    """One pass over a node: the migrations that its VMIs need.

    Call again if the node, a VMI on it, one of their migrations or launcher pods changes.
    """
    name = name_of(node).name
    on_node = view.select(VMIS_ON_NODE, name)
    kubevirt = next(iter(view.list("KubeVirt")), {})
    if not _drained(node, kubevirt):
        on_node = [vmi for vmi in on_node if _marked(vmi, name) and not _moving(vmi)]
    writes = tuple(_evacuate(vmi, name) for vmi in on_node if _ready(view, vmi, kubevirt))
    return Reconciled(writes=writes) if writes else NOTHING


def _drained(node: KubernetesObject, kubevirt: KubernetesObject) -> bool:
    key = setting(kubevirt, "migrations", "nodeDrainTaintKey", default="kubevirt.io/drain")
    return any(
        taint.get("key") == key and taint.get("effect") == "NoSchedule"
        for taint in at(node, "spec", "taints", default=[])
    )


def _marked(vmi: KubernetesObject, node: str) -> bool:
    return bool(at(vmi, "status", "evacuationNodeName") == node)


def _moving(vmi: KubernetesObject) -> bool:
    state = at(vmi, "status", "migrationState", default={})
    return bool(state.get("startTimestamp")) and not state.get("endTimestamp")


def _ready(view: ObjectView, vmi: KubernetesObject, kubevirt: KubernetesObject) -> bool:
    if is_final(vmi) or is_deleting(vmi) or not is_migratable(vmi):
        return False
    if eviction_strategy(vmi, kubevirt) not in ("LiveMigrate", "LiveMigrateIfPossible"):
        return False
    others = view.select(MIGRATIONS_OF_VMI, str(name_of(vmi)))
    if any(not is_final(migration) for migration in others):
        return False
    return len(active_pods(view, vmi)) <= 1


def _evacuate(vmi: KubernetesObject, node: str) -> Create:
    descheduler = annotations_of(vmi).get(names.EVICTION_SOURCE) == "descheduler"
    migration: dict[str, Any] = new_migration(
        namespace=name_of(vmi).namespace, vmi_name=name_of(vmi).name
    )
    migration["metadata"] |= {
        "generateName": "kubevirt-evacuation-",
        "annotations": {names.EVACUATION: node},
    }
    migration["spec"]["priority"] = "system-maintenance" if descheduler else "system-critical"
    event = RecordEvent(
        object=vmi, type="Normal", reason="SuccessfulCreate", message="Created Migration {name}"
    )
    return Create(object=migration, event=event)
