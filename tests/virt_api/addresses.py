"""What virt-api refuses in addresses and DHCP options of interfaces.

Source: KubeVirt 1.9.0, pkg/network/admitter/netiface.go and pkg/util/hardware.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator

from gitbot.kubernetes.objects import Json
from gitbot.kubevirt.webhook_answers import Cause, invalid_value

_PCI = re.compile(r"[0-9a-fA-F]{4}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]")
_PRIVATE = range(224, 255)


def is_pci_address(text: str) -> bool:
    """Whether a text is domain, bus, slot and function: `0000:81:00.1`."""
    return _PCI.fullmatch(text) is not None


def pci_address(item: Json, field: str) -> Iterator[Cause]:
    """The PCI address of an interface; `field` names it."""
    address = item.get("pciAddress") or ""
    if address and not is_pci_address(address):
        text = f"interface {field}.name has malformed PCI address ({address})."
        yield invalid_value(f"{field}.pciAddress", text)


def dhcp_options(item: Json, field: str, path: str) -> Iterator[Cause]:
    """Private options are of the private range, once each; time servers are IPv4 addresses."""
    options: Json = item.get("dhcpOptions") or {}
    private = [int(option.get("option") or 0) for option in options.get("privateOptions") or ()]
    if len(set(private)) < len(private):
        text = "Found Duplicates: you have provided duplicate DHCPPrivateOptions"
        yield invalid_value(path, text)
    for option in private:
        if option not in _PRIVATE:
            text = "provided DHCPPrivateOptions are out of range, must be in range 224 to 254"
            yield invalid_value(path, text)
    for index, server in enumerate(options.get("ntpServers") or ()):
        if not _is_v4(server):
            text = "NTP servers must be a list of valid IPv4 addresses."
            yield invalid_value(f"{field}.dhcpOptions.ntpServers[{index}]", text)


def _is_v4(text: str) -> bool:
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return False
    return address.version == 4 or address.ipv4_mapped is not None
