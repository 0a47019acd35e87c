"""Instance types and preferences, applied to the template of a VM as virt-controller does.

Source: KubeVirt, pkg/instancetype/{find,apply,preference/apply}. Only what decides placement is
applied. KubeVirt reads a type from the ControllerRevision that it stored for the VM, and follows
later changes of the type only on request.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from gitbot.kubernetes.labels import subdomain_problems
from gitbot.kubernetes.names import NamespacedName
from gitbot.kubernetes.objects import Json, KubernetesObject, at, labels_of, name_of
from gitbot.kubernetes.quantities import whole

_GROUP = "instancetype.kubevirt.io"
OBJECT_KIND = f"{_GROUP}/object-kind"
_OBJECT_NAME = f"{_GROUP}/object-name"
TYPE_KINDS = (
    "VirtualMachineInstancetype",
    "VirtualMachineClusterInstancetype",
    "VirtualMachinePreference",
    "VirtualMachineClusterPreference",
)
"""Of one namespace and of the cluster, instance types before preferences."""


class UnreadableType(Exception):
    """A type that the snapshot lacks, or that KubeVirt refuses to apply; the reason in words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TypeCatalog:
    """Types by (kind, namespace and name), and stored revisions by namespace and name."""

    types: Mapping[tuple[str, NamespacedName], KubernetesObject] = field(default_factory=dict)
    revisions: Mapping[NamespacedName, KubernetesObject] = field(default_factory=dict)


def expanded(vm: KubernetesObject, catalog: TypeCatalog) -> Mapping[str, Any]:
    """`spec.template.spec` with pod network, instance type and preference applied.

    Raises UnreadableType if one cannot be read, or conflicts with the template.
    """
    template: Json = at(vm, "spec", "template", "spec", default={})
    kind = _spec_of(vm, "instancetype", catalog)
    preference = _spec_of(vm, "preference", catalog)
    spec: dict[str, Any] = _copied(template)
    _attach_pod_network(spec, preference or {})
    if kind is not None:
        conflicts = _apply(kind, preference or {}, spec)
        if conflicts:
            listed = ", ".join(f"spec.template.spec.{path}" for path in conflicts)
            name = at(vm, "spec", "instancetype", "name")
            text = f"KubeVirt refuses it: instance type {name} conflicts with {listed}"
            raise UnreadableType(text)
    if preference is not None:
        _prefer(preference, spec)
    return spec


def _attach_pod_network(spec: dict[str, Any], preference: Json) -> None:
    """SetDefaultNetworkInterface after ApplyAutoAttachPreferences; a binding decides no node."""
    devices = at(spec, "domain", "devices", default={})
    key = "autoattachPodInterface"
    wanted = devices.get(key, at(preference, "devices", "preferredAutoattachPodInterface"))
    if wanted is not False and not spec.get("networks") and not devices.get("interfaces"):
        devices = {**devices, "interfaces": [{"name": "default", "bridge": {}}]}
        spec["domain"] = {**(spec.get("domain") or {}), "devices": devices}
        spec["networks"] = [{"name": "default", "pod": {}}]


def _spec_of(vm: KubernetesObject, key: str, catalog: TypeCatalog) -> Json | None:
    """The spec of a VM's instance type or preference (specFinder); None if it has none."""
    matcher: Json | None = at(vm, "spec", key)
    if matcher is None:
        return None
    name, namespace = str(matcher.get("name") or ""), name_of(vm).namespace
    stored = _revision_of(vm, key)
    if stored:
        found = catalog.revisions.get(NamespacedName(namespace=namespace, name=stored))
        if found is None:
            raise _lacking(f"revision {stored} of {key} {name}", "controllerrevisions")
        if matcher.get("revisionName") or labels_of(found).get(_OBJECT_NAME) == name:
            return _stored_spec(found, f"{key} {name}")
    kind = _kind_of(str(matcher.get("kind") or ""), key)
    place = NamespacedName(namespace="" if "Cluster" in kind else namespace, name=name)
    obj = catalog.types.get((kind, place))
    if obj is None:
        raise _lacking(f"{key} {name or 'inferred from a volume'}", f"{kind.lower()}s")
    spec: Json = obj.get("spec") or {}
    return spec


def _revision_of(vm: KubernetesObject, key: str) -> str:
    """The name of the revision that a VM names, by its spec before its status; "" if none."""
    named = at(vm, "spec", key, "revisionName")
    return str(named or at(vm, "status", f"{key}Ref", "controllerRevisionRef", "name", default=""))


def named_revisions(vm: KubernetesObject) -> Iterator[NamespacedName]:
    """The revisions from which KubeVirt reads the VM's instance type and preference."""
    for key in ("instancetype", "preference"):
        name = _revision_of(vm, key) if at(vm, "spec", key) is not None else ""
        if name and not subdomain_problems(name):  # no object has another name
            yield NamespacedName(namespace=name_of(vm).namespace, name=name)


def stores_type(revision: KubernetesObject) -> bool:
    """Whether KubeVirt stored a type in it; KubeVirt of before 1.1 set no label."""
    kept = str(at(revision, "data", "apiVersion", default=""))
    labelled = at(revision, "metadata", "labels", OBJECT_KIND) is not None
    return labelled or kept.startswith(f"{_GROUP}/")


def _kind_of(asked: str, key: str) -> str:
    own, cluster = TYPE_KINDS[:2] if key == "instancetype" else TYPE_KINDS[2:]
    return own if asked.lower().removesuffix("s") == own.lower() else cluster


def _lacking(what: str, plural: str) -> UnreadableType:
    return UnreadableType(
        f"{what} decides its pod, and is not in it: `kubectl get {plural} -A -o yaml` adds it"
    )


def _stored_spec(revision: KubernetesObject, what: str) -> Json:
    spec = at(revision, "data", "spec")
    if at(revision, "data", "kind") not in TYPE_KINDS or not isinstance(spec, Mapping):
        name = name_of(revision).name
        raise UnreadableType(f"{what}: its revision {name} is in a form that gitbot does not read")
    return spec


def _apply(kind: Json, preference: Json, spec: dict[str, Any]) -> list[str]:
    """ApplyToVMI: the paths that the template sets already, if any."""
    domain = spec.setdefault("domain", {})
    conflicts = [
        *_set(spec, kind, "nodeSelector"),
        *_set(spec, kind, "schedulerName"),
        *_cpu(kind.get("cpu") or {}, preference, domain),
        *_memory(kind.get("memory") or {}, domain),
    ]
    pool = at(kind, "ioThreads", "supplementalPoolThreadCount")
    if pool is not None:
        threads = domain.setdefault("ioThreads", {})
        path = "domain.ioThreads."
        conflicts += _set(threads, kind["ioThreads"], "supplementalPoolThreadCount", path)
    for key in ("ioThreadsPolicy", "launchSecurity"):
        conflicts += _set(domain, kind, key, "domain.")
    devices = domain.setdefault("devices", {})
    for key in ("gpus", "hostDevices"):
        conflicts += _set(devices, kind, key, "domain.devices.")
    return conflicts


def _set(target: dict[str, Any], source: Json, key: str, path: str = "") -> list[str]:
    if source.get(key):
        if target.get(key):
            return [f"{path}{key}"]
        target[key] = source[key]
    return []


_SWITCHES = {
    "dedicatedCPUPlacement": "dedicatedCpuPlacement",
    "isolateEmulatorThread": "isolateEmulatorThread",
}
"""As types and VMIs spell it. A type that says no conflicts with a template that says yes."""


def _cpu(kind: Json, preference: Json, domain: dict[str, Any]) -> list[str]:
    cpu = domain.setdefault("cpu", {})
    sides = domain.get("resources") or {}
    conflicts = [
        f"domain.resources.{side}.cpu"
        for side in ("requests", "limits")
        if "cpu" in (sides.get(side) or {})
    ]
    conflicts += [f"domain.cpu.{key}" for key in ("sockets", "cores", "threads") if cpu.get(key)]
    for key in ("model", "numa", "realtime"):
        conflicts += _set(cpu, kind, key, "domain.cpu.")
    for key, own in _SWITCHES.items():
        if kind.get(key) is not None:
            conflicts += [f"domain.cpu.{key}"] if cpu.get(own) else []
            cpu[own] = kind[key]
    if kind.get("maxSockets"):
        cpu["maxSockets"] = kind["maxSockets"]
    cpu |= _topology(int(kind.get("guest") or 1), preference)
    return conflicts


def _topology(count: int, preference: Json) -> dict[str, int]:
    """applyGuestCPUTopology: a spread drops what its ratio does not divide."""
    plain = {"cores": 1, "sockets": 1, "threads": 1}
    asked = str(at(preference, "cpu", "preferredCPUTopology", default="sockets"))
    asked = asked.removeprefix("prefer").lower()
    if count == 1:
        return plain
    if asked != "spread":
        return plain | {asked if asked in plain else "sockets": count}
    options: Json = at(preference, "cpu", "spreadOptions", default={})
    old = preference.get("preferSpreadSocketToCoreRatio")
    ratio = int(options.get("ratio") or old or 2)
    match options.get("across"):
        case "CoresThreads":
            return plain | {"threads": ratio, "cores": count // ratio}
        case "SocketsCoresThreads":
            return {"threads": 2, "cores": ratio, "sockets": count // 2 // ratio}
        case _:
            return plain | {"cores": ratio, "sockets": count // ratio}


def _memory(kind: Json, domain: dict[str, Any]) -> list[str]:
    memory, resources = domain.setdefault("memory", {}), domain.setdefault("resources", {})
    conflicts = ["domain.memory.guest"] if memory.get("guest") is not None else []
    conflicts += [
        f"domain.resources.{side}.memory"
        for side in ("requests", "limits")
        if "memory" in (resources.get(side) or {})
    ]
    for key in ("hugepages", "maxGuest"):
        conflicts += _set(memory, kind, key, "domain.memory.")
    guest, percent = kind.get("guest"), int(kind.get("overcommitPercent") or 0)
    if guest is None or conflicts:
        return conflicts
    memory["guest"] = guest
    if percent > 0:
        share = _single(1 - _single(_single(percent) / 100))
        asked = int(_single(_single(whole(guest)) * share))
        resources["requests"] = {**(resources.get("requests") or {}), "memory": str(asked)}
    return conflicts


def _single(value: float) -> float:
    """A number as Go's float32, in which KubeVirt counts here."""
    found: float = struct.unpack("f", struct.pack("f", value))[0]
    return found


def _prefer(preference: Json, spec: dict[str, Any]) -> None:
    """The preferences that decide requests, devices or labels; the template's own values win."""
    domain = spec.setdefault("domain", {})
    cpu = domain.setdefault("cpu", {})
    features = list(cpu.get("features") or ())
    known = {item.get("name") for item in features}
    wanted = at(preference, "cpu", "preferredCPUFeatures", default=[])
    features += [item for item in wanted if item.get("name") not in known]
    if features:
        cpu["features"] = features
    _devices(preference.get("devices") or {}, spec)
    _features(preference.get("features") or {}, domain)
    _firmware(preference.get("firmware") or {}, domain)
    machine = at(preference, "machine", "preferredMachineType")
    if machine:
        domain.setdefault("machine", {}).setdefault("type", machine)
    if preference.get("preferredArchitecture"):
        spec.setdefault("architecture", preference["preferredArchitecture"])
    if preference.get("preferredLaunchSecurity") is not None:
        domain.setdefault("launchSecurity", preference["preferredLaunchSecurity"])


_DEVICES = {
    "preferredNetworkInterfaceMultiQueue": "networkInterfaceMultiqueue",
    "preferredRng": "rng",
    "preferredTPM": "tpm",
}
_BINDINGS = frozenset(
    ("bridge", "masquerade", "sriov", "slirp", "macvtap", "passt", "passtBinding", "binding")
)


def _devices(preferred: Json, spec: dict[str, Any]) -> None:
    devices = spec["domain"].setdefault("devices", {})
    for key, value in preferred.items():
        if key.startswith("preferredAutoattach"):
            devices.setdefault(f"a{key.removeprefix('preferredA')}", value)
        elif key in _DEVICES:
            devices.setdefault(_DEVICES[key], value)
    networks = spec.get("networks") or ()
    on_pod = {item.get("name") for item in networks if item.get("pod") is not None}
    masquerade = preferred.get("preferredInterfaceMasquerade")
    for interface in devices.get("interfaces") or ():
        if preferred.get("preferredInterfaceModel"):
            interface.setdefault("model", preferred["preferredInterfaceModel"])
        unset = interface.get("name") in on_pod and _BINDINGS.isdisjoint(interface)
        if masquerade is not None and unset:
            interface["masquerade"] = masquerade


def _features(preferred: Json, domain: dict[str, Any]) -> None:
    features = domain.get("features") or {}
    for key, value in preferred.items():
        name = key.removeprefix("preferred").lower()
        if name == "hyperv":
            features["hyperv"] = {**value, **(features.get("hyperv") or {})}
        elif name == "acpi":
            features[name] = value
        else:
            features.setdefault(name, value)
    if features:
        domain["features"] = features


def _firmware(preferred: Json, domain: dict[str, Any]) -> None:
    firmware = domain.get("firmware") or {}
    loader = firmware.get("bootloader") or {}
    if "efi" not in loader and "bios" not in loader:
        if preferred.get("preferredUseBios"):
            loader = {"bios": {}}
        elif preferred.get("preferredEfi") is not None:
            loader = {"efi": preferred["preferredEfi"]}
        elif preferred.get("preferredUseEfi"):
            loader = {"efi": {}}
    if loader:
        domain["firmware"] = {**firmware, "bootloader": loader}


def _copied(value: Any) -> Any:
    """The value with mappings and lists of its own."""
    if isinstance(value, Mapping):
        return {key: _copied(item) for key, item in value.items()}
    return [_copied(item) for item in value] if isinstance(value, list) else value
