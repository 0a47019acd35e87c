"""The objects of a trace, made again from what the recorder kept of them.

Of a VMI's spec it kept only what is about placement; the rest (CPU model, machine type, size) is
read off its launcher pod.
"""

import json
from collections.abc import Mapping
from typing import Any

from gitbot.kubernetes.objects import at
from gitbot.kubernetes.quantities import milli, whole
from gitbot.kubevirt import names
from gitbot.kubevirt.memory_overhead import memory_overhead
from gitbot.kubevirt.migration_policy import migration_settings
from gitbot.simulation.kubevirt.vm_owners import VM_FINALIZER
from gitbot.simulation.served_resources import BY_KIND
from tests.recordings.story import MIGRATION, VMI, Story, vmi_of_pod
from tests.recordings.uids import uid_text

_LONG_AGO = "2026-01-01T00:00:00Z"
_VERSIONS = {MIGRATION: "kubevirt.io/v1", VMI: "kubevirt.io/v1", "VirtualMachine": "kubevirt.io/v1"}
_ORDER = ("VirtualMachine", VMI, "Pod", MIGRATION)
_OBSERVED = {names.OBSERVED_API_VERSION: "v1", names.STORAGE_API_VERSION: "v1"}
_SIDECARS = ("guest-console-log",)
State = Mapping[str, Any]
Object = dict[str, Any]


def initial_objects(story: Story) -> list[Object]:
    """Everything that was there at the start, owners before what they own."""
    items = sorted(story.record["initial"], key=_rank)
    pods = {vmi_of_pod(i["state"]): i["state"] for i in reversed(items) if i["kind"] == "Pod"}
    specs = {
        item["name"]: instance_spec(item["state"], pods.get(item["name"], {}), story)
        for item in items
        if item["kind"] == VMI
    }
    machines = {item["name"] for item in items if item["kind"] == "VirtualMachine"}
    return [_object(item, story, specs, machines) for item in items]


def migration_policies(story: Story) -> list[Object]:
    """The MigrationPolicies that were applied: made again from what is seen of them.

    Their selectors were not kept. A policy is taken to select by all labels of a VMI that it was
    applied to, by none where that has none: then its namespace was selected; its settings are
    those of the note that differ from KubeVirt's own.
    """
    found: dict[str, Object] = {}
    labels = {i["name"]: i["state"].get("labels") or {} for i in story.record["initial"]}
    for event in story.events:
        changes = event.get("changed") or {}
        name = at(changes.get("migrationState"), "migrationPolicyName") or changes.get(
            "migrationState/migrationPolicyName"
        )
        if event.get("kind") != VMI or not name or name in found:
            continue
        own = {k: v for k, v in labels.get(event["name"], {}).items() if not _is_kubevirts(k)}
        found[name] = _policy(name, own, noted_settings(story))
    return list(found.values())


def _is_kubevirts(key: str) -> bool:
    return key.startswith("kubevirt.io/")


def _policy(name: str, labels: Mapping[str, str], settings: Mapping[str, Any]) -> Object:
    usual = migration_settings({}, None)
    spec = {key: value for key, value in settings.items() if usual.get(key) != value}
    if "allowPostCopy" in spec:
        spec.pop("allowWorkloadDisruption", None)
    return {
        "apiVersion": "migrations.kubevirt.io/v1alpha1",
        "kind": "MigrationPolicy",
        "metadata": {"name": name},
        "spec": {**spec, "selectors": {"virtualMachineInstanceSelector": dict(labels)}},
    }


def noted_settings(story: Story) -> dict[str, Any]:
    """The migrationConfiguration that a trace's note tells, if it does."""
    try:
        found = json.loads(story.record.get("note") or "")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _rank(item: Mapping[str, Any]) -> tuple[int, str]:
    kind = item["kind"]
    return (_ORDER.index(kind) if kind in _ORDER else len(_ORDER), item["name"])


def _object(
    item: Mapping[str, Any], story: Story, specs: Mapping[str, Object], machines: set[str]
) -> Object:
    kind, name, state = item["kind"], item["name"], item["state"]
    metadata: Object = {"name": name}
    if BY_KIND[kind].namespaced:
        metadata["namespace"] = story.namespace
    metadata |= {k: state[k] for k in ("labels", "annotations", "finalizers") if k in state}
    made: Object = {
        "apiVersion": _VERSIONS.get(kind, "v1"),
        "kind": kind,
        "metadata": metadata,
    }
    match kind:
        case "VirtualMachineInstance":
            if name in machines:
                metadata["ownerReferences"] = [_owner(name)]
            dialled = story.boot_dials(name)
            return {**made, "spec": specs[name], "status": _instance_status(state, dialled)}
        case "Pod":
            return {**made, **_pod(state, metadata)}
        case "VirtualMachineInstanceMigration":
            metadata["creationTimestamp"] = _LONG_AGO
            status = {k: state[k] for k in ("phase", "migrationState") if k in state}
            return {**made, "spec": state["spec"], "status": status}
        case "VirtualMachine":
            metadata.setdefault("annotations", dict(_OBSERVED))
            metadata.setdefault("finalizers", [VM_FINALIZER])
            template = {"metadata": {}, "spec": specs.get(name, {"domain": {}})}
            strategy = at(state, "spec", "runStrategy", default="Always")
            spec = {"runStrategy": strategy, "template": template}
            status = {
                "printableStatus": state.get("printableStatus", "Running"),
                "runStrategy": spec["runStrategy"],
                "created": True,
                "ready": True,
            }
            return {**made, "spec": spec, "status": status}
        case "ResourceQuota":
            return {**made, "spec": {"hard": state["hard"]}}
        case _:
            return {**made, "spec": state.get("spec") or {}}


def _owner(name: str) -> Object:
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachine",
        "name": name,
        "uid": uid_text("VirtualMachine", name),
        "controller": True,
        "blockOwnerDeletion": True,
    }


def _pod(state: State, metadata: Object) -> Object:
    domain = vmi_of_pod(state)
    metadata["ownerReferences"] = [
        {
            "apiVersion": "kubevirt.io/v1",
            "kind": VMI,
            "name": domain,
            "uid": uid_text(VMI, domain),
            "controller": True,
            "blockOwnerDeletion": True,
        }
    ]
    requests: Mapping[str, Any] = state.get("requests") or {}
    containers = [
        {"name": key, "image": "registry.invalid/launcher", "resources": {"requests": value}}
        for key, value in requests.items()
        if key not in _SIDECARS
    ] or [{"name": "compute", "image": "registry.invalid/launcher"}]
    copied = (
        "nodeSelector", "affinity", "tolerations", "schedulerName", "topologySpreadConstraints",
        "priorityClassName", "priority", "nodeName",
    )  # fmt: skip
    spec = {key: state[key] for key in copied if state.get(key) is not None}
    running = {"Ready": {"status": "True"}} if state.get("phase") == "Running" else {}
    conditions: Mapping[str, Any] = state.get("conditions") or running
    return {
        "spec": {**spec, "containers": containers, "terminationGracePeriodSeconds": 60},
        "status": {
            "phase": state.get("phase", "Running"),
            "conditions": [_condition(k, v) for k, v in conditions.items()],
        },
    }


def _condition(kind: str, value: Mapping[str, Any]) -> Object:
    return {"type": kind, "lastTransitionTime": _LONG_AGO, **value}


def _instance_status(state: State, dialled: Mapping[str, Any]) -> Object:
    kept = (
        "phase", "nodeName", "migrationState", "evacuationNodeName", "migrationMethod",
        "migrationTransport", "launcherContainerImageVersion", "activePods",
    )  # fmt: skip
    status: Object = {key: state[key] for key in kept if key in state}
    conditions = state.get("conditions") or {}
    status["conditions"] = [_condition(kind, value) for kind, value in conditions.items()]
    status |= {"runtimeUser": 107}
    if dialled.get("selinux", "none") is not None:
        status["selinuxContext"] = dialled.get("selinux", "none")
    return status


def instance_spec(state: State, pod: State, story: Story) -> Object:
    """The spec of a VMI with the placement it had and the size of its launcher pod."""
    selector: Mapping[str, str] = pod.get("nodeSelector") or {}
    machine = _suffix(selector, names.MACHINE_TYPE) or "q35"
    model = _suffix(selector, names.CPU_MODEL)
    if not model:
        obsolete = names.OBSOLETE_HOST_MODEL in str(pod.get("affinity") or "")
        model = "host-model" if obsolete or not pod else "host-passthrough"
    domain: Object = {
        "cpu": {"cores": 1, "sockets": 1, "threads": 1, "model": model},
        "machine": {"type": machine},
        "devices": {"interfaces": [{"name": "default", "masquerade": {}}]},
        "resources": {},
    }
    spec: Object = {
        "architecture": selector.get(names.ARCHITECTURE, "amd64"),
        "evictionStrategy": state.get("evictionStrategy", "None"),
        "domain": domain,
        "networks": [{"name": "default", "pod": {}}],
    }
    spec |= {key: state[key] for key in ("nodeSelector", "affinity") if state.get(key)}
    for key in ("topologySpreadConstraints", "priorityClassName", "schedulerName"):
        if pod.get(key) and pod[key] != "default-scheduler":
            spec[key] = pod[key]
    tolerations = [item for item in pod.get("tolerations") or () if not _is_default(item)]
    if tolerations:
        spec["tolerations"] = tolerations
    _size(spec, pod, story)
    return spec


def _suffix(selector: Mapping[str, str], prefix: str) -> str:
    found = sorted(key.removeprefix(prefix) for key in selector if key.startswith(prefix))
    return found[0] if found else ""


def _is_default(toleration: Mapping[str, Any]) -> bool:
    """What the API server adds to every pod."""
    keys = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
    return toleration.get("key") in keys and toleration.get("tolerationSeconds") == 300


def _size(spec: Object, pod: State, story: Story) -> None:
    """Guest memory and CPU request so that the same pod comes out of it."""
    asked: Mapping[str, Any] = at(pod, "requests", "compute", default={})
    kubevirt = {"spec": story.record["kubevirt_spec"]}
    overhead = memory_overhead({"spec": spec}, kubevirt)
    memory = whole(asked.get("memory", 0)) - overhead
    spec["domain"]["memory"] = {"guest": str(memory) if memory > 0 else "1Gi"}
    if asked.get("cpu"):
        requests = {"cpu": f"{milli(asked['cpu'])}m"}
        spec["domain"]["resources"] = {"requests": requests}
