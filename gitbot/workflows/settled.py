"""The snapshot as it will be when a plan has been carried out: what previews are made on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from gitbot.model.cluster import ClusterSnapshot
from gitbot.model.objects import KubernetesObject, labels_of, name_of, uid_of
from gitbot.model.plan import PlacementPlan


def settled(snapshot: ClusterSnapshot, plan: PlacementPlan) -> ClusterSnapshot:
    """The same objects with every moved VM, and its launcher pod, on its target node.

    Only the places change; the digest stays that of the snapshot that was read.
    """
    if not plan.moves:
        return snapshot
    nodes = {move.vm.namespaced_name: move.to.node for move in plan.moves}
    owners = {
        uid_of(instance): nodes[name_of(instance)]
        for instance in snapshot.of("VirtualMachineInstance")
        if name_of(instance) in nodes and uid_of(instance)
    }
    objects = dict(snapshot.objects)
    objects["VirtualMachineInstance"] = tuple(
        _instance(item, nodes[name_of(item)]) if name_of(item) in nodes else item
        for item in snapshot.of("VirtualMachineInstance")
    )
    objects["Pod"] = tuple(_pod(item, owners) for item in snapshot.of("Pod"))
    return replace(snapshot, objects=objects)


def _instance(instance: KubernetesObject, node: str) -> dict[str, Any]:
    status = instance.get("status") or {}
    pods = dict.fromkeys(status.get("activePods") or {}, node)
    return {**instance, "status": {**status, "nodeName": node, "activePods": pods}}


def _pod(pod: KubernetesObject, owners: Mapping[str, str]) -> KubernetesObject:
    node = owners.get(labels_of(pod).get("kubevirt.io/created-by", ""))
    if node is None:
        return pod
    return {**pod, "spec": {**(pod.get("spec") or {}), "nodeName": node}}
