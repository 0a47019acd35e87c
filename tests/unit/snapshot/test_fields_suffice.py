"""What a snapshot leaves out decides nothing: target pods come out the same from pruned objects."""

from typing import Any

import pytest

from gitbot.kubevirt.pod_defaults import ClassObjects
from gitbot.kubevirt.target_pod import target_pod
from gitbot.snapshot.decode import prune
from tests.unit.kubevirt.recordings import kubevirt_object, recorded
from tests.unit.kubevirt.test_target_pod import TARGETS, classes, node_of, surroundings

SETTINGS = sorted({record["settings"] for record in TARGETS})


def arguments(record: dict[str, Any]) -> dict[str, Any]:
    return {
        "vmi": record["vmi"],
        "source_pod": {"spec": {"nodeSelector": record["source_selector"]}},
        "migration": {
            "metadata": {"name": record["migration"], "uid": record["migration_uid"]},
            "spec": {"addedNodeSelector": record["added"]},
        },
        "kubevirt": kubevirt_object(record["settings"]),
        "source_node": node_of(record),
        **surroundings(record),
    }


KINDS = {
    "vmi": "VirtualMachineInstance",
    "source_pod": "Pod",
    "migration": "VirtualMachineInstanceMigration",
    "kubevirt": "KubeVirt",
    "source_node": "Node",
    "namespace_object": "Namespace",
}


def pruned(whole: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {name: prune(kind, whole[name]) for name, kind in KINDS.items()}
    found["quotas"] = [prune("ResourceQuota", quota) for quota in whole["quotas"]]
    found["claims"] = {
        name: prune("PersistentVolumeClaim", claim) for name, claim in whole["claims"].items()
    }
    found["classes"] = ClassObjects(
        priority={n: prune("PriorityClass", o) for n, o in classes().priority.items()},
        runtime={n: prune("RuntimeClass", o) for n, o in classes().runtime.items()},
    )
    return found


@pytest.mark.parametrize("settings", SETTINGS)
def test_target_pods_are_the_same(settings: str) -> None:
    wrong = []
    for record in TARGETS:
        if record["settings"] == settings:
            whole = arguments(record)
            full, cut = target_pod(**whole), target_pod(**pruned(whole))
            wrong += [f"{record['record']}{each}" for each in differences(full, cut)]
    assert wrong == []


# annotations outside the list are left out on purpose: no rule can refer to them
def differences(full: Any, cut: Any, path: str = "") -> list[str]:
    if path == ".metadata.annotations":
        return []
    if isinstance(full, dict) and isinstance(cut, dict):
        return [
            line
            for key in sorted({*full, *cut})
            for line in differences(full.get(key), cut.get(key), f"{path}.{key}")
        ]
    return [] if full == cut else [f" {path}: {full!r} became {cut!r}"]


def test_there_is_something_to_compare() -> None:
    assert len(SETTINGS) > 5
    assert recorded("pods")["nodes"]
