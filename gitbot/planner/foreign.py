"""Migrations that are under way or queued at the snapshot, whoever created them."""

from __future__ import annotations

from collections.abc import Mapping

from gitbot.model.cluster import ClusterSnapshot
from gitbot.model.names import NamespacedName
from gitbot.model.objects import KubernetesObject, at, name_of

FINAL = frozenset({"Succeeded", "Failed"})


def under_way(snapshot: ClusterSnapshot) -> Mapping[NamespacedName, tuple[str, str]]:
    """VMIs with an unfinished migration: source and target node, "" where not known yet.

    Read from the unfinished VMIMs, and from VMIs whose migrationState says neither completed nor
    failed (its VMIM may be gone).
    """
    found: dict[NamespacedName, tuple[str, str]] = {}
    vmis = {name_of(vmi): vmi for vmi in snapshot.of("VirtualMachineInstance")}
    for vm, vmi in vmis.items():
        state = at(vmi, "status", "migrationState", default={})
        if state and not state.get("completed") and not state.get("failed"):
            found[vm] = _nodes(vmi)
    for vm in unfinished(snapshot):
        if vm in vmis and vm not in found:
            found[vm] = (str(at(vmis[vm], "status", "nodeName", default="")), "")
    return found


def unfinished(snapshot: ClusterSnapshot) -> Mapping[NamespacedName, tuple[KubernetesObject, ...]]:
    """The VMIMs that have not ended, by the VMI that they are about."""
    found: dict[NamespacedName, tuple[KubernetesObject, ...]] = {}
    for migration in snapshot.of("VirtualMachineInstanceMigration"):
        if at(migration, "status", "phase", default="") not in FINAL:
            namespace = name_of(migration).namespace
            name = str(at(migration, "spec", "vmiName", default=""))
            vm = NamespacedName(namespace=namespace, name=name)
            found[vm] = (*found.get(vm, ()), migration)
    return found


def _nodes(vmi: KubernetesObject) -> tuple[str, str]:
    state = at(vmi, "status", "migrationState", default={})
    own = at(vmi, "status", "nodeName", default="")
    return str(state.get("sourceNode") or own), str(state.get("targetNode") or "")
