"""The launcher pod of a VMI as virt-controller renders it, reduced to what scheduling sees."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from gitbot.kubernetes.objects import Json, KubernetesObject, annotations_of, at, labels_of, uid_of
from gitbot.kubernetes.phases import phase_of
from gitbot.kubevirt import names
from gitbot.kubevirt.compute_resources import (
    Surroundings,
    compute_resources,
    resource_claims,
)
from gitbot.kubevirt.containers import (
    container,
    helper_containers,
    hook_sidecars,
    init_containers,
    quantities,
)
from gitbot.kubevirt.kubevirt_object import gate, setting
from gitbot.kubevirt.memory_overhead import memory_overhead
from gitbot.kubevirt.node_selector import launcher_affinity, launcher_node_selector

_COPIED = ("schedulerName", "tolerations", "topologySpreadConstraints", "priorityClassName")
_NOT_FOR_PODS = (
    "kubectl.kubernetes.io",
    names.STORAGE_API_VERSION,
    names.OBSERVED_API_VERSION,
)


def launcher_pod(
    vmi: KubernetesObject,
    kubevirt: KubernetesObject,
    *,
    around: Surroundings,
    claims: Mapping[str, KubernetesObject] | None = None,
    known_images: Collection[str] = (),
    containers: Sequence[Json] | None = None,
) -> dict[str, Any]:
    """The launcher pod that virt-controller would create.

    `claims` are the namespace's PersistentVolumeClaims by name (only SCSI reservations need them),
    `known_images` the container disks whose digest a source pod reports. `containers` replace the
    rendered ones; then the annotation about memory overhead is left out.
    """
    overhead = None
    if containers is None:
        overhead = memory_overhead(vmi, kubevirt)
        containers = _containers(vmi, kubevirt, overhead, around)
    reservations = _reservations(vmi, claims or {})
    spec: dict[str, Any] = {
        "nodeSelector": launcher_node_selector(vmi, kubevirt),
        "containers": list(containers),
        "initContainers": init_containers(vmi, kubevirt, known_images),
        "volumes": _volumes(vmi),
        "hostname": _hostname(vmi),
        "restartPolicy": "Never",
        "readinessGates": [{"conditionType": "kubevirt.io/virtual-machine-unpaused"}],
        "terminationGracePeriodSeconds": 30 + _grace_seconds(vmi),
    }
    affinity = launcher_affinity(vmi, kubevirt, reservations)
    runtime_class = setting(kubevirt, "defaultRuntimeClass", default="")
    optional = {key: at(vmi, "spec", key) for key in _COPIED}
    optional |= {"affinity": affinity, "runtimeClassName": runtime_class or None}
    optional["resourceClaims"] = _resource_claims(vmi)
    optional["subdomain"] = at(vmi, "spec", "subdomain")
    optional["securityContext"] = _security_context(kubevirt)
    spec |= {key: value for key, value in optional.items() if value}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "generateName": f"virt-launcher-{_name(vmi)}-",
            "namespace": at(vmi, "metadata", "namespace", default="default"),
            "labels": _labels(vmi) | dict.fromkeys(reservations, ""),
            "annotations": _annotations(vmi, kubevirt, overhead),
            "ownerReferences": [owner_reference(vmi)],
        },
        "spec": spec,
    }


def owner_reference(owner: KubernetesObject) -> dict[str, Any]:
    """The ownerReference that marks this object as the controller of another."""
    return {
        "apiVersion": owner.get("apiVersion", names.API_VERSION),
        "kind": owner.get("kind", "VirtualMachineInstance"),
        "name": _name(owner),
        "uid": uid_of(owner),
        "controller": True,
        "blockOwnerDeletion": True,
    }


def _grace_seconds(vmi: KubernetesObject) -> int:
    return int(at(vmi, "spec", "terminationGracePeriodSeconds", default=30))


def _security_context(kubevirt: KubernetesObject) -> dict[str, Any] | None:
    """The seccomp profile only: without it a namespace of level restricted refuses the pod."""
    profile: Json = setting(
        kubevirt, "seccompConfiguration", "virtualMachineInstanceProfile", "customProfile",
        default={},
    )  # fmt: skip
    if profile.get("localhostProfile") is not None:
        local = {"type": "Localhost", "localhostProfile": profile["localhostProfile"]}
        return {"seccompProfile": local}
    if profile.get("runtimeDefaultProfile"):
        return {"seccompProfile": {"type": "RuntimeDefault"}}
    return None


def _containers(
    vmi: KubernetesObject, kubevirt: KubernetesObject, overhead: int, around: Surroundings
) -> list[dict[str, Any]]:
    requests, limits = compute_resources(vmi, kubevirt, overhead, around)
    compute = container("compute", quantities(requests), quantities(limits))
    claims = resource_claims(vmi, kubevirt)
    if claims:
        compute["resources"]["claims"] = claims
    return [compute, *helper_containers(vmi, kubevirt)]


def _name(obj: KubernetesObject) -> str:
    return str(at(obj, "metadata", "name", default=""))


def _labels(vmi: KubernetesObject) -> dict[str, str]:
    name = _name(vmi)
    digest = hashlib.sha1(name.encode(), usedforsecurity=False).hexdigest()[:8]
    injected = annotations_of(vmi).get(names.ISTIO_INJECT)
    return {
        **labels_of(vmi),
        **({} if injected is None else {names.ISTIO_INJECT: injected}),
        names.APP: "virt-launcher",
        names.CREATED_BY: uid_of(vmi),
        names.VM_NAME: _hostname(vmi),
        names.VMI_ID: name if len(name) <= 63 else f"{name[:54]}-{digest}",
    }


def _annotations(
    vmi: KubernetesObject, kubevirt: KubernetesObject, overhead: int | None
) -> dict[str, str]:
    found = {names.DOMAIN: _name(vmi)}
    own = annotations_of(vmi).items()
    found |= {key: value for key, value in own if not key.startswith(_NOT_FOR_PODS)}
    found |= {names.TRANSPORT_UNIX: "true", names.EVICT_ONLY: ""}
    if overhead is not None and gate(kubevirt, "VmiMemoryOverheadReport"):
        found[names.MEMORY_OVERHEAD] = str(overhead)
    return found


def _hostname(vmi: KubernetesObject) -> str:
    return str(at(vmi, "spec", "hostname") or _name(vmi).split(".")[0][:63])


def claim_of(volume: Json) -> str:
    claim = at(volume, "persistentVolumeClaim", "claimName") or at(volume, "dataVolume", "name")
    return str(claim or "")


def _volumes(vmi: KubernetesObject) -> list[dict[str, Any]]:
    """Claims only: they restrict the pod to nodes that can reach its storage."""
    found = []
    hotplugged = hotplugged_volumes(vmi)
    for volume in at(vmi, "spec", "volumes", default=[]):
        backing = at(volume, "ephemeral", "persistentVolumeClaim", "claimName", default="")
        claim = claim_of(volume) or str(backing)
        if claim and volume["name"] not in hotplugged:
            found.append(_claim_volume(volume["name"], claim))
    sidecars = (str(at(sidecar, "pvc", "name", default="")) for sidecar in hook_sidecars(vmi))
    return [*found, *(_claim_volume(claim, claim) for claim in sidecars if claim)]


def _claim_volume(name: str, claim: str) -> dict[str, Any]:
    return {"name": name, "persistentVolumeClaim": {"claimName": claim}}


def _reservations(vmi: KubernetesObject, claims: Mapping[str, KubernetesObject]) -> Sequence[str]:
    volumes = {volume["name"]: volume for volume in at(vmi, "spec", "volumes", default=[])}
    keys = set()
    for disk in at(vmi, "spec", "domain", "devices", "disks", default=[]):
        claim = claims.get(claim_of(volumes.get(disk.get("name"), {})))
        if at(disk, "lun", "reservation") and claim is not None:
            keys.add(names.RESERVATION + uid_of(claim))
    return sorted(keys)


def _resource_claims(vmi: KubernetesObject) -> list[Json]:
    claims = at(vmi, "spec", "resourceClaims", default=[])
    kept = ("name", "resourceClaimName", "resourceClaimTemplateName")
    return [{key: claim[key] for key in kept if key in claim} for claim in claims]


def is_deleting(obj: KubernetesObject) -> bool:
    return at(obj, "metadata", "deletionTimestamp") is not None


def is_ready(pod: KubernetesObject) -> bool:
    """Whether a launcher pod runs: compute started, the other containers ready."""
    if phase_of(pod) != "Running" or is_deleting(pod):
        return False
    for status in at(pod, "status", "containerStatuses", default=[]):
        if status.get("name") in ("compute", "istio-proxy"):
            if at(status, "state", "running") is None:
                return False
        elif not status.get("ready"):
            return False
    return True


def is_launcher(pod: KubernetesObject) -> bool:
    """Whether a pod is a launcher and not the holder of a hotplugged volume."""
    return labels_of(pod).get(names.APP) == "virt-launcher"


def _is_hotplugged(volume: Any) -> bool:
    kinds = ("dataVolume", "persistentVolumeClaim")
    return any(bool(at(volume, kind, "hotpluggable")) for kind in kinds)


def hotplugged_volumes(vmi: KubernetesObject) -> frozenset[str]:
    """Names of volumes that were hotplugged. Another pod attaches them."""
    statuses = at(vmi, "status", "volumeStatus", default=[])
    named = {item["name"] for item in statuses if item.get("hotplugVolume") is not None}
    volumes = at(vmi, "spec", "volumes", default=[])
    return frozenset(named | {volume["name"] for volume in volumes if _is_hotplugged(volume)})


def backup_in_progress(vmi: KubernetesObject) -> str:
    """The name of the running backup; "" if there is none."""
    backup: Json = at(vmi, "status", "changedBlockTracking", "backupStatus", default={})
    return "" if backup.get("completed") else str(backup.get("backupName") or "")
