"""What virt-api refuses in the parts of a VMI that only its guest sees.

Source: KubeVirt 1.9.0, vmi-create-admitter.go.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Sequence

from gitbot.kubernetes.labels import subdomain_problems
from gitbot.kubernetes.objects import Json, KubernetesObject, at
from gitbot.kubevirt.webhook_answers import Cause, invalid_value
from tests.virt_api.causes import required_value
from tests.virt_api.names import label_problems
from tests.virt_api.paths import file_path

_PROBES = ("httpGet", "tcpSocket", "exec", "guestAgentPing")
_PANIC_MODELS = (None, "hyperv", "isa", "pvpanic")


def names(spec: Json, path: str, kubevirt: KubernetesObject) -> Iterator[Cause]:
    """Host name and subdomain."""
    host, domain = spec.get("hostname") or "", spec.get("subdomain") or ""
    if host and (problems := label_problems(host)):
        text = f"does not conform to the kubernetes DNS_LABEL rules : {', '.join(problems)}"
        yield invalid_value(f"{path}.hostname", f"{path}.hostname {text}")
    if domain and (problems := subdomain_problems(domain)):
        text = f"does not conform to the kubernetes DNS_SUBDOMAIN rules : {', '.join(problems)}"
        yield invalid_value(f"{path}.subdomain", f"{path}.subdomain {text}")


def inputs(spec: Json, path: str, kubevirt: KubernetesObject) -> Iterator[Cause]:
    """Tablets on virtio or USB."""
    for index, item in enumerate(at(spec, "domain", "devices", "inputs", default=[])):
        field = f"{path}.domain.devices.inputs[{index}]"
        if item.get("bus") not in (None, "", "virtio", "usb"):
            yield invalid_value(f"{field}.bus", "Input device can have only virtio or usb bus.")
        if item.get("type") != "tablet":
            yield invalid_value(f"{field}.type", "Input device can have only tablet type.")


def probes(spec: Json, path: str, kubevirt: KubernetesObject) -> Iterator[Cause]:
    """One kind each; those over the network need the pod network."""
    given = [(f"{path}.{kind}", spec.get(kind)) for kind in ("readinessProbe", "livenessProbe")]
    for field, probe in given:
        count = sum(probe.get(kind) is not None for kind in _PROBES) if probe is not None else 1
        if count > 1:
            yield invalid_value(field, f"{field} must have exactly one probe type set")
        if count < 1:
            kinds = f"{field}.tcpSocket, {field}.exec or {field}.httpGet"
            yield required_value(field, f"either {kinds} must be set if a {field} is specified")
    if any(network.get("pod") is not None for network in spec.get("networks") or ()):
        return
    for field, probe in given:
        for kind in ("httpGet", "tcpSocket"):
            if at(probe, kind) is not None:
                text = f"{field}.{kind} is only allowed if the Pod Network is attached"
                yield invalid_value(f"{field}.{kind}", text)


def firmware(spec: Json, path: str, kubevirt: KubernetesObject) -> Iterator[Cause]:
    """One boot loader; a kernel from outside comes whole."""
    field = f"{path}.domain.firmware"
    loader = at(spec, "domain", "firmware", "bootloader", default={})
    if loader.get("efi") is not None and loader.get("bios") is not None:
        text = "has both EFI and BIOS configured, but they are mutually exclusive."
        yield invalid_value(f"{field}.bootloader", f"{field}.bootloader {text}")
    kernel = at(spec, "domain", "firmware", "kernelBoot")
    if kernel is None:
        return
    field, container = f"{field}.kernelBoot", kernel.get("container")
    if container is None:
        if kernel.get("kernelArgs"):
            text = "kernel arguments cannot be provided without an external kernel"
            yield invalid_value(f"{field}.kernelArgs", text)
        return
    field = f"{field}.container"
    if not container.get("image"):
        yield required_value(f"{field}.image", f"{field} must be defined with an image")
    if not container.get("initrdPath") and not container.get("kernelPath"):
        text = "must be defined with at least one of the following: kernelPath, initrdPath"
        yield required_value(field, f"{field} {text}")
    for key in ("kernelPath", "initrdPath"):
        if container.get(key):
            yield from file_path(f"{field}.{key}", container[key])


def dns(spec: Json, path: str, kubevirt: KubernetesObject) -> Iterator[Cause]:
    """DNS as in a pod; which policies there are is the schema's business."""
    policy, config = spec.get("dnsPolicy") or "", spec.get("dnsConfig")
    if policy == "None" and config is None:
        text = "must provide `dnsConfig` when `dnsPolicy` is None"
        yield required_value(f"{path}.dnsConfig", text)
    if config is None:
        return
    servers, searches = config.get("nameservers") or [], config.get("searches") or []
    if policy == "None" and not servers:
        text = "must provide at least one DNS nameserver when `dnsPolicy` is None"
        yield required_value("nameservers", text)
        return
    yield from _dns_servers(servers)
    yield from _dns_searches(searches)
    if any(not option.get("name") for option in config.get("options") or ()):
        yield invalid_value("options", "Option.Name must not be empty")


def _dns_servers(servers: Sequence[str]) -> Iterator[Cause]:
    if len(servers) > 3:
        text = f"must not have more than 3 nameservers: [{' '.join(servers)}]"
        yield invalid_value("nameservers", text)
    for server in servers:
        if not _is_address(server):
            yield invalid_value("nameservers", f"must be valid IP address: {server}")


def _dns_searches(searches: Sequence[str]) -> Iterator[Cause]:
    if len(searches) > 6:
        yield invalid_value("searchDomains", "must not have more than 6 search paths")
    if len(" ".join(searches)) > 256:
        text = "must not have more than 256 characters (including spaces) in the search list"
        yield invalid_value("searchDomains", text)
    for search in searches:
        for problem in subdomain_problems(search):
            yield invalid_value("searchDomains", problem)


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def sound(spec: Json, path: str, kubevirt: KubernetesObject) -> Iterator[Cause]:
    """A sound card of a known model, with a name."""
    device = at(spec, "domain", "devices", "sound")
    if device is None:
        return
    if device.get("model") not in (None, "", "ich9", "ac97"):
        text = "Sound device type is not supported. Options: 'ich9' or 'ac97'"
        yield invalid_value(f"{path}.Sound", text)
    if not device.get("name"):
        yield invalid_value(f"{path}.Sound", "Sound device requires a name field.")


def panic_devices(spec: Json, path: str, kubevirt: KubernetesObject) -> Iterator[Cause]:
    """Panic devices that the architecture has."""
    devices = at(spec, "domain", "devices", "panicDevices", default=[])
    field = f"{path}.domain.devices.panicDevices"
    if devices and spec.get("architecture") == "s390x":
        yield invalid_value(field, "custom panic devices are not supported on s390x architecture")
    for index, device in enumerate(devices):
        if device.get("model") not in _PANIC_MODELS:
            text = f"invalid PanicDeviceModel({device['model']})"
            yield invalid_value(f"{field}[{index}].model", text)


def service_account(spec: Json, path: str, kubevirt: KubernetesObject) -> Iterator[Cause]:
    """The account of the pod, also named by a volume."""
    name, field = spec.get("serviceAccountName") or "", f"{path}.serviceAccountName"
    if not name:
        return
    if problems := subdomain_problems(name):
        text = f"is not a valid service account name: {'; '.join(problems)}"
        yield invalid_value(field, f"{field} {text}")
    for volume in spec.get("volumes") or ():
        if volume.get("serviceAccount") is not None:
            other = volume["serviceAccount"].get("serviceAccountName") or ""
            if other != name:
                text = "must reference the same service account"
                text = f'"{name}" and serviceAccount volume "{other}" {text}'
                yield invalid_value(field, f"spec.serviceAccountName {text}")
                return
