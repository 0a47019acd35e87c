"""VirtualMachines and VirtualMachineInstanceReplicaSets: they keep VMIs in being.

Source: KubeVirt 1.9.0, pkg/virt-controller/watch/{vm,replicaset}.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from gitbot.model.objects import KubernetesObject, at, condition_of
from gitbot.simulation.api import CONTROLLER, Api, Asked
from gitbot.simulation.controllers.workloads import newest_first, owner_key, owner_reference
from gitbot.simulation.store import Change, Key, Store, key_of

INSTANCE = "VirtualMachineInstance"
FINAL = ("Succeeded", "Failed")
_ASKED = Asked(user=CONTROLLER, validation="Ignore")


def is_final(vmi: KubernetesObject) -> bool:
    """Whether a VMI's guest has ended."""
    return at(vmi, "status", "phase") in FINAL


def _ready(vmi: KubernetesObject) -> bool:
    return (condition_of(vmi, "Ready") or {}).get("status") == "True"


def instance_of(owner: KubernetesObject, **metadata: Any) -> dict[str, Any]:
    """The VMI that a VirtualMachine or replica set makes of its template."""
    template = owner["spec"]["template"]
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": INSTANCE,
        "metadata": {
            **at(template, "metadata", default={}),
            "namespace": owner["metadata"]["namespace"],
            "ownerReferences": [owner_reference(owner)],
            **metadata,
        },
        "spec": template["spec"],
    }


class InstanceReplicaSets:
    """Replaces VMIs that ended or were deleted."""

    kinds = frozenset({INSTANCE, "VirtualMachineInstanceReplicaSet"})

    def __init__(self, *, store: Store, api: Api) -> None:
        self._store = store
        self._api = api

    def touched(self, change: Change) -> Iterable[Key]:
        """The replica set itself, or the one that owns a changed VMI."""
        if change.kind == "VirtualMachineInstanceReplicaSet":
            return [change.key]
        return owner_key(change, "VirtualMachineInstanceReplicaSet")

    def reconcile(self, key: Key) -> int | None:
        """Delete ended VMIs, create what is missing, delete what is too much, write the status."""
        owner = self._store.find("VirtualMachineInstanceReplicaSet", key)
        if owner is None or "deletionTimestamp" in owner["metadata"]:
            return None
        owned = self._store.indexed(INSTANCE, "owner", owner["metadata"]["uid"])
        living = [vmi for vmi in owned if "deletionTimestamp" not in vmi["metadata"]]
        for ended in [vmi for vmi in living if is_final(vmi)]:
            self._api.delete(INSTANCE, key_of(ended))
        active = [vmi for vmi in living if not is_final(vmi)]
        wanted = owner["spec"].get("replicas", 1)
        for _ in range(wanted - len(active)):
            name = owner["metadata"]["name"]
            self._api.create(instance_of(owner, generateName=name), asked=_ASKED)
        for surplus in newest_first(active)[: max(len(active) - wanted, 0)]:
            self._api.delete(INSTANCE, key_of(surplus))
        status = {
            "replicas": len(active),
            "readyReplicas": sum(1 for vmi in active if _ready(vmi)),
            "labelSelector": _selector_text(owner),
        }
        current = self._store.get("VirtualMachineInstanceReplicaSet", key)
        self._store.replace({**current, "status": status})
        return None


def _selector_text(owner: KubernetesObject) -> str:
    labels = at(owner, "spec", "selector", "matchLabels", default={})
    return ",".join(f"{key}={labels[key]}" for key in sorted(labels))


class Machines:
    """Starts the VMI of each VirtualMachine that is to run, and starts it again when it ended."""

    kinds = frozenset({INSTANCE, "VirtualMachine"})

    def __init__(self, *, store: Store, api: Api) -> None:
        self._store = store
        self._api = api

    def touched(self, change: Change) -> Iterable[Key]:
        """The VirtualMachine itself, or the one that owns a changed VMI."""
        if change.kind == "VirtualMachine":
            return [change.key]
        return owner_key(change, "VirtualMachine")

    def reconcile(self, key: Key) -> int | None:
        """Start, restart or stop the VMI; write the status."""
        machine = self._store.find("VirtualMachine", key)
        if machine is None or "deletionTimestamp" in machine["metadata"]:
            return None
        vmi = self._store.find(INSTANCE, key)
        wanted = wants_to_run(machine, vmi)
        if vmi is None and wanted:
            vmi = self._api.create(instance_of(machine, name=key[1]), asked=_ASKED).object
        elif vmi is not None and "deletionTimestamp" not in vmi["metadata"]:
            rerun = is_final(vmi) and run_strategy(machine) in ("Always", "RerunOnFailure")
            if not wanted or rerun:
                self._api.delete(INSTANCE, key)
        current = self._store.get("VirtualMachine", key)
        self._store.replace({**current, "status": _machine_status(current, vmi)})
        return None


def run_strategy(machine: KubernetesObject) -> str:
    """The run strategy; `running: true` means Always."""
    strategy = at(machine, "spec", "runStrategy", default="")
    if strategy:
        return str(strategy)
    return "Always" if at(machine, "spec", "running", default=False) else "Halted"


def wants_to_run(machine: KubernetesObject, vmi: KubernetesObject | None) -> bool:
    """Whether there should be a VMI now."""
    match run_strategy(machine):
        case "Always" | "RerunOnFailure":
            return True
        case "Halted":
            return False
        case _:
            return vmi is not None


def _machine_status(machine: KubernetesObject, vmi: KubernetesObject | None) -> dict[str, Any]:
    phase = at(vmi, "status", "phase", default="")
    ready = vmi is not None and _ready(vmi)
    status = {**(machine.get("status") or {}), "created": vmi is not None, "ready": ready}
    others = [item for item in status.get("conditions", []) if item["type"] != "Ready"]
    status["conditions"] = [*others, {"type": "Ready", "status": "True" if ready else "False"}]
    status["printableStatus"] = _printable(machine, vmi, phase)
    return status


def _printable(machine: KubernetesObject, vmi: KubernetesObject | None, phase: str) -> str:
    if vmi is None:
        return "Stopped" if run_strategy(machine) == "Halted" else "Starting"
    if "deletionTimestamp" in vmi["metadata"] or phase in FINAL:
        return "Stopping"
    if phase != "Running":
        scheduled = condition_of(vmi, "PodScheduled") or {}
        return "ErrorUnschedulable" if scheduled.get("reason") == "Unschedulable" else "Starting"
    state = at(vmi, "status", "migrationState", default={})
    if state.get("startTimestamp") and not state.get("endTimestamp"):
        return "Migrating"
    return "Running"
