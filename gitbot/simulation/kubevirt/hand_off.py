"""The hand-off: virt-controller writes migrationState, and the handlers take over.

Source: KubeVirt, migration.go, handleTargetPodHandoff.
"""

from __future__ import annotations

from typing import Any

from gitbot.kubernetes.names import NamespacedName
from gitbot.kubernetes.objects import annotations_of, at, labels_of, name_of, with_value
from gitbot.kubevirt import names
from gitbot.kubevirt.kubevirt_object import gate
from gitbot.kubevirt.migration_policy import matching_policy, migration_settings
from gitbot.simulation.kubevirt.migration_scene import MigrationScene


def handed_off(scene: MigrationScene) -> dict[str, Any]:
    """The VMI with the new migrationState and the label that wakes the target's handler."""
    pod = scene.target
    assert pod is not None
    kubevirt = scene.kubevirt()
    node = str(at(pod, "spec", "nodeName", default=""))
    state: dict[str, Any] = {
        "migrationUid": scene.uid,
        "sourceNode": at(scene.vmi, "status", "nodeName", default=""),
        "targetNode": node,
        "targetPod": name_of(pod).name,
    }
    own = at(scene.migration, "status", "migrationState", default={})
    copied = ("sourcePod", "sourcePersistentStatePVCName", "targetPersistentStatePVCName")
    state |= {key: own[key] for key in copied if own.get(key)}
    overhead = annotations_of(pod).get(names.MEMORY_OVERHEAD, "")
    if gate(kubevirt, "VmiMemoryOverheadReport") and overhead.isdigit():
        state["targetMemoryOverhead"] = _mebibytes(int(overhead))
    namespace = NamespacedName(namespace="", name=name_of(scene.vmi).namespace)
    policies = scene.view.list("MigrationPolicy")
    policy = matching_policy(policies, scene.vmi, scene.view.get("Namespace", namespace) or {})
    if policy is not None:
        state["migrationPolicyName"] = name_of(policy).name
    state["migrationConfiguration"] = migration_settings(kubevirt, policy)
    vmi = with_value(scene.vmi, state, "status", "migrationState")
    labels = {**labels_of(vmi), names.TARGET_NODE_NAME: node}
    return with_value(vmi, labels, "metadata", "labels")


def _mebibytes(amount: int) -> str:
    return f"{amount >> 20}Mi" if amount % (1 << 20) == 0 else str(amount)
