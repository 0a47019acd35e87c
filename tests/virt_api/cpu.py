"""virt-api's rules about a guest's CPUs. Source: KubeVirt 1.9.0, vmi-create-admitter.go."""

from __future__ import annotations

from collections.abc import Iterator

from gitbot.kubernetes.objects import Json, KubernetesObject, at
from gitbot.kubernetes.quantities import milli, whole
from gitbot.kubevirt.memory_overhead import vcpus_of
from gitbot.kubevirt.webhook_answers import Cause, invalid_value
from tests.virt_api.amounts import canonical
from tests.virt_api.causes import required_value
from tests.virt_api.memory import amount

_POLICIES = ("", "force", "require", "optional", "disable", "forbid")


def _cpu(spec: Json) -> Json:
    cpu: Json = at(spec, "domain", "cpu", default={})
    return cpu


def _given(spec: Json, side: str) -> str:
    return canonical(at(spec, "domain", "resources", side, "cpu", default="0"))


def cpu_amounts(spec: Json, path: str, kubevirt: KubernetesObject) -> Iterator[Cause]:
    """Not negative, and no request above the limit."""
    for side in ("requests", "limits"):
        field = f"{path}.domain.resources.{side}.cpu"
        if milli(_given(spec, side)) < 0:
            text = f"{field} '{_given(spec, side)}': must be greater than or equal to 0."
            yield invalid_value(field, text)
    request, limit = _given(spec, "requests"), _given(spec, "limits")
    if 0 < milli(limit) < milli(request):
        field, most = (f"{path}.domain.resources.{side}.cpu" for side in ("requests", "limits"))
        yield invalid_value(field, f"{field} '{request}' is greater than {most} '{limit}'")


def cpu_pinning(spec: Json, path: str, kubevirt: KubernetesObject) -> Iterator[Cause]:
    """What dedicated CPUs ask for."""
    if not _cpu(spec).get("dedicatedCpuPlacement"):
        return
    resources = f"{path}.domain.resources"
    memory: Json = at(spec, "domain", "memory", default={})
    known = amount(spec, "limits") or amount(spec, "requests") or memory.get("hugepages")
    if not known and not whole(memory.get("guest") or 0):
        listed = f"{resources}.requests.memory, {resources}.limits.memory, "
        listed += f"{path}.domain.memory.hugepages or {path}.domain.memory.guest"
        yield invalid_value(f"{resources}.limits.memory", f"{listed} should be provided")
    for side in ("requests", "limits"):
        if milli(_given(spec, side)) % 1000:
            text = f"provided resources CPU {side} must be an interger"
            yield invalid_value(f"{resources}.{side}.cpu", text)
    request, limit = amount(spec, "requests"), amount(spec, "limits")
    if request > 0 and limit > 0 and request != limit:
        field = f"{resources}.requests.memory"
        yield invalid_value(field, f"{field} must be equal to {resources}.limits.memory")
    yield from _counts(spec, path)


def _counts(spec: Json, path: str) -> Iterator[Cause]:
    resources, field = f"{path}.domain.resources", f"{path}.domain.cpu.dedicatedCpuPlacement"
    request, limit = (whole(_given(spec, side)) for side in ("requests", "limits"))
    count, asked = vcpus_of(_cpu(spec)), f"{resources}.requests.cpu or {resources}.limits.cpu"
    ending = "when DedicatedCPUPlacement is true "
    if not request and not limit and not count:
        text = f"either {asked} or {path}.domain.cpu.cores must be provided {ending}"
        yield invalid_value(field, text)
    if request > 0 and limit > 0 and request != limit:
        yield invalid_value(field, f"{asked} must be equal {ending}")
    if (request > 0 or limit > 0) and count > 0 and count not in (request, limit):
        text = f"must not be provided at the same time with {path}.domain.cpu.cores {ending}"
        yield invalid_value(field, f"{asked} {text}")
    threads = int(_cpu(spec).get("threads") or 0)
    if threads > 1 and spec.get("architecture") == "arm64":
        text = f"threads must not be greater than 1 at {path}.domain.cpu.threads (got {threads})"
        yield invalid_value(f"{path}.architecture", f"{text} when {path}.architecture is arm64")
    if threads > 2:
        text = f"Not more than two threads must be provided at {path}.domain.cpu.threads (got "
        yield invalid_value(field, f"{text}{threads}) when DedicatedCPUPlacement is true")


def numa(spec: Json, path: str, kubevirt: KubernetesObject) -> Iterator[Cause]:
    """A guest that sees the host's NUMA nodes needs CPUs and hugepages of its own."""
    field = f"{path}.domain.cpu.numa.guestMappingPassthrough"
    if at(_cpu(spec), "numa", "guestMappingPassthrough") is None:
        return
    ending = f"when NUMA topology strategy is set in {field}"
    if not _cpu(spec).get("dedicatedCpuPlacement"):
        text = f"{path}.domain.cpu.dedicatedCpuPlacement must be set to true {ending}"
        yield invalid_value(field, text)
    if at(spec, "domain", "memory", "hugepages") is None:
        yield invalid_value(field, f"{path}.domain.memory.hugepages must be requested {ending}")


def isolated_thread(spec: Json, path: str, kubevirt: KubernetesObject) -> Iterator[Cause]:
    """The emulator's thread has a CPU of its own only beside dedicated ones."""
    cpu = _cpu(spec)
    if cpu.get("isolateEmulatorThread") and not cpu.get("dedicatedCpuPlacement"):
        text = "IsolateEmulatorThread should be only set in combination with DedicatedCPUPlacement"
        yield invalid_value(f"{path}.domain.cpu.isolateEmulatorThread", text)


def cpu_features(spec: Json, path: str, kubevirt: KubernetesObject) -> Iterator[Cause]:
    """Only libvirt's policies."""
    for index, feature in enumerate(_cpu(spec).get("features") or ()):
        policy = feature.get("policy") or ""
        if policy not in _POLICIES:
            yield Cause(
                reason="FieldValueNotSupported",
                message=(
                    f"CPU feature {feature.get('name')} uses policy {policy} that is not supported."
                ),
                field=f"{path}.domain.cpu.features[{index}].policy",
            )


def cpu_hotplug(spec: Json, path: str, kubevirt: KubernetesObject) -> Iterator[Cause]:
    """No more sockets than the most."""
    most = int(_cpu(spec).get("maxSockets") or 0)
    if most and int(_cpu(spec).get("sockets") or 0) > most:
        text = "Number of sockets in CPU topology is greater than the maximum sockets allowed"
        yield invalid_value(f"{path}.domain.cpu.sockets", text)


def realtime(spec: Json, path: str, kubevirt: KubernetesObject) -> Iterator[Cause]:
    """Realtime guests need dedicated CPUs and the host's NUMA nodes."""
    cpu = _cpu(spec)
    if cpu.get("realtime") is None:
        return
    used = f"{path}.domain.cpu.realtime is used"
    if not cpu.get("dedicatedCpuPlacement"):
        field = f"{path}.domain.cpu.dedicatedCpuPlacement"
        yield required_value(field, f"{field} must be set to true when {used}")
    if at(cpu, "numa", "guestMappingPassthrough") is None:
        field = f"{path}.domain.cpu.numa.guestMappingPassthrough"
        yield required_value(field, f"{field} must be defined when {used}")
