"""Owners of VMIs: VirtualMachines with their run strategy, replica sets, pools.

Source: KubeVirt, pkg/virt-controller/watch/{vm,replicaset,pool}. Live updates of a running
VMI, instance types, revisions and update strategies of pools are left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gitbot.kubernetes.objects import (
    KubernetesObject,
    annotations_of,
    at,
    labels_of,
    name_of,
    uid_of,
    with_value,
)
from gitbot.kubernetes.phases import FINAL_PHASES, is_final, phase_of
from gitbot.kubevirt.eviction import run_strategy
from gitbot.kubevirt.launcher_pod import is_deleting, owner_reference
from gitbot.kubevirt.names import API_VERSION
from gitbot.model.text.instants import format_instant, parse_instant
from gitbot.simulation.kubevirt.launchers import created_at
from gitbot.simulation.kubevirt.reconcile_result import (
    NOTHING,
    VMI,
    Create,
    Delete,
    ObjectView,
    Reconciled,
    RecordEvent,
    Update,
    Write,
)
from gitbot.simulation.kubevirt.status_writes import since

VM_FINALIZER = "kubevirt.io/virtualMachineControllerFinalize"
_FIRST_PAUSE = 10  # seconds after a guest that never ran; grows with the square of the failures
_LONGEST_PAUSE = 300


def reconcile_virtual_machine(view: ObjectView, vm: KubernetesObject, now: int) -> Reconciled:
    """One pass over a VirtualMachine: start, stop or restart its VMI, and write its status."""
    vmi = view.get(VMI, name_of(vm))
    if vmi is not None and not _owns(vm, vmi):
        return Reconciled(waits_for="a VMI of that name that belongs to somebody else")
    acted = NOTHING if is_deleting(vm) else _run(vm, vmi, now)
    writes = list(acted.writes)
    if is_deleting(vm) and vmi is not None and not is_deleting(vmi):
        writes.extend(_stop(vm, vmi))
    if (vmi is not None and is_final(vmi)) or (vmi is not None and is_deleting(vm)):
        writes.extend(_release(vmi))
    status = _vm_status(vm, vmi, now)
    if status != vm.get("status"):
        writes.append(Update(object={**vm, "status": status}, subresource="status"))
    return Reconciled(
        writes=tuple(writes), requeue_after=acted.requeue_after, waits_for=acted.waits_for
    )


def _owns(owner: KubernetesObject, obj: KubernetesObject) -> bool:
    references = at(obj, "metadata", "ownerReferences", default=[])
    return any(reference.get("uid") == uid_of(owner) for reference in references)


def _run(vm: KubernetesObject, vmi: KubernetesObject | None, now: int) -> Reconciled:
    strategy = run_strategy(vm)
    if vmi is None:
        started = bool(at(vm, "status", "runStrategy"))
        wanted = strategy == "Always" or _start_requested(vm)
        if not wanted and not (strategy in ("Once", "RerunOnFailure") and not started):
            return NOTHING
        retry = at(vm, "status", "startFailure", "retryAfterTimestamp")
        left = parse_instant(retry) - now if retry else 0
        if left > 0:
            return Reconciled(requeue_after=left, waits_for="the pause after a failed start")
        return Reconciled(writes=(_start(vm),))
    if is_deleting(vmi):
        return NOTHING
    final = is_final(vmi)
    if strategy == "Halted" or (final and strategy in ("Always", "RerunOnFailure")):
        return Reconciled(writes=tuple(_stop(vm, vmi)))
    return NOTHING


def _start_requested(vm: KubernetesObject) -> bool:
    """Whether somebody asked for a start: virtctl, or this controller after a failure."""
    requests = at(vm, "status", "stateChangeRequests", default=[])
    return any(request.get("action") == "Start" for request in requests)


def _start(vm: KubernetesObject) -> Create:
    template: Mapping[str, Any] = at(vm, "spec", "template", default={})
    metadata: dict[str, Any] = {
        "name": name_of(vm).name,
        "namespace": name_of(vm).namespace,
        "labels": dict(labels_of(template)),
        "annotations": dict(annotations_of(template)),
        "finalizers": [VM_FINALIZER],
        "ownerReferences": [owner_reference({**vm, **_kind("VirtualMachine")})],
    }
    vmi = {**_kind(VMI), "metadata": metadata, "spec": dict(at(template, "spec", default={}))}
    message = "Started the virtual machine by creating the new virtual machine instance {name}"
    event = RecordEvent(object=vm, type="Normal", reason="SuccessfulCreate", message=message)
    return Create(object=vmi, event=event)


def _kind(kind: str) -> dict[str, str]:
    return {"apiVersion": API_VERSION, "kind": kind}


def _stop(owner: KubernetesObject, vmi: KubernetesObject) -> list[Write]:
    message = f"Stopped the virtual machine by deleting the virtual machine instance {uid_of(vmi)}"
    return [
        Delete(kind=VMI, name=name_of(vmi), uid=uid_of(vmi)),
        RecordEvent(object=owner, type="Normal", reason="SuccessfulDelete", message=message),
    ]


def _release(vmi: KubernetesObject) -> list[Write]:
    """The VM has seen the end of its VMI and removes its finalizer."""
    finalizers = at(vmi, "metadata", "finalizers", default=[])
    if VM_FINALIZER not in finalizers:
        return []
    kept = [text for text in finalizers if text != VM_FINALIZER]
    return [Update(object=with_value(vmi, kept, "metadata", "finalizers"))]


def _vm_status(vm: KubernetesObject, vmi: KubernetesObject | None, now: int) -> dict[str, Any]:
    status = {**(vm.get("status") or {})}
    status["created"] = vmi is not None
    status["ready"] = vmi is not None and phase_of(vmi) == "Running"
    if vmi is not None:
        status["runStrategy"] = run_strategy(vm)
        _count_failure(status, vmi, now)
        if phase_of(vmi) == "Failed" and run_strategy(vm) == "RerunOnFailure":
            status["stateChangeRequests"] = [{"action": "Start"}]
        elif not is_final(vmi):
            status.pop("stateChangeRequests", None)
    status["printableStatus"] = _printable(vm, vmi, status)
    kept = ("LiveMigratable", "StorageLiveMigratable", "Ready")
    conditions = at(vmi, "status", "conditions", default=[])
    status["conditions"] = [item for item in conditions if item.get("type") in kept] + [
        item for item in at(vm, "status", "conditions", default=[]) if item.get("type") not in kept
    ]
    return status


def _count_failure(status: dict[str, Any], vmi: KubernetesObject, now: int) -> None:
    halted = status.get("runStrategy") == "Halted"
    if halted or phase_of(vmi) == "Running" or since(vmi, "Running", -1) >= 0:
        status.pop("startFailure", None)
        return
    known = status.get("startFailure") or {}
    if phase_of(vmi) != "Failed" or known.get("lastFailedVMIUID") == uid_of(vmi):
        return
    count = int(known.get("consecutiveFailCount", 0)) + 1
    pause = min(_LONGEST_PAUSE, _FIRST_PAUSE * count * count)
    status["startFailure"] = {
        "consecutiveFailCount": count,
        "lastFailedVMIUID": uid_of(vmi),
        "retryAfterTimestamp": format_instant(now + pause),
    }


def _printable(
    vm: KubernetesObject, vmi: KubernetesObject | None, status: Mapping[str, Any]
) -> str:
    if is_deleting(vm):
        return "Terminating"
    if status.get("startFailure") and (vmi is None or is_final(vmi)):
        return "CrashLoopBackOff"
    if vmi is None:
        return "Stopped"
    if is_deleting(vmi):
        return "Stopping"
    state = at(vmi, "status", "migrationState", default={})
    if state.get("startTimestamp") and not state.get("endTimestamp"):
        return "Migrating"
    waiting = [
        item
        for item in at(vmi, "status", "conditions", default=[])
        if item.get("type") == "PodScheduled" and item.get("reason") == "Unschedulable"
    ]
    if waiting:
        return "ErrorUnschedulable"
    phase = phase_of(vmi)
    return phase if phase in ("Running", *FINAL_PHASES) else "Starting"


def reconcile_replica_set(view: ObjectView, owner: KubernetesObject, _: int) -> Reconciled:
    """One pass over a VirtualMachineInstanceReplicaSet: as many living VMIs as it asks for.

    Ended VMIs are deleted and replaced; new ones get the set's name and a random end.
    """
    vmis = [item for item in view.list(VMI, name_of(owner).namespace) if _owns(owner, item)]
    ended = [vmi for vmi in vmis if is_final(vmi) and not is_deleting(vmi)]
    active = [vmi for vmi in vmis if not is_final(vmi) and not is_deleting(vmi)]
    writes: list[Write] = []
    if not is_deleting(owner) and not at(owner, "spec", "paused"):
        missing = int(at(owner, "spec", "replicas", default=1)) - len(active)
        writes.extend(_replica(owner) for _ in range(missing))
        surplus = sorted(active, key=lambda vmi: (created_at(vmi), name_of(vmi)))
        for vmi in [*ended, *surplus[: max(0, -missing)]]:
            writes.extend(_stop(owner, vmi))
    status = {
        **(owner.get("status") or {}),
        "replicas": len(active),
        "readyReplicas": sum(phase_of(vmi) == "Running" for vmi in active),
    }
    if status != owner.get("status"):
        writes.append(Update(object={**owner, "status": status}, subresource="status"))
    return Reconciled(writes=tuple(writes))


def _replica(owner: KubernetesObject) -> Create:
    template: Mapping[str, Any] = at(owner, "spec", "template", default={})
    base = at(template, "metadata", "name") or at(template, "metadata", "generateName")
    metadata = {
        "generateName": base or name_of(owner).name,
        "namespace": name_of(owner).namespace,
        "labels": dict(labels_of(template)),
        "annotations": dict(annotations_of(template)),
        "ownerReferences": [
            owner_reference({**owner, **_kind("VirtualMachineInstanceReplicaSet")})
        ],
    }
    vmi = {**_kind(VMI), "metadata": metadata, "spec": dict(at(template, "spec", default={}))}
    message = "Started the virtual machine by creating the new virtual machine instance {name}"
    event = RecordEvent(object=owner, type="Normal", reason="SuccessfulCreate", message=message)
    return Create(object=vmi, event=event)


def reconcile_pool(view: ObjectView, pool: KubernetesObject, _: int) -> Reconciled:
    """One pass over a VirtualMachinePool: VirtualMachines `<pool>-<n>` with the lowest numbers."""
    vms = [
        item for item in view.list("VirtualMachine", name_of(pool).namespace) if _owns(pool, item)
    ]
    alive = {name_of(vm).name for vm in vms if not is_deleting(vm)}
    taken = {name_of(vm).name for vm in view.list("VirtualMachine", name_of(pool).namespace)}
    wanted = int(at(pool, "spec", "replicas", default=1))
    writes: list[Write] = []
    number = 0
    while not is_deleting(pool) and len(alive) + len(writes) < wanted:
        name = f"{name_of(pool).name}-{number}"
        number += 1
        if name not in taken:
            writes.append(_member(pool, name))
    for name in sorted(alive, reverse=True)[: max(0, len(alive) - wanted)]:
        vm = next(item for item in vms if name_of(item).name == name)
        writes.append(Delete(kind="VirtualMachine", name=name_of(vm), uid=uid_of(vm)))
    status = {**(pool.get("status") or {}), "replicas": len(alive)}
    if status != pool.get("status"):
        writes.append(Update(object={**pool, "status": status}, subresource="status"))
    return Reconciled(writes=tuple(writes))


def _member(pool: KubernetesObject, name: str) -> Create:
    template: Mapping[str, Any] = at(pool, "spec", "virtualMachineTemplate", default={})
    owner = {"apiVersion": "pool.kubevirt.io/v1beta1", **pool, "kind": "VirtualMachinePool"}
    metadata = {
        "name": name,
        "namespace": name_of(pool).namespace,
        "labels": dict(labels_of(template)),
        "annotations": dict(annotations_of(template)),
        "ownerReferences": [owner_reference(owner)],
    }
    spec = dict(at(template, "spec", default={}))
    return Create(object={**_kind("VirtualMachine"), "metadata": metadata, "spec": spec})
