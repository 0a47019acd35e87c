"""Migrations that have not ended, also those of others, and old launcher pods of those that have.

A VM whose migration has ended runs on its target at once. Its old launcher pod still holds a place,
until the guest's disks are unmounted and the kubelet has removed it.
"""

from __future__ import annotations

from collections.abc import Mapping

from gitbot.constraints.moves.instances import Instances
from gitbot.kubernetes.names import NamespacedName
from gitbot.kubernetes.objects import KubernetesObject, at, name_of
from gitbot.kubernetes.phases import is_final


def under_way(instances: Instances) -> Mapping[NamespacedName, tuple[str, str]]:
    """VMIs with an unfinished migration: source and target node, "" if not known yet.

    Read from the unfinished VMIMs, and from VMIs whose migrationState is neither completed nor
    failed (the VMIM may be deleted).
    """
    found: dict[NamespacedName, tuple[str, str]] = {}
    for vm, vmi in instances.vmis.items():
        state = (vmi.get("status") or {}).get("migrationState")
        if state and not state.get("completed") and not state.get("failed"):
            found[vm] = _nodes_of(vmi)
    for vm in unfinished(instances):
        if vm in instances.vmis and vm not in found:
            found[vm] = (str(at(instances.vmis[vm], "status", "nodeName", default="")), "")
    return found


def unfinished(instances: Instances) -> Mapping[NamespacedName, tuple[KubernetesObject, ...]]:
    """The VMIMs that have not ended, by VMI."""
    found: dict[NamespacedName, tuple[KubernetesObject, ...]] = {}
    for migration in instances.migrations:
        if not is_final(migration):
            namespace = name_of(migration).namespace
            name = str(at(migration, "spec", "vmiName", default=""))
            vm = NamespacedName(namespace=namespace, name=name)
            found[vm] = (*found.get(vm, ()), migration)
    return found


def lingering(instances: Instances) -> Mapping[NamespacedName, frozenset[str]]:
    """VMIs that run, do not migrate, and have launcher pods on these other nodes."""
    moving = under_way(instances)
    return {
        vm: item.places - {item.node}
        for vm, item in instances.items()
        if item.node and item.others and vm not in moving
    }


def _nodes_of(vmi: KubernetesObject) -> tuple[str, str]:
    state = at(vmi, "status", "migrationState", default={})
    own = at(vmi, "status", "nodeName", default="")
    return str(state.get("sourceNode") or own), str(state.get("targetNode") or "")
