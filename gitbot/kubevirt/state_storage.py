"""The claim that holds a VM's TPM, EFI and backup state beside its launcher pod.

Source: KubeVirt, pkg/storage/backend-storage/backend-storage.go.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from gitbot.kubernetes.objects import Json, KubernetesObject, annotations_of, at, labels_of, name_of
from gitbot.kubevirt.kubevirt_object import setting

PREFIX = "persistent-state-for"
DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class"
DEFAULT_VIRT_CLASS = "storageclass.kubevirt.io/is-default-virt-class"
_TRACKED = ("Initializing", "Enabled")  # pkg/storage/cbt (HasCBTStateEnabled)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterStorage:
    """What decides a new claim: the KubeVirt object, StorageClasses and CDI's StorageProfiles."""

    kubevirt: KubernetesObject = field(default_factory=dict)
    classes: Sequence[KubernetesObject] = ()
    profiles: Mapping[str, KubernetesObject] = field(default_factory=dict)  # by class


@dataclass(frozen=True, slots=True, kw_only=True)
class StateClaim:
    """The claim of a launcher pod; `new` is the object if KubeVirt creates it with the pod."""

    name: str
    new: Json | None = None


def needs_state(vmi: KubernetesObject) -> bool:
    """IsBackendStorageNeeded."""
    domain: Json = at(vmi, "spec", "domain", default={})
    tpm: Json | None = at(domain, "devices", "tpm")
    if tpm is not None and tpm.get("enabled") is not False and tpm.get("persistent"):
        return True
    if at(domain, "firmware", "bootloader", "efi", "persistent"):
        return True
    return at(vmi, "status", "changedBlockTracking", "state") in _TRACKED


def state_claim(
    vmi: KubernetesObject,
    storage: ClusterStorage,
    claims: Mapping[str, KubernetesObject],
    *,
    migrates: bool,
) -> StateClaim | None:
    """The claim that the VMI's next launcher pod mounts; None if it needs none.

    `claims` are those of its namespace, by name. A start uses the VM's claim (CreatePVCForVMI). A
    migration shares it only if its first access mode is ReadWriteMany; else KubeVirt creates a new
    claim for the target, and deletes the old one at the end (CreatePVCForMigrationTarget).
    """
    if not needs_state(vmi):
        return None
    found = _claim_of(vmi, claims)
    if found is None and not claims:  # a dump without claims: the VMI tells the modes
        found = _told(vmi)
    if found is not None and not (migrates and _modes(found)[:1] != ["ReadWriteMany"]):
        return StateClaim(name=name_of(found).name)
    named = f"{PREFIX}-{name_of(vmi).name}-new"  # KubeVirt ends the name at random
    return StateClaim(name=named, new=_new_claim(vmi, storage, named))


def _claim_of(
    vmi: KubernetesObject, claims: Mapping[str, KubernetesObject]
) -> KubernetesObject | None:
    """PVCForVMI: by label, else by the name that old releases gave."""
    name = name_of(vmi).name
    living = [claim for claim in claims.values() if not at(claim, "metadata", "deletionTimestamp")]
    labelled = (claim for claim in living if labels_of(claim).get(PREFIX) == name)
    old = (claim for claim in living if name_of(claim).name == f"{PREFIX}-{name}")
    return next(labelled, None) or next(old, None)


def _told(vmi: KubernetesObject) -> KubernetesObject | None:
    for status in at(vmi, "status", "volumeStatus", default=[]):
        info: Json = status.get("persistentVolumeClaimInfo") or {}
        if str(status.get("name")).startswith(PREFIX) and info.get("claimName"):
            modes = {"accessModes": info.get("accessModes")}
            return {"metadata": {"name": info["claimName"]}, "status": modes}
    return None


def _modes(claim: KubernetesObject) -> list[str]:
    modes: list[str] = list(at(claim, "status", "accessModes", default=[]))
    return modes


def _new_claim(vmi: KubernetesObject, storage: ClusterStorage, name: str) -> Json:
    """`createPVC`. Without any class KubeVirt creates no claim; the object then names none."""
    chosen = str(setting(storage.kubevirt, "vmStateStorageClass", default=""))
    named = chosen or default_class(storage.classes, DEFAULT_VIRT_CLASS, DEFAULT_CLASS)
    mode = _access_mode(storage.profiles.get(named), "ReadWriteMany" if chosen else "ReadWriteOnce")
    return {
        "metadata": {"name": name, "namespace": name_of(vmi).namespace},
        "spec": {
            "accessModes": [mode],
            "storageClassName": named,
            "volumeMode": "Filesystem",
            "resources": {"requests": {"storage": "10Mi"}},
        },
        "status": {"phase": "Pending"},
    }


def default_class(classes: Sequence[KubernetesObject], *annotations: str) -> str:
    """The class with the first of these annotations that any has (getStorageClass); else ""."""
    for annotation in annotations:
        named = [name_of(obj).name for obj in classes if _says(obj, annotation)]
        if named:
            return named[-1]
    return ""


def _says(obj: KubernetesObject, annotation: str) -> bool:
    return annotations_of(obj).get(annotation) == "true"


def _access_mode(profile: KubernetesObject | None, default: str) -> str:
    """getAccessMode, for file systems."""
    modes = {
        mode
        for properties in at(profile, "status", "claimPropertySets", default=[])
        if properties.get("volumeMode") == "Filesystem"
        for mode in properties.get("accessModes") or ()
    }
    wanted = ("ReadWriteMany", "ReadWriteOnce")
    return next((mode for mode in wanted if mode in modes), default)
