"""virt-api's rules about a guest's memory. Source: KubeVirt 1.9.0, vmi-create-admitter.go."""

from __future__ import annotations

from collections.abc import Iterator

from gitbot.kubernetes.objects import Json, KubernetesObject, at
from gitbot.kubernetes.quantities import whole
from gitbot.kubevirt.kubevirt_object import setting
from gitbot.kubevirt.webhook_answers import Cause, invalid_value
from tests.virt_api.amounts import canonical

_LEAST = 1_000_000


def amount(spec: Json, side: str) -> int:
    """Bytes of `domain.resources.<side>.memory`, 0 where there is none."""
    return whole(at(spec, "domain", "resources", side, "memory", default=0))


def text_of(spec: Json, side: str) -> str:
    """The same as Kubernetes prints it."""
    return canonical(at(spec, "domain", "resources", side, "memory", default="0"))


def memory_amounts(spec: Json, path: str, kubevirt: KubernetesObject) -> Iterator[Cause]:
    """Neither negative nor tiny, and no request above the limit."""
    request, limit = amount(spec, "requests"), amount(spec, "limits")
    asked, capped = f"{path}.domain.resources.requests.memory", f"{path}.domain.resources.limits"
    if request < 0:
        text = f"{asked} '{text_of(spec, 'requests')}': must be greater than or equal to 0."
        yield invalid_value(asked, text)
    elif 0 < request < _LEAST:
        text = f"{asked} '{text_of(spec, 'requests')}': must be greater than or equal to 1M."
        yield invalid_value(asked, text)
    if limit < 0:
        text = f"{capped}.memory '{text_of(spec, 'limits')}': must be greater than or equal to 0."
        yield invalid_value(f"{capped}.memory", text)
    if 0 < limit < request:
        text = f"'{text_of(spec, 'requests')}' is greater than {capped}.memory"
        yield invalid_value(asked, f"{asked} {text} '{text_of(spec, 'limits')}'")


def hugepages(spec: Json, path: str, kubevirt: KubernetesObject) -> Iterator[Cause]:
    """Whole pages, at least one."""
    size = at(spec, "domain", "memory", "hugepages", "pageSize")
    if at(spec, "domain", "memory", "hugepages") is None:
        return
    field = f"{path}.domain.memory.hugepages.pageSize"
    try:
        page = whole(size)
    except ValueError:
        text = "quantities must match the regular expression "
        expression = "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
        yield invalid_value(field, f"{field} '{size}': {text}{expression}")
        return
    guest = whole(at(spec, "domain", "memory", "guest", default=0))
    memory = amount(spec, "requests") or guest or amount(spec, "limits")
    asked = f"{path}.domain.resources.requests.memory"
    given = text_of(spec, "requests")
    if memory and memory < page:
        text = f"must be equal to or larger than page size {field} '{size}'"
        yield invalid_value(asked, f"{asked} '{given}' {text}")
    elif page and memory % page:
        text = f"is not a multiple of the page size {field} '{size}'"
        yield invalid_value(asked, f"{asked} '{given}' {text}")


def guest_memory(spec: Json, path: str, kubevirt: KubernetesObject) -> Iterator[Cause]:
    """No more than the limit, where a change needs a restart anyway."""
    guest = at(spec, "domain", "memory", "guest")
    if guest is None or setting(kubevirt, "vmRolloutStrategy", default="LiveUpdate") != "Stage":
        return
    limit = amount(spec, "limits")
    if limit and limit < whole(guest):
        field, most = f"{path}.domain.memory.guest", f"{path}.domain.resources.limits.memory"
        text = f"must be equal to or less than the memory limit {most} '{text_of(spec, 'limits')}'"
        yield invalid_value(field, f"{field} '{guest}' {text}")


_BLOCK, _LARGE_BLOCK = 0x200000, 0x40000000


def hotplug_problem(spec: Json) -> str:
    """Why memory cannot be plugged into this guest although it has a `maxGuest`, "" where it can.

    Source: KubeVirt 1.9.0, pkg/liveupdate/memory.
    """
    domain: Json = spec.get("domain") or {}
    if at(domain, "cpu", "realtime") is not None:
        return "Memory hotplug is not compatible with realtime VMs"
    if at(domain, "cpu", "numa", "guestMappingPassthrough") is not None:
        return "Memory hotplug is not compatible with guest mapping passthrough"
    if domain.get("launchSecurity") is not None:
        return "Memory hotplug is not compatible with encrypted VMs"
    huge = at(domain, "memory", "hugepages", "pageSize") == "1Gi"
    block, words = (_LARGE_BLOCK, "1Gi") if huge else (_BLOCK, "2Mi")
    if at(domain, "memory", "guest") is None:
        return "Guest memory must be configured when memory hotplug is enabled"
    guest, most = whole(domain["memory"]["guest"]), whole(domain["memory"]["maxGuest"])
    if guest > most:
        return "Guest memory is greater than the configured maxGuest memory"
    if guest % block:
        return f"Guest memory must be {words} aligned"
    if most % block:
        return f"MaxGuest must be {words} aligned"
    if spec.get("architecture", "amd64") != "amd64":
        return "Memory hotplug is only available for x86_64 VMs"
    if guest < _LARGE_BLOCK:
        return "Memory hotplug is only available for VMs with at least 1Gi of guest memory"
    return ""
