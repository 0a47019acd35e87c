"""Table output: the columns that `kubectl get` prints.

Columns: k8s.io/kubernetes pkg/printers/internalversion; KubeVirt's CRD printer columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from gitbot.kubernetes.objects import KubernetesObject, at, condition_of, labels_of
from gitbot.kubernetes.phases import is_final
from gitbot.model.text.instants import parse_instant

Cell = Callable[[KubernetesObject, int], Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column; only `-o wide` shows those of `priority` 1. `cell` gets the object and now."""

    name: str
    cell: Cell
    type: str = "string"
    priority: int = 0


def human_duration(seconds: int) -> str:
    """`5m12s` as kubectl prints ages (k8s.io/apimachinery/pkg/util/duration)."""
    minutes, hours, days = seconds // 60, seconds // 3600, seconds // 86400
    if seconds < 0:
        return "0s"
    if seconds < 120:
        return f"{seconds}s"
    if minutes < 10:
        return f"{minutes}m{seconds % 60}s" if seconds % 60 else f"{minutes}m"
    if hours < 3:
        return f"{minutes}m"
    if hours < 8:
        return f"{hours}h{minutes % 60}m" if minutes % 60 else f"{hours}h"
    if hours < 48:
        return f"{hours}h"
    if days < 8:
        return f"{days}d{hours % 24}h" if hours % 24 else f"{days}d"
    return f"{days}d"


def _since(*path: str) -> Cell:
    def cell(obj: KubernetesObject, now: int) -> str:
        text = at(obj, *path, default="")
        return human_duration(now - parse_instant(text)) if text else "<unknown>"

    return cell


def _field(*path: str, default: Any = "") -> Cell:
    return lambda obj, _: at(obj, *path, default=default)


def _condition(name: str) -> Cell:
    return lambda obj, _: (condition_of(obj, name) or {}).get("status", "")


def _column(name: str, cell: Cell, *, wide: bool = False, number: bool = False) -> Column:
    kind = "integer" if number else "string"
    return Column(name=name, cell=cell, type=kind, priority=1 if wide else 0)


_AGE = _column("Age", _since("metadata", "creationTimestamp"))


def _node_status(node: KubernetesObject, _: int) -> str:
    status = (condition_of(node, "Ready") or {}).get("status")
    text = "Ready" if status == "True" else "NotReady"
    if at(node, "spec", "unschedulable", default=False):
        text += ",SchedulingDisabled"
    return text


def _node_roles(node: KubernetesObject, _: int) -> str:
    prefix = "node-role.kubernetes.io/"
    roles = sorted(key[len(prefix) :] for key in labels_of(node) if key.startswith(prefix))
    return ",".join(roles) or "<none>"


def _node_address(kind: str) -> Cell:
    def cell(node: KubernetesObject, _: int) -> str:
        addresses = at(node, "status", "addresses", default=[])
        found = [item["address"] for item in addresses if item["type"] == kind]
        return str(found[0]) if found else "<none>"

    return cell


def _node_fact(name: str) -> Cell:
    return lambda node, _: at(node, "status", "nodeInfo", name) or "<unknown>"


def _kernel(node: KubernetesObject, _: int) -> str:
    version = at(node, "status", "nodeInfo", "kernelVersion") or "<unknown>"
    architecture = at(node, "status", "nodeInfo", "architecture")
    return f"{version} ({architecture})" if architecture else str(version)


def _readiness_gates(pod: KubernetesObject, _: int) -> str:
    gates = [gate["conditionType"] for gate in at(pod, "spec", "readinessGates", default=[])]
    met = sum(1 for gate in gates if (condition_of(pod, gate) or {}).get("status") == "True")
    return f"{met}/{len(gates)}" if gates else "<none>"


def _pod_ready(pod: KubernetesObject, _: int) -> str:
    ended = is_final(pod)
    statuses = [] if ended else at(pod, "status", "containerStatuses", default=[])
    ready = sum(1 for status in statuses if status.get("ready"))
    return f"{ready}/{len(at(pod, 'spec', 'containers', default=[]))}"


def _pod_status(pod: KubernetesObject, _: int) -> str:
    if "deletionTimestamp" in pod["metadata"]:
        return "Terminating"
    phase = str(at(pod, "status", "phase", default="Unknown"))
    if phase == "Pending" and at(pod, "spec", "nodeName"):
        return "ContainerCreating"
    reason = at(pod, "status", "reason")
    return str(reason or {"Succeeded": "Completed", "Failed": "Error"}.get(phase, phase))


def _ready_of(*path: str) -> Cell:
    def cell(obj: KubernetesObject, _: int) -> str:
        ready = at(obj, "status", "readyReplicas", default=0)
        return f"{ready}/{at(obj, *path, default=1)}"

    return cell


def _event_object(event: KubernetesObject, _: int) -> str:
    kind = str(at(event, "involvedObject", "kind", default=""))
    return f"{kind.lower()}/{at(event, 'involvedObject', 'name', default='')}"


def _address(obj: KubernetesObject, _: int) -> str:
    interfaces = at(obj, "status", "interfaces", default=[])
    return str(interfaces[0].get("ipAddress", "")) if interfaces else ""


_SCALE = (
    _column("Desired", _field("spec", "replicas", default=1), number=True),
    _column("Current", _field("status", "replicas", default=0), number=True),
    _column("Ready", _field("status", "readyReplicas", default=0), number=True),
    _AGE,
)
COLUMNS: Mapping[str, tuple[Column, ...]] = {
    "ConfigMap": (_column("Data", lambda o, _: len(o.get("data") or {})), _AGE),
    "Deployment": (
        _column("Ready", _ready_of("spec", "replicas")),
        _column("Up-to-date", _field("status", "updatedReplicas", default=0), number=True),
        _column("Available", _field("status", "availableReplicas", default=0), number=True),
        _AGE,
    ),
    "Event": (
        _column("Last Seen", _since("lastTimestamp")),
        _column("Type", _field("type")),
        _column("Reason", _field("reason")),
        _column("Object", _event_object),
        _column("Message", _field("message")),
    ),
    "KubeVirt": (_AGE, _column("Phase", _field("status", "phase"))),
    "Namespace": (_column("Status", _field("status", "phase")), _AGE),
    "Node": (
        _column("Status", _node_status),
        _column("Roles", _node_roles),
        _AGE,
        _column("Version", _field("status", "nodeInfo", "kubeletVersion")),
        _column("Internal-IP", _node_address("InternalIP"), wide=True),
        _column("External-IP", _node_address("ExternalIP"), wide=True),
        _column("OS-Image", _node_fact("osImage"), wide=True),
        _column("Kernel-Version", _kernel, wide=True),
        _column("Container-Runtime", _node_fact("containerRuntimeVersion"), wide=True),
    ),
    "Pod": (
        _column("Ready", _pod_ready),
        _column("Status", _pod_status),
        _column("Restarts", lambda _obj, _now: "0"),
        _AGE,
        _column("IP", _field("status", "podIP", default="<none>"), wide=True),
        _column("Node", _field("spec", "nodeName", default="<none>"), wide=True),
        _column(
            "Nominated Node", _field("status", "nominatedNodeName", default="<none>"), wide=True
        ),
        _column("Readiness Gates", _readiness_gates, wide=True),
    ),
    "PodDisruptionBudget": (
        _column("Min Available", _field("spec", "minAvailable", default="N/A")),
        _column("Max Unavailable", _field("spec", "maxUnavailable", default="N/A")),
        _column("Allowed Disruptions", _field("status", "disruptionsAllowed", default=0)),
        _AGE,
    ),
    "ReplicaSet": _SCALE,
    "VirtualMachine": (
        _AGE,
        _column("Status", _field("status", "printableStatus")),
        _column("Ready", _condition("Ready")),
    ),
    "VirtualMachineInstance": (
        _AGE,
        _column("Phase", _field("status", "phase")),
        _column("IP", _address),
        _column("NodeName", _field("status", "nodeName")),
        _column("Ready", _condition("Ready")),
        _column("Live-Migratable", _condition("LiveMigratable"), wide=True),
        _column("Paused", _condition("Paused"), wide=True),
    ),
    "VirtualMachineInstanceMigration": (
        _column("Phase", _field("status", "phase")),
        _column("VMI", _field("spec", "vmiName")),
    ),
    "VirtualMachineInstanceReplicaSet": _SCALE,
}


def table(
    kind: str,
    objects: Iterable[KubernetesObject],
    *,
    now: int,
    metadata: Mapping[str, Any],
    include: str = "Metadata",
    headed: bool = True,
) -> dict[str, Any]:
    """A meta.k8s.io/v1 Table; `include` is Metadata, Object or None, as clients ask for."""
    columns = COLUMNS.get(kind, (_AGE,))
    named = kind != "Event"  # Events are known by their object, not by their name
    definitions = [{"name": "Name", "type": "string", "format": "name", "priority": 0}]
    definitions = definitions if named else []
    definitions += [
        {"name": column.name, "type": column.type, "format": "", "priority": column.priority}
        for column in columns
    ]
    rows = [
        {
            "cells": [
                *([obj["metadata"]["name"]] if named else []),
                *(column.cell(obj, now) for column in columns),
            ],
            **_included(obj, include),
        }
        for obj in objects
    ]
    return {
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": dict(metadata),
        "columnDefinitions": definitions if headed else [],
        "rows": rows,
    }


def _included(obj: KubernetesObject, include: str) -> dict[str, Any]:
    if include == "None":
        return {}
    if include == "Object":
        return {"object": obj}
    return {"object": partial(obj)}


def partial(obj: KubernetesObject) -> dict[str, Any]:
    return {
        "kind": "PartialObjectMetadata",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": obj["metadata"],
    }
