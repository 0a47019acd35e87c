"""The Event for a host-model guest if no other node has the CPU that its move needs.

Source: KubeVirt, migration.go, alertIfHostModelIsUnschedulable.
"""

from __future__ import annotations

from gitbot.kubernetes.objects import at, labels_of, name_of
from gitbot.kubevirt import names
from gitbot.kubevirt.node_selector import HOST_MODEL
from gitbot.simulation.kubevirt.migration_scene import MigrationScene
from gitbot.simulation.kubevirt.reconcile_result import RecordEvent

_CPU = (names.MIGRATION_CPU, names.CPU_FEATURE)


def no_suitable_node(scene: MigrationScene) -> tuple[RecordEvent, ...]:
    """The Event, if a target pod waits and only the source node has its CPU labels."""
    if at(scene.vmi, "spec", "domain", "cpu", "model") != HOST_MODEL:
        return ()
    selector = at(scene.target, "spec", "nodeSelector", default={})
    needed = {key: value for key, value in selector.items() if key.startswith(_CPU)}
    source = at(scene.vmi, "status", "nodeName", default="")
    for node in scene.view.list("Node"):
        if name_of(node).name != source and needed.items() <= labels_of(node).items():
            return ()
    listed = " ".join(f"{key}:{value}" for key, value in sorted(needed.items()))
    text = "Migration cannot proceed since no node is suitable to run the required CPU model / "
    message = f"{text}required features: map[{listed}]"
    reason = "NoSuitableNodesForHostModelMigration"
    return (RecordEvent(object=scene.vmi, type="Warning", reason=reason, message=message),)
