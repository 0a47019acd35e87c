"""The claim that holds a VM's TPM, EFI and backup state beside its launcher pod.

Source: KubeVirt, pkg/storage/backend-storage/backend-storage.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
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
    found: KubernetesObject | None,
    *,
    migrates: bool,
) -> StateClaim | None:
    """The claim that the VMI's next launcher pod mounts; None if it needs none.

    `found` is the VM's present claim (`claims_by_vm`). A start uses it (CreatePVCForVMI). A
    migration shares it only if its first access mode is ReadWriteMany; else KubeVirt creates a new
    claim for the target, and deletes the old one at the end (CreatePVCForMigrationTarget).
    """
    if not needs_state(vmi):
        return None
    if found is not None and not (migrates and _modes(found)[:1] != ["ReadWriteMany"]):
        return StateClaim(name=name_of(found).name)
    named = f"{PREFIX}-{name_of(vmi).name}-new"  # KubeVirt ends the name at random
    return StateClaim(name=named, new=_new_claim(vmi, storage, named))


def claims_by_vm(claims: Iterable[KubernetesObject]) -> dict[str, KubernetesObject]:
    """The claims with state among those of a namespace, by the name of their VM (PVCForVMI).

    KubeVirt finds one by its label, else by the name that old releases gave.
    """
    old: dict[str, KubernetesObject] = {}
    labelled: dict[str, KubernetesObject] = {}
    for claim in claims:
        name = name_of(claim).name
        if at(claim, "metadata", "deletionTimestamp"):
            continue
        if PREFIX in labels_of(claim):
            labelled.setdefault(labels_of(claim)[PREFIX], claim)
        if name.startswith(f"{PREFIX}-"):
            old[name.removeprefix(f"{PREFIX}-")] = claim
    return {**old, **labelled}


def claim_told(vmi: KubernetesObject) -> KubernetesObject | None:
    """The claim as the VMI's status names it: all that a dump without claims tells."""
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
