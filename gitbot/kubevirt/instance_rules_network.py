"""What virt-api refuses in the networks and interfaces of a VMI.

Source: KubeVirt 1.9.0, pkg/network/admitter, in its order. A VMI is asked twice, a template once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gitbot.kubevirt.configuration import gate, setting
from gitbot.kubevirt.rule import invalid_value, required_value
from gitbot.kubevirt.verdicts import Cause
from gitbot.model.objects import Json, KubernetesObject, at

_BINDINGS = ("bridge", "masquerade", "sriov", "passtBinding", "binding")
_SOURCES = ("pod", "multus", "resourceClaim")
_MODELS = ("", "e1000", "e1000e", "igb", "ne2k_pci", "pcnet", "rtl8139", "virtio")
_STATES = ("", "absent", "down", "up")
_NAME = re.compile(r"[A-Za-z0-9-_]+")
_MAC = re.compile(r"([0-9a-fA-F]{2}([:-])[0-9a-fA-F]{2}(\2[0-9a-fA-F]{2})*)|([0-9a-fA-F]{4}\.)+.*")
_PORT = re.compile(r"(?=.*[a-z])(?!.*--)[a-z0-9]([-a-z0-9]{0,13}[a-z0-9])?")
_RESERVED_MAC = "02:00:00:00:00:00"
_DISCONTINUED = {
    "slirp": "Slirp interface support has been discontinued since v1.3",
    "passt": "Passt network binding has been discontinued since v1.3",
    "macvtap": "Macvtap network binding has been discontinued since v1.3",
}
Items = Sequence[tuple[int, Json]]


def discontinued(spec: Json, path: str, kubevirt: KubernetesObject) -> Iterator[Cause]:
    """Bindings that older releases had."""
    del kubevirt
    for index, item in _interfaces(spec):
        for kind, text in _DISCONTINUED.items():
            if item.get(kind) is not None:
                yield invalid_value(f"{_at(path, index)}.{kind}", text)


def networks(spec: Json, path: str, kubevirt: KubernetesObject) -> Iterator[Cause]:
    """Networks, interfaces, and that each has the other."""
    yield from _sources(spec, path)
    known = {item.get("name"): item for item in spec.get("networks") or ()}
    for index, item in _interfaces(spec):
        yield from _state(item, _at(path, index), known.get(item.get("name"), {}))
    for index, item in _interfaces(spec):
        yield from _binding(item, _at(path, index), known.get(item.get("name"), {}), kubevirt)
    yield from _pairs(spec, path, kubevirt)
    for index, item in _interfaces(spec):
        yield from _fields(item, _at(path, index), known.get(item.get("name"), {}), kubevirt)


def _interfaces(spec: Json) -> Items:
    return list(enumerate(at(spec, "domain", "devices", "interfaces", default=[])))


def _at(path: str, index: int) -> str:
    return f"{path}.domain.devices.interfaces[{index}]"


def _sources(spec: Json, path: str) -> Iterator[Cause]:
    given = list(spec.get("networks") or ())
    pods = [item for item in given if item.get("pod") is not None]
    defaults = [item for item in given if at(item, "multus", "default")]
    if len(pods) > 1:
        text = f"more than one interface is connected to a pod network in {path}.interfaces"
        yield Cause(reason="FieldValueDuplicate", message=text, field=f"{path}.interfaces")
    if len(defaults) > 1:
        text = "Multus CNI should only have one default network"
        yield invalid_value(f"{path}.networks", text)
    if pods and defaults:
        text = "Pod network cannot be defined when Multus default network is defined"
        yield invalid_value(f"{path}.networks", text)
    for index, item in enumerate(given):
        count = sum(item.get(source) is not None for source in _SOURCES)
        if count != 1:
            text = "should have only one network type" if count else "should have a network type"
            yield required_value(f"{path}.networks[{index}]", text)
    for index, item in enumerate(given):
        if item.get("multus") is not None and not item["multus"].get("networkName"):
            text = "CNI delegating plugin must have a networkName"
            yield required_value(f"{path}.networks[{index}]", text)
            return


def _state(item: Json, field: str, network: Json) -> Iterator[Cause]:
    state, name = item.get("state") or "", item.get("name")
    where = f"{field}.state"
    if state not in _STATES:
        text = f"logical {name} interface state value is unsupported: {state}"
        yield invalid_value(where, text)
    said = f'"{name}" interface\'s state "{state}" is'
    if item.get("sriov") is not None and state in ("down", "up"):
        yield invalid_value(where, f"{said} not supported for SR-IOV NICs")
    if state == "absent":
        if item.get("bridge") is None:
            yield invalid_value(where, f"{said} supported only for bridge binding")
        if network.get("pod") is not None or at(network, "multus", "default"):
            yield invalid_value(where, f"{said} not supported on default networks")


def _binding(item: Json, field: str, network: Json, kubevirt: KubernetesObject) -> Iterator[Cause]:
    on_pods = network.get("pod") is not None
    if sum(item.get(kind) is not None for kind in _BINDINGS) != 1:
        text = "interface must have exactly one binding method or binding plugin"
        yield invalid_value(field, f"logical {item.get('name')} {text}")
    if item.get("masquerade") is not None:
        if not on_pods:
            text = "Masquerade interface only implemented with pod network"
            yield invalid_value(f"{field}.name", text)
        if item.get("macAddress") == _RESERVED_MAC:
            text = "The requested MAC address is reserved for the in-pod bridge. Please choose"
            yield invalid_value(f"{field}.macAddress", f"{text} another one.")
    permitted = setting(kubevirt, "network", "permitBridgeInterfaceOnPodNetwork", default=True)
    if item.get("bridge") is not None and on_pods and not permitted:
        text = "Bridge on pod network configuration is not enabled under kubevirt-config"
        yield invalid_value(f"{field}.name", text)
    if item.get("passtBinding") is not None:
        if not gate(kubevirt, "PasstBinding"):
            yield invalid_value(f"{field}.name", "PasstBinding feature gate is not enabled")
        if not on_pods:
            text = "PasstBinding interface only implemented with pod network"
            yield invalid_value(f"{field}.name", text)


def _pairs(spec: Json, path: str, kubevirt: KubernetesObject) -> Iterator[Cause]:
    given = [str(item.get("name")) for item in spec.get("networks") or ()]
    named = [str(item.get("name")) for _, item in _interfaces(spec)]
    for index, name in enumerate(given):
        if name in given[:index]:
            text = "already exists, every network must have a unique name"
            text = f'Network with name "{name}" {text}'
            field = f"{path}.networks[{index}].name"
            yield Cause(reason="FieldValueDuplicate", message=text, field=field)
    claimed = any(item.get("resourceClaim") is not None for item in spec.get("networks") or ())
    if claimed and not gate(kubevirt, "NetworkDevicesWithDRA"):
        text = "contains DRA networks but NetworkDevicesWithDRA feature gate is not enabled"
        yield invalid_value(f"{path}.networks", f"vmi.spec.networks {text}")
    for index, name in enumerate(given):
        if name not in named:
            field = f"{path}.networks[{index}].name"
            yield required_value(field, f"{field} '{name}' not found.")
    for index, name in enumerate(named):
        if name in named[:index]:
            text = "Only one interface can be connected to one specific network"
            field = f"{_at(path, index)}.name"
            yield Cause(reason="FieldValueDuplicate", message=text, field=field)
    for index, name in enumerate(named):
        if name not in given:
            field = f"{_at(path, index)}.name"
            yield invalid_value(field, f"{field} '{name}' not found.")


def _fields(item: Json, field: str, network: Json, kubevirt: KubernetesObject) -> Iterator[Cause]:
    if _NAME.fullmatch(str(item.get("name") or "")) is None:
        text = "Network interface name can only contain alphabetical characters, numbers, dashes"
        yield invalid_value(f"{field}.name", f"{text} (-) or underscores (_)")
    model, address = item.get("model") or "", item.get("macAddress") or ""
    if model not in _MODELS:
        text = f"interface {field}.name uses model {model} that is not supported."
        yield Cause(reason="FieldValueNotSupported", message=text, field=f"{field}.model")
    if address and _MAC.fullmatch(address) is None:
        text = f"interface {field}.name has malformed MAC address ({address})."
        yield invalid_value(f"{field}.macAddress", text)
    elif len(re.findall("[0-9a-fA-F]", address)) > 12:
        text = f"interface {field}.name has too long MAC address ({address})."
        yield invalid_value(f"{field}.macAddress", text)
    if network.get("pod") is not None:
        yield from _ports(list(item.get("ports") or ()), f"{field}.ports")
    if item.get("portRanges") is not None and not gate(kubevirt, "PortRangesSpec"):
        text = "portRanges is specified on interface but the PortRangesSpec feature gate is not"
        yield invalid_value(f"{field}.name", f"{text} enabled")


def _ports(ports: Sequence[Mapping[str, Any]], field: str) -> Iterator[Cause]:
    names = [port.get("name") or "" for port in ports]
    for index, name in enumerate(names):
        if name and name in names[:index]:
            text = f"Duplicate name of the port: {name}"
            yield Cause(reason="FieldValueDuplicate", message=text, field=f"{field}[{index}].name")
        if name and _PORT.fullmatch(name) is None:
            yield invalid_value(f"{field}[{index}].name", f"Invalid name of the port: {name}")
    for index, port in enumerate(ports):
        number = int(port.get("port") or 0)
        if number == 0:
            yield required_value(f"{field}[{index}].port", "Port field is mandatory.")
        if not 0 <= number < 65536:
            text = "Port field must be in range 0 < x < 65536."
            yield invalid_value(f"{field}[{index}].port", text)
        if port.get("protocol") not in (None, "", "TCP", "UDP"):
            text = "Unknown protocol, only TCP or UDP allowed"
            yield invalid_value(f"{field}[{index}].protocol", text)
