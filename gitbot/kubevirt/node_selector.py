"""The nodeSelector and the affinity of a launcher pod.

Source: KubeVirt, pkg/virt-controller/services (nodeselectorrenderer.go, template.go); every
rule was compared with pods that the real virt-controller made.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gitbot.kubernetes.objects import Json, KubernetesObject, at, with_value
from gitbot.kubevirt import names
from gitbot.kubevirt.kubevirt_object import gate, setting, version_of
from gitbot.kubevirt.versions import cpu_manager_label

HOST_MODEL = "host-model"
HOST_PASSTHROUGH = "host-passthrough"
# Enlightenments that need a feature of the host's kernel, by their name in the VMI.
_HYPERV_LABELS = {
    "vpindex": "vpindex",
    "runtime": "runtime",
    "reset": "reset",
    "synic": "synic",
    "synictimer": "synictimer",
    "frequencies": "frequencies",
    "reenlightenment": "reenlightenment",
    "tlbflush": "tlbflush",
    "ipi": "ipi",
}
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def launcher_node_selector(vmi: KubernetesObject, kubevirt: KubernetesObject) -> dict[str, str]:
    """The nodeSelector of every launcher pod of this VMI. Later entries override earlier ones."""
    selector = {names.SCHEDULABLE: "true"}
    architecture = str(at(vmi, "spec", "architecture", default=""))
    cross = gate(kubevirt, "CrossArchitectureVirtualization")
    if architecture:
        selector[names.ARCHITECTURE] = architecture.lower()
    selector |= setting(kubevirt, "developerConfiguration", "nodeSelectors", default={})
    selector |= at(vmi, "spec", "nodeSelector", default={})
    if cross and architecture:
        selector.pop(names.ARCHITECTURE, None)
    selector |= dict.fromkeys(_required_labels(vmi, kubevirt), "true")
    if cross and architecture:
        selector[names.VM_ARCHITECTURE + architecture] = "true"
    return selector


def _required_labels(vmi: KubernetesObject, kubevirt: KubernetesObject) -> Iterator[str]:
    domain: Json = at(vmi, "spec", "domain", default={})
    if at(domain, "cpu", "dedicatedCpuPlacement"):
        yield cpu_manager_label(version_of(kubevirt))
    if gate(kubevirt, "HypervStrictCheck"):
        yield from _hyperv_labels(at(domain, "features", "hyperv"))
    yield from _cpu_labels(at(domain, "cpu", default={}))
    machine = at(vmi, "status", "machine", "type") or at(domain, "machine", "type")
    if machine:
        yield names.MACHINE_TYPE + machine
    frequency = at(vmi, "status", "topologyHints", "tscFrequency", default=0)
    if frequency and needs_tsc_frequency(domain):
        yield f"{names.TSC_FREQUENCY}{frequency}"
    if at(domain, "cpu", "realtime") is not None:
        yield "kubevirt.io/realtime"
    architecture = at(vmi, "spec", "architecture")
    if architecture == "s390x" and domain.get("launchSecurity") is not None:
        yield "kubevirt.io/s390-pv"
    yield from _security_labels(at(domain, "launchSecurity", default={}))


def _cpu_labels(cpu: Json) -> Iterator[str]:
    model = cpu.get("model") or ""
    if not model:
        return
    if model not in (HOST_MODEL, HOST_PASSTHROUGH):
        yield names.CPU_MODEL + model
    for feature in cpu.get("features") or ():
        if feature.get("policy") in (None, "", "require"):
            yield names.CPU_FEATURE + feature["name"]


def _hyperv_labels(hyperv: Json | None) -> Iterator[str]:
    if hyperv is None:
        return
    for feature, label in _HYPERV_LABELS.items():
        if at(hyperv, feature, "enabled") is True:
            yield names.HYPERV + label
    if hyperv.get("evmcs") is not None and at(hyperv, "evmcs", "enabled") is not False:
        yield f"{names.CPU_VENDOR}Intel"


def _security_labels(security: Json) -> Iterator[str]:
    if security.get("sev") is not None or security.get("snp") is not None:
        yield "kubevirt.io/sev"
    if at(security, "sev", "policy", "encryptedState"):
        yield "kubevirt.io/sev-es"
    if security.get("snp") is not None:
        yield "kubevirt.io/sev-snp"
    if security.get("tdx") is not None:
        yield "kubevirt.io/tdx"


def needs_tsc_frequency(domain: Json) -> bool:
    """Whether the guest's clock requires nodes with one TSC frequency."""
    for feature in at(domain, "cpu", "features", default=[]):
        if feature.get("name") == "invtsc" and feature.get("policy") in ("require", "force"):
            return True
    return at(domain, "features", "hyperv", "reenlightenment", "enabled") is True


def launcher_affinity(
    vmi: KubernetesObject,
    kubevirt: KubernetesObject,
    reservations: Sequence[str] = (),
) -> Json | None:
    """The affinity of every launcher pod of this VMI; None if it has none.

    `reservations` are the label keys of PVCs with a SCSI reservation.
    """
    affinity: Json | None = at(vmi, "spec", "affinity")
    cpu: Json = at(vmi, "spec", "domain", "cpu", default={})
    if (cpu.get("model") or HOST_MODEL) == HOST_MODEL:
        affinity = _reject_label(affinity, names.OBSOLETE_HOST_MODEL)
    for feature in cpu.get("features") or ():
        if feature.get("policy") == "forbid":
            affinity = _reject_label(affinity, names.CPU_FEATURE + feature["name"])
    terms = [
        {
            "labelSelector": {"matchExpressions": [{"key": key, "operator": "Exists"}]},
            "topologyKey": names.HOSTNAME,
        }
        for key in reservations
    ]
    affinity = with_anti_affinity(affinity, terms)
    architecture = str(at(vmi, "spec", "architecture", default=""))
    if gate(kubevirt, "CrossArchitectureVirtualization") and architecture:
        affinity = _prefer_architecture(affinity, architecture)
    return affinity


def _reject_label(affinity: Json | None, label: str) -> Json:
    """Terms are alternatives, so every term gets the requirement."""
    demand = {"key": label, "operator": "DoesNotExist"}
    terms = at(affinity, "nodeAffinity", _REQUIRED, "nodeSelectorTerms")
    if terms is None:
        new: list[Any] = [{"matchExpressions": [demand]}]
    else:
        new = [
            {**term, "matchExpressions": [*(term.get("matchExpressions") or ()), demand]}
            for term in terms
        ]
    return with_value(affinity or {}, new, "nodeAffinity", _REQUIRED, "nodeSelectorTerms")


def with_anti_affinity(affinity: Json | None, terms: Sequence[Json]) -> Json | None:
    if not terms:
        return affinity
    own = at(affinity, "podAntiAffinity", _REQUIRED, default=[])
    return with_value(affinity or {}, [*own, *terms], "podAntiAffinity", _REQUIRED)


def _prefer_architecture(affinity: Json | None, architecture: str) -> Json:
    expression = {"key": names.ARCHITECTURE, "operator": "In", "values": [architecture.lower()]}
    term = {"weight": 100, "preference": {"matchExpressions": [expression]}}
    own = at(affinity, "nodeAffinity", _PREFERRED, default=[])
    return with_value(affinity or {}, [*own, term], "nodeAffinity", _PREFERRED)


def migration_cpu_selector(
    vmi: KubernetesObject,
    node_selector: Mapping[str, str],
    source_selector: Mapping[str, str],
    node_labels: Mapping[str, str],
) -> dict[str, str]:
    """Labels that a migration adds so that the guest's CPU fits: host-model, and the vendor.

    A host-model VMI takes them from its node on the first migration. Later ones copy them from the
    source pod, so they remain those of its first node. If a vendor key is already there, even from
    addedNodeSelector, KubeVirt skips the vendor guard.
    """
    added: dict[str, str] = {}
    if at(vmi, "spec", "domain", "cpu", "model") == HOST_MODEL:
        added = {
            key: value
            for key, value in source_selector.items()
            if names.CPU_FEATURE in key or names.MIGRATION_CPU in key
        } or _host_model(node_labels)
    if not any(key.startswith(names.CPU_VENDOR) for key in {**node_selector, **added}):
        vendors = sorted(key for key in node_labels if key.startswith(names.CPU_VENDOR))
        added |= dict.fromkeys(vendors[:1], "true")
    return added


def _host_model(labels: Mapping[str, str]) -> dict[str, str]:
    models = sorted(key for key in labels if key.startswith(names.HOST_MODEL))
    if not models:
        return {}
    model = models[-1]
    found = {names.MIGRATION_CPU + model.removeprefix(names.HOST_MODEL): labels[model]}
    for key, value in sorted(labels.items()):
        if key.startswith(names.HOST_MODEL_FEATURE):
            found[names.CPU_FEATURE + key.removeprefix(names.HOST_MODEL_FEATURE)] = value
    return found
