"""Reading the KubeVirt object: settings with the defaults of KubeVirt 1.9, and feature gates.

Source: KubeVirt 1.9.0, pkg/virt-config (virt-config.go, featuregate/active.go).
"""

from __future__ import annotations

from typing import Any

from gitbot.model.objects import Json, KubernetesObject, at

DEFAULT_CPU_ALLOCATION_RATIO = 10
DEFAULT_MEMORY_OVERCOMMIT = 100
CONTROLLER_ACCOUNT = "kubevirt-controller"

# Gates that KubeVirt 1.9 counts as Beta, hence on unless disabled; everything else is off.
BETA_GATES = frozenset(
    {
        "DeclarativeHotplugVolumes",
        "ExternalNetResourceInjection",
        "GPUsWithDRA",
        "HostDevicesWithDRA",
        "ImageVolume",
        "KubevirtSeccompProfile",
        "LibvirtHooksServerAndClient",
        "NodeRestriction",
        "OptOutRoleAggregation",
        "PasstBinding",
        "PodSecondaryInterfaceNamingUpgrade",
        "RebootPolicy",
        "Snapshot",
        "Template",
        "VmiMemoryOverheadReport",
        "WorkloadEncryptionSEV",
    }
)


def setting(kubevirt: KubernetesObject, *path: str, default: Any = None) -> Any:
    """A value below `spec.configuration`; the default where it is missing or null."""
    return at(kubevirt, "spec", "configuration", *path, default=default)


def gate(kubevirt: KubernetesObject, name: str) -> bool:
    """Whether a feature gate is on: named on, else named off, else on where Beta."""
    developer: Json = setting(kubevirt, "developerConfiguration", default={})
    if name in (developer.get("featureGates") or ()):
        return True
    if name in (developer.get("disabledFeatureGates") or ()):
        return False
    return name in BETA_GATES


def emulation(kubevirt: KubernetesObject) -> bool:
    """Whether software emulation is allowed: then no kvm and no vhost-net device is requested."""
    return bool(setting(kubevirt, "developerConfiguration", "useEmulation", default=False))


def support_resource(
    kubevirt: KubernetesObject, container: str, side: str, resource: str, default: str
) -> str:
    """A resource of a helper container (`container-disk`, `guest-console-log`, `sidecar`, ...).

    `side` is `requests` or `limits`; quantities as Kubernetes writes them.
    """
    for entry in setting(kubevirt, "supportContainerResources", default=[]):
        if entry.get("type") == container:
            return str(at(entry, "resources", side, resource, default=default))
    return default


def kubevirt_namespace(kubevirt: KubernetesObject) -> str:
    """The namespace that KubeVirt is installed in."""
    return str(at(kubevirt, "metadata", "namespace", default="kubevirt"))


def controller_user(kubevirt: KubernetesObject) -> str:
    """The user name of virt-controller, the only one that may set a migration's priority."""
    return f"system:serviceaccount:{kubevirt_namespace(kubevirt)}:{CONTROLLER_ACCOUNT}"
