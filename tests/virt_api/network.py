"""What virt-api refuses in the networks and interfaces of a VMI.

Source: KubeVirt 1.9.0, pkg/network/admitter, in its order. A VMI is asked twice, a template once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from gitbot.kubernetes.objects import Json, KubernetesObject, at
from gitbot.kubevirt.kubevirt_object import gate, setting
from gitbot.kubevirt.webhook_answers import Cause, invalid_value
from tests.virt_api.addresses import dhcp_options, pci_address
from tests.virt_api.causes import required_value
from tests.virt_api.claims import claimed_networks
from tests.virt_api.ports import port_ranges, ports

_BINDINGS = ("bridge", "masquerade", "sriov", "passtBinding", "binding")
_SOURCES = ("pod", "multus", "resourceClaim")
_MODELS = ("", "e1000", "e1000e", "igb", "ne2k_pci", "pcnet", "rtl8139", "virtio")
_STATES = ("", "absent", "down", "up")
_NAME = re.compile(r"[A-Za-z0-9-_]+")
_MAC = re.compile(
    r"[0-9a-fA-F]{2}([:-])[0-9a-fA-F]{2}(\1[0-9a-fA-F]{2})*|[0-9a-fA-F]{4}(\.[0-9a-fA-F]{4})+"
)
_RESERVED_MAC = "02:00:00:00:00:00"
_DISCONTINUED = {
    "slirp": "Slirp interface support has been discontinued since v1.3",
    "passt": "Passt network binding has been discontinued since v1.3",
    "macvtap": "Macvtap network binding has been discontinued since v1.3",
}
Items = Sequence[tuple[int, Json]]


def discontinued(spec: Json, path: str, kubevirt: KubernetesObject) -> Iterator[Cause]:
    """Bindings that older releases had."""
    for index, item in _interfaces(spec):
        for kind, text in _DISCONTINUED.items():
            if item.get(kind) is not None:
                yield invalid_value(f"{_at(path, index)}.{kind}", text)


def discontinued_gates(spec: Json, path: str, kubevirt: KubernetesObject) -> Iterator[Cause]:
    """The same once more for each of their gates that is still named, in the order of the gates."""
    used = {
        kind.title() for _, item in _interfaces(spec) for kind in item if item[kind] is not None
    }
    for name in setting(kubevirt, "developerConfiguration", "featureGates", default=[]):
        if name in ("Passt", "Macvtap") and name in used:
            text = f"{name} network binding is discontinued since v1.3. Please refer to Kubevirt "
            message = f"{text}user guide for alternatives."
            yield Cause(reason="FieldValueNotSupported", message=message)


def networks(spec: Json, path: str, kubevirt: KubernetesObject) -> Iterator[Cause]:
    """Networks, interfaces, and that each has the other."""
    yield from _sources(spec, path)
    known = {item.get("name"): item for item in spec.get("networks") or ()}
    for index, item in _interfaces(spec):
        yield from _state(item, _at(path, index), _default_network(spec))
    for index, item in _interfaces(spec):
        yield from _binding(item, _at(path, index), known.get(item.get("name"), {}), kubevirt)
    yield from _pairs(spec, path, kubevirt)
    for index, item in _interfaces(spec):
        on_pods = known.get(item.get("name"), {}).get("pod") is not None
        yield from _fields(item, _at(path, index), on_pods, kubevirt)
        yield from dhcp_options(item, _at(path, index), path)


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


def _default_network(spec: Json) -> str | None:
    """The name of the first network that is the pod's own or in its place."""
    for item in spec.get("networks") or ():
        if item.get("pod") is not None or at(item, "multus", "default"):
            return str(item.get("name"))
    return None


def _state(item: Json, field: str, default: str | None) -> Iterator[Cause]:
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
        if name == default:
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
    yield from claimed_networks(spec, path, kubevirt)
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


def _fields(item: Json, field: str, on_pods: bool, kubevirt: KubernetesObject) -> Iterator[Cause]:
    if _NAME.fullmatch(str(item.get("name") or "")) is None:
        text = "Network interface name can only contain alphabetical characters, numbers, dashes"
        yield invalid_value(f"{field}.name", f"{text} (-) or underscores (_)")
    model, address = item.get("model") or "", item.get("macAddress") or ""
    if model not in _MODELS:
        text = f"interface {field}.name uses model {model} that is not supported."
        yield Cause(reason="FieldValueNotSupported", message=text, field=f"{field}.model")
    if address:
        yield from _mac(address, field)
    yield from pci_address(item, field)
    if on_pods:
        yield from ports(list(item.get("ports") or ()), f"{field}.ports")
    yield from port_ranges(item, field, on_pods, kubevirt)


def _mac(address: str, field: str) -> Iterator[Cause]:
    """Six bytes; eight and twenty are addresses too, of other networks."""
    size = len(re.findall("[0-9a-fA-F]", address)) // 2
    if _MAC.fullmatch(address) is None or size not in (6, 8, 20):
        text = f"interface {field}.name has malformed MAC address ({address})."
        yield invalid_value(f"{field}.macAddress", text)
    elif size > 6:
        text = f"interface {field}.name has too long MAC address ({address})."
        yield invalid_value(f"{field}.macAddress", text)
