"""Reading the KubeVirt object: settings with the defaults of KubeVirt, and feature gates."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from gitbot.kubernetes.objects import Json, KubernetesObject, at
from gitbot.kubevirt.versions import Version, gates_on

DEFAULT_CPU_ALLOCATION_RATIO = 10
DEFAULT_MEMORY_OVERCOMMIT = 100
CONTROLLER_ACCOUNT = "kubevirt-controller"


def version_of(kubevirt: KubernetesObject) -> Version | None:
    """Major, minor and patch of the KubeVirt that runs; None if it does not say, as `devel`."""
    return _numbers(str(at(kubevirt, "status", "observedKubeVirtVersion", default="")))


@lru_cache(maxsize=8)
def _numbers(observed: str) -> Version | None:
    found = re.match(r"v?(\d+)\.(\d+)\.(\d+)", observed)
    return (int(found[1]), int(found[2]), int(found[3])) if found else None


def setting(kubevirt: KubernetesObject, *path: str, default: Any = None) -> Any:
    """A value below `spec.configuration`; `default` if it is missing or null."""
    return at(kubevirt, "spec", "configuration", *path, default=default)


def gate(kubevirt: KubernetesObject, name: str) -> bool:
    """Whether a feature gate is on. Enabled beats disabled by name; else the default counts."""
    developer: Json = setting(kubevirt, "developerConfiguration", default={})
    if name in (developer.get("featureGates") or ()):
        return True
    if name in (developer.get("disabledFeatureGates") or ()):
        return False
    return name in gates_on(version_of(kubevirt))


def emulation(kubevirt: KubernetesObject) -> bool:
    """Whether software emulation is allowed. If so, the pod requests no kvm or vhost-net device."""
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
    return str(at(kubevirt, "metadata", "namespace", default="kubevirt"))


def controller_user(kubevirt: KubernetesObject) -> str:
    """The user name of virt-controller. Only this user may set a migration's priority."""
    return f"system:serviceaccount:{kubevirt_namespace(kubevirt)}:{CONTROLLER_ACCOUNT}"
