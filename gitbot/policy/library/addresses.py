"""Kubernetes' ip and cidr libraries: apiserver, pkg/cel/library/{ip,cidr}.go, Go's net/netip."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable

from gitbot.policy.library.values import CelFunction, Opaque, opaque, succeeds

IP, CIDR = "net.IP", "net.CIDR"
_Address = ipaddress.IPv4Address | ipaddress.IPv6Address
_BITS = re.compile(r"0|[1-9][0-9]{0,2}")
_BROADCAST = ipaddress.IPv4Address("255.255.255.255")


def _read(text: str) -> _Address:
    address = ipaddress.ip_address(text)
    if "%" in text:
        raise ValueError(f'IP address "{text}" with zone value is not allowed')
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        raise ValueError(f'IPv4-mapped IPv6 address "{text}" is not allowed')
    return address


def _ip(text: str) -> Opaque:
    return opaque("IP", address=str(_read(text)))


def _cidr(text: str) -> Opaque:
    address, slash, bits = text.rpartition("/")
    found = _read(address)
    if not slash or not _BITS.fullmatch(bits) or int(bits) > found.max_prefixlen:
        raise ValueError(f"{text!r} is not a network address (as 10.0.0.0/8)")
    return opaque("CIDR", address=str(found), bits=int(bits))


def _of(value: Opaque) -> _Address:
    return ipaddress.ip_address(value["address"])


def _top(value: Opaque, bits: int) -> int:
    """The first bits of an address."""
    address = _of(value)
    return int(address) >> (address.max_prefixlen - bits)


def _contains(network: Opaque, other: Opaque | str) -> bool:
    inner = _ip(other) if isinstance(other, str) else other
    same = _of(network).version == _of(inner).version
    return same and _top(network, network["bits"]) == _top(inner, network["bits"])


def _contains_cidr(network: Opaque, other: Opaque | str) -> bool:
    inner = _cidr(other) if isinstance(other, str) else other
    return _contains(network, inner) and network["bits"] <= inner["bits"]


def _masked(network: Opaque) -> Opaque:
    address, bits = _of(network), network["bits"]
    rest = address.max_prefixlen - bits
    kept = type(address)(int(address) >> rest << rest)
    return opaque("CIDR", address=str(kept), bits=bits)


def _canonical(text: str) -> bool:
    return str(_read(text)) == text


def _link_local_multicast(value: Opaque) -> bool:
    address = _of(value)
    if address.version == 4:
        return _top(value, 24) == 0xE00000
    return _top(value, 8) == 0xFF and address.packed[1] & 15 == 2


def _link_local(value: Opaque) -> bool:
    return _top(value, 16) == 0xA9FE if _of(value).version == 4 else _top(value, 10) == 0x3FA


def _loopback(value: Opaque) -> bool:
    return _top(value, 8) == 127 if _of(value).version == 4 else int(_of(value)) == 1


def _unspecified(value: Opaque) -> bool:
    return int(_of(value)) == 0


def _global(value: Opaque) -> bool:
    address = _of(value)
    others = _unspecified(value) or _loopback(value) or _link_local(value)
    return not (others or address.is_multicast or address == _BROADCAST)


def _asks(name: str, make: Callable[[Opaque], bool], overload: str) -> CelFunction:
    return CelFunction(id=overload, function=name, parameters=(IP,), gives="bool", make=make)


FUNCTIONS = (
    CelFunction(
        id="string_to_ip", function="ip", parameters=("string",), gives=IP, make=_ip, member=False
    ),
    CelFunction(
        id="is_ip",
        function="isIP",
        parameters=("string",),
        gives="bool",
        make=succeeds(_ip),
        member=False,
    ),
    CelFunction(
        id="ip_is_canonical",
        function="ip.isCanonical",
        parameters=("string",),
        gives="bool",
        make=_canonical,
        member=False,
    ),
    CelFunction(
        id="ip_family",
        function="family",
        parameters=(IP,),
        gives="int",
        make=lambda value: _of(value).version,
    ),
    CelFunction(
        id="ip_to_string",
        function="string",
        parameters=(IP,),
        gives="string",
        make=lambda value: str(_of(value)),
        member=False,
    ),
    _asks("isUnspecified", _unspecified, "ip_is_unspecified"),
    _asks("isLoopback", _loopback, "ip_is_loopback"),
    _asks("isLinkLocalMulticast", _link_local_multicast, "ip_is_link_local_multicast"),
    _asks("isLinkLocalUnicast", _link_local, "ip_is_link_local_unicast"),
    _asks("isGlobalUnicast", _global, "ip_is_global_unicast"),
    CelFunction(
        id="string_to_cidr",
        function="cidr",
        parameters=("string",),
        gives=CIDR,
        make=_cidr,
        member=False,
    ),
    CelFunction(
        id="is_cidr",
        function="isCIDR",
        parameters=("string",),
        gives="bool",
        make=succeeds(_cidr),
        member=False,
    ),
    CelFunction(
        id="cidr_to_string",
        function="string",
        parameters=(CIDR,),
        gives="string",
        make=lambda value: f"{value['address']}/{value['bits']}",
        member=False,
    ),
    CelFunction(
        id="cidr_contains_ip_string",
        function="containsIP",
        parameters=(CIDR, "string"),
        gives="bool",
        make=_contains,
    ),
    CelFunction(
        id="cidr_contains_ip_ip",
        function="containsIP",
        parameters=(CIDR, IP),
        gives="bool",
        make=_contains,
    ),
    CelFunction(
        id="cidr_contains_cidr_string",
        function="containsCIDR",
        parameters=(CIDR, "string"),
        gives="bool",
        make=_contains_cidr,
    ),
    CelFunction(
        id="cidr_contains_cidr",
        function="containsCIDR",
        parameters=(CIDR, CIDR),
        gives="bool",
        make=_contains_cidr,
    ),
    CelFunction(
        id="cidr_ip",
        function="ip",
        parameters=(CIDR,),
        gives=IP,
        make=lambda value: opaque("IP", address=value["address"]),
    ),
    CelFunction(
        id="cidr_prefix_length",
        function="prefixLength",
        parameters=(CIDR,),
        gives="int",
        make=lambda value: value["bits"],
    ),
    CelFunction(id="cidr_masked", function="masked", parameters=(CIDR,), gives=CIDR, make=_masked),
)
