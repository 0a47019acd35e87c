"""What the records of one file share: KubeVirt settings, nodes, namespaces, classes."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gitbot.errors import UsageError
from gitbot.simulation.building import node
from tests.recordings.records import unpacked

NAME = "context.json.gz"
OWN = Path(__file__).with_name(NAME)  # of the recordings that this project was held to


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """Named parts that records refer to, in the recorder's form."""

    settings: Mapping[str, Mapping[str, Any]]
    nodes: Mapping[str, Mapping[str, Any]]
    namespaces: Mapping[str, Mapping[str, Any]]
    runtime_classes: Mapping[str, Mapping[str, Any]]
    priority_classes: Mapping[str, Mapping[str, Any]]

    def kubevirt(self, settings: str) -> dict[str, Any]:
        found = self.settings[settings]
        return kubevirt_object(found.get("spec") or {}, found.get("annotations") or {})

    def cluster_objects(self) -> list[dict[str, Any]]:
        """Nodes and classes as objects."""
        made = [recorded_node(name, state) for name, state in sorted(self.nodes.items())]
        for name, state in sorted(self.priority_classes.items()):
            made.append(_class("scheduling.k8s.io/v1", "PriorityClass", name, state))
        for name, state in sorted(self.runtime_classes.items()):
            made.append(_class("node.k8s.io/v1", "RuntimeClass", name, state))
        return made

    def namespace_objects(self, name: str, own: Mapping[str, Any]) -> list[dict[str, Any]]:
        """A namespace with its quota and limits; `own` is what a record says besides."""
        known = self.namespaces.get(name, {})
        labels = {**(known.get("labels") or {}), **(own.get("labels") or {})}
        metadata = {"name": name, "labels": labels}
        found = [{"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}]
        quota = own.get("resourcequota") or {}
        hard = quota.get("hard") or known.get("quota_hard")
        if hard:
            status = {"hard": hard, **({"used": quota["used"]} if quota.get("used") else {})}
            spec = {"spec": {"hard": hard}, "status": status}
            found.append({**named("v1", "ResourceQuota", "q", name), **spec})
        return found


def named(api_version: str, kind: str, name: str, namespace: str) -> dict[str, Any]:
    """An object that has nothing but its name."""
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata}


def _class(api_version: str, kind: str, name: str, state: Mapping[str, Any]) -> dict[str, Any]:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, **state}


def kubevirt_object(
    spec: Mapping[str, Any], annotations: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """A deployed KubeVirt with this spec."""
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": "KubeVirt",
        "metadata": {
            "name": "kubevirt",
            "namespace": "kubevirt",
            "annotations": dict(annotations or {}),
        },
        "spec": dict(spec),
        "status": {"phase": "Deployed"},
    }


def recorded_node(name: str, state: Mapping[str, Any]) -> dict[str, Any]:
    """A node with recorded labels, taints and cordon; its size is not recorded: ample."""
    made = node(name, cpu="1000", memory="10Ti", pods="1000", virtualization=False)
    resources = dict(made["status"]["allocatable"])
    resources |= {f"devices.kubevirt.io/{key}": "1k" for key in ("kvm", "tun", "vhost-net")}
    spec: dict[str, Any] = {"taints": state["taints"]} if state.get("taints") else {}
    if state.get("unschedulable"):
        spec["unschedulable"] = True
    conditions = [{**made["status"]["conditions"][0], "status": state.get("ready", "True")}]
    status = {"allocatable": resources, "capacity": resources, "conditions": conditions}
    metadata = {"name": name, "labels": dict(state.get("labels") or {})}
    return {**made, "metadata": metadata, "spec": spec, "status": {**made["status"], **status}}


def read_context(path: Path | None, beside: Path) -> Context:
    """The context named by `path`, else the one beside the recording, else our own."""
    where = path or beside.with_name(NAME)
    if path is None and not where.exists():
        where = OWN
    try:
        found = json.loads(unpacked(where))
    except ValueError as error:
        raise UsageError(f"{where}: no context of a recording: {error}") from error
    return Context(
        settings=found["settings"],
        nodes=found["nodes"],
        namespaces=found["namespaces"],
        runtime_classes=found["runtimeClasses"],
        priority_classes=found["priorityClasses"],
    )
