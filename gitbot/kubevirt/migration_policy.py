"""Which MigrationPolicy applies to a VMI, and which settings a migration copies at its start."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from gitbot.kubernetes.objects import Json, KubernetesObject, at, labels_of, name_of
from gitbot.kubernetes.quantities import whole
from gitbot.kubevirt.kubevirt_object import setting
from gitbot.model.text.decoding import decoding

_DEFAULTS: Mapping[str, Any] = {
    "allowAutoConverge": False,
    "allowPostCopy": False,
    "allowWorkloadDisruption": False,
    "bandwidthPerMigration": "0",
    "completionTimeoutPerGiB": 150,
    "maxDowntimeMs": 900,
    "nodeDrainTaintKey": "kubevirt.io/drain",
    "parallelMigrationsPerCluster": 5,
    "parallelOutboundMigrationsPerNode": 2,
    "progressTimeout": 150,
    "unsafeMigrationOverride": False,
    "utilityVolumesTimeout": 150,
}
_OF_POLICY = (
    "allowAutoConverge",
    "bandwidthPerMigration",
    "completionTimeoutPerGiB",
    "maxDowntimeMs",
    "allowPostCopy",
    "allowWorkloadDisruption",
)
_COMPRESSIONS = ("zstd",)
"""KubeVirt after 1.9, alpha: libvirtCompressionMethods in live-migration-source.go."""


def matching_policy(
    policies: Iterable[KubernetesObject], vmi: KubernetesObject, namespace: KubernetesObject
) -> KubernetesObject | None:
    """The policy whose labels all match: most labels first, then most VMI labels, then by name.

    Empty selectors match every VMI with the lowest score; absent selectors match none.
    """
    found = []
    for policy in policies:
        with decoding("MigrationPolicy", policy):
            score = _score(policy, labels_of(vmi), labels_of(namespace))
        if score is not None:
            found.append((-score[0], -score[1], name_of(policy).name, policy))
    return min(found, key=lambda item: item[:3], default=(0, 0, "", None))[3]


def _score(
    policy: KubernetesObject, vmi: Mapping[str, str], namespace: Mapping[str, str]
) -> tuple[int, int] | None:
    selectors = at(policy, "spec", "selectors")
    if selectors is None:
        return None
    own: Json = selectors.get("virtualMachineInstanceSelector") or {}
    around: Json = selectors.get("namespaceSelector") or {}
    if any(vmi.get(key) != value for key, value in own.items()):
        return None
    if any(namespace.get(key) != value for key, value in around.items()):
        return None
    return len(own) + len(around), len(own)


def migration_settings(
    kubevirt: KubernetesObject, policy: KubernetesObject | None
) -> dict[str, Any]:
    """The settings of one migration: defaults, the KubeVirt object's, the policy's."""
    configured: Json = setting(kubevirt, "migrations", default={})
    set_there = {key: value for key, value in configured.items() if value is not None}
    settings = {**_DEFAULTS, **set_there}
    if "allowWorkloadDisruption" not in set_there:
        settings["allowWorkloadDisruption"] = settings["allowPostCopy"]
    spec: Json = at(policy, "spec", default={})
    settings |= {key: spec[key] for key in _OF_POLICY if spec.get(key) is not None}
    if spec.get("allowWorkloadDisruption") is None and spec.get("allowPostCopy") is not None:
        settings["allowWorkloadDisruption"] = spec["allowPostCopy"]
    if method := at(spec, "experimental", "compression"):
        settings["experimental"] = {**(settings.get("experimental") or {}), "compression": method}
    return settings


def compression(settings: Mapping[str, Any]) -> str:
    """How a migration is compressed, "" if it is not; virt-launcher ignores unknown methods."""
    method = at(settings, "experimental", "compression", default="")
    return method if method in _COMPRESSIONS else ""


def most_bandwidth(settings: Mapping[str, Any]) -> int:
    """The bandwidth limit of a migration, in bytes a second; 0 if there is none."""
    return whole(settings.get("bandwidthPerMigration", 0))


def time_to_copy(settings: Mapping[str, Any], memory: int) -> int:
    """Seconds of copying after which KubeVirt acts; 0 if it never does.

    It counts gigabytes, rounded up (getVMIMigrationDataSize in virt-launcher's manager.go). Then it
    switches to post-copy if allowed, else pauses the guest if allowed, else gives up.
    """
    return int(settings["completionTimeoutPerGiB"]) * -(-memory // 10**9)
