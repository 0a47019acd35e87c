"""The launcher pods of a VMI: the one that runs it (source) and the one of a migration (target).

Both are returned as the API server would store them, reduced to what scheduling and quotas see. The
source of every rule is KubeVirt (pkg/virt-controller), compared with recorded pods.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gitbot.kubernetes.objects import Json, KubernetesObject, at, labels_of, name_of, uid_of
from gitbot.kubevirt import names
from gitbot.kubevirt.compute_resources import Surroundings
from gitbot.kubevirt.containers import container_disks
from gitbot.kubevirt.kubevirt_object import gate, setting
from gitbot.kubevirt.launcher_pod import launcher_pod
from gitbot.kubevirt.node_selector import (
    launcher_node_selector,
    migration_cpu_selector,
    with_anti_affinity,
)
from gitbot.kubevirt.pod_defaults import ClassObjects, stored_pod


def source_pod(
    vmi: KubernetesObject,
    kubevirt: KubernetesObject,
    namespace_object: KubernetesObject | None = None,
    *,
    quotas: Sequence[KubernetesObject] = (),
    claims: Mapping[str, KubernetesObject] | None = None,
    classes: ClassObjects | None = None,
    state_claim: str | None = None,
) -> dict[str, Any]:
    """The launcher pod that starts this VMI.

    `quotas` are the ResourceQuotas and `claims` the PersistentVolumeClaims (by name) of its
    namespace; `classes` is what the API server's defaulting looks up; `state_claim` is the claim
    with TPM and EFI state (state_storage.py), None for the one that the VMI names.
    """
    around = Surroundings(namespace=namespace_object or {}, quotas=tuple(quotas))
    pod = launcher_pod(vmi, kubevirt, around=around, claims=claims)
    pod["spec"]["volumes"] += _state_volume(vmi, None, state_claim)
    return stored_pod(pod, classes or ClassObjects())


def target_pod(
    *,
    vmi: KubernetesObject,
    source_pod: KubernetesObject | None,
    migration: KubernetesObject,
    kubevirt: KubernetesObject,
    source_node: KubernetesObject | None = None,
    namespace_object: KubernetesObject | None = None,
    quotas: Sequence[KubernetesObject] = (),
    claims: Mapping[str, KubernetesObject] | None = None,
    classes: ClassObjects | None = None,
    containers: Sequence[Json] | None = None,
    state_claim: str | None = None,
) -> dict[str, Any]:
    """The target pod of a migration of this VMI, without a node.

    `source_pod` is the live launcher pod: a host-model guest keeps the CPU labels of that pod. If
    it is None, the labels of `source_node` are used, as on a first migration. `migration` needs
    `spec.addedNodeSelector` and, for the pod's labels, name and UID. `containers` as in
    `launcher_pod`, `state_claim` as in `source_pod`.
    """
    around = Surroundings(namespace=namespace_object or {}, quotas=tuple(quotas))
    pod = launcher_pod(
        vmi,
        kubevirt,
        around=around,
        claims=claims,
        known_images=frozenset(container_disks(vmi)),
        containers=containers,
    )
    metadata, spec = pod["metadata"], pod["spec"]
    spec["volumes"] = [*spec["volumes"], *_state_volume(vmi, source_pod, state_claim)]
    own_pods = {"matchLabels": {names.CREATED_BY: uid_of(vmi)}}
    term = {"labelSelector": own_pods, "topologyKey": names.HOSTNAME}
    spec["affinity"] = with_anti_affinity(spec.get("affinity"), [term])
    added: Mapping[str, str] = at(migration, "spec", "addedNodeSelector", default={})
    spec["nodeSelector"] = _merged(vmi, added, spec["nodeSelector"], source_pod, source_node)
    metadata["labels"] |= {names.MIGRATION_UID: uid_of(migration)}
    metadata["annotations"] |= {
        names.MIGRATION_NAME: str(at(migration, "metadata", "name", default=""))
    }
    if at(vmi, "status", "runtimeUser", default=0):
        metadata["annotations"] |= {names.NONROOT: "true"}
    return stored_pod(pod, classes or ClassObjects())


def _state_volume(
    vmi: KubernetesObject, source_pod: KubernetesObject | None, named: str | None
) -> list[Any]:
    """The volume with TPM and EFI state."""
    if named is not None:
        claim = {"claimName": named}
        return [{"name": "vm-state", "persistentVolumeClaim": claim}] if named else []
    volumes = at(source_pod, "spec", "volumes", default=[])
    kept = [volume for volume in volumes if volume.get("name") == "vm-state"]
    for status in () if kept else at(vmi, "status", "volumeStatus", default=[]):
        claim = at(status, "persistentVolumeClaimInfo", "claimName")
        if status.get("name") == "persistent-state-for-this-vm" and claim:
            kept.append({"name": "vm-state", "persistentVolumeClaim": {"claimName": claim}})
    return kept


def _merged(
    vmi: KubernetesObject,
    added: Mapping[str, str],
    rendered: Mapping[str, str],
    source_pod: KubernetesObject | None,
    source_node: KubernetesObject | None,
) -> dict[str, str]:
    """The VM's values override addedNodeSelector, and the CPU labels override both."""
    selector = {**added, **rendered}
    source_selector = at(source_pod, "spec", "nodeSelector", default={})
    node_labels = labels_of(source_node or {})
    return selector | migration_cpu_selector(vmi, selector, source_selector, node_labels)


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class SelectorCollision:
    """A key that the migration and the VM's own pod require with different values.

    KubeVirt silently drops the migration's value, so the VM may move to another node.
    """

    key: str
    asked: str
    wins: str


def selector_collisions(
    *,
    vmi: KubernetesObject,
    source_pod: KubernetesObject | None,
    added_node_selector: Mapping[str, str],
    kubevirt: KubernetesObject,
    source_node: KubernetesObject | None = None,
) -> tuple[SelectorCollision, ...]:
    """The keys of addedNodeSelector that KubeVirt would drop, sorted."""
    if not added_node_selector:
        return ()
    rendered = launcher_node_selector(vmi, kubevirt)
    final = _merged(vmi, added_node_selector, rendered, source_pod, source_node)
    return tuple(
        SelectorCollision(key=key, asked=value, wins=final[key])
        for key, value in sorted(added_node_selector.items())
        if final[key] != value
    )


def vendor_guard_is_off(added_node_selector: Mapping[str, str]) -> bool:
    """Whether addedNodeSelector contains a CPU vendor.

    KubeVirt then skips its check for the vendor of the source node, and a guest may move to a node
    of the other vendor.
    """
    return any(key.startswith(names.CPU_VENDOR) for key in added_node_selector)


def why_no_target(
    vmi: KubernetesObject,
    kubevirt: KubernetesObject,
    source_node: KubernetesObject | None,
    source_pod: KubernetesObject | None = None,
) -> str:
    """Why virt-controller cannot create a target pod; "" if it can.

    KubeVirt reports this only in virt-controller's log; the migration stays Pending.
    """
    unfit = _cannot_render(vmi, kubevirt, source_pod)
    if unfit:
        return f"failed to render launch manifest: {unfit}"
    if source_node is None:
        node, name = at(vmi, "status", "nodeName", default=""), name_of(vmi).name
        return f'node "{node}" associated with vmi "{name}" does not exist'
    matches = setting(kubevirt, "migrations", "matchSELinuxLevelOnMigration")
    if matches is not False and not at(vmi, "status", "selinuxContext"):
        return "SELinux context not set on VMI status"
    return ""


def _cannot_render(
    vmi: KubernetesObject, kubevirt: KubernetesObject, source_pod: KubernetesObject | None
) -> str:
    unknown = _without_digest(vmi, kubevirt, source_pod)
    if unknown:
        return (
            "can not proceed with the migration when no reproducible image digest can be "
            f"detected: {unknown}"
        )
    refused = _not_permitted(vmi, kubevirt)
    if refused:
        return refused
    known: Json = setting(kubevirt, "network", "binding", default={})
    for interface in at(vmi, "spec", "domain", "devices", "interfaces", default=[]):
        binding = at(interface, "binding", "name")
        if binding is not None and binding not in known:
            return f"couldn't find configuration for network binding: {binding}"
    return _verbosity(vmi)


def _verbosity(vmi: KubernetesObject) -> str:
    """The label for the launcher's log verbosity must be a number."""
    text = labels_of(vmi).get(names.LOG_VERBOSITY)
    if text is None or re.fullmatch(r"[+-]?[0-9]+", text):
        return ""
    return f'verbosity {text} cannot cast to int: strconv.Atoi: parsing "{text}": invalid syntax'


def _not_permitted(vmi: KubernetesObject, kubevirt: KubernetesObject) -> str:
    permitted: Json | None = setting(kubevirt, "permittedHostDevices")
    if permitted is None:
        return ""
    listed = {
        device.get("resourceName")
        for kind in ("pciHostDevices", "mediatedDevices", "usb")
        for device in permitted.get(kind) or ()
    }
    devices: Json = at(vmi, "spec", "domain", "devices", default={})
    kinds = (("gpus", "GPU", "GPUsWithDRA"), ("hostDevices", "HostDevice", "HostDevicesWithDRA"))
    return " ".join(
        f"{word} {device.get('deviceName', '')} is not permitted in permittedHostDevices "
        "configuration"
        for kind, word, by_claim in kinds
        for device in devices.get(kind) or ()
        if device.get("deviceName") not in listed
        and not (gate(kubevirt, by_claim) and device.get("claimName"))
    )


def _without_digest(
    vmi: KubernetesObject, kubevirt: KubernetesObject, source_pod: KubernetesObject | None
) -> str:
    """A container disk without an image digest in the source pod, in KubeVirt's words."""
    statuses = list(at(source_pod, "status", "containerStatuses", default=[]))
    if gate(kubevirt, "ImageVolume"):
        statuses += at(source_pod, "status", "initContainerStatuses", default=[])
    images = {
        str(status.get("name")): str(status["imageID"])
        for status in statuses
        if "imageID" in status
    }  # Snapshots do not keep it, so it cannot be judged.
    for disk, image in container_disks(vmi).items():
        told = images.get(f"volume{disk}")
        if told is not None and "@sha256:" not in told:
            return f'failed to identify image digest for container "{image}" with id "{told}"'
    return ""
