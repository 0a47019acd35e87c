"""What virt-api refuses in the ports that an interface forwards.

Source: KubeVirt 1.9.0, pkg/network/admitter/netiface.go.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from gitbot.kubernetes.objects import Json, KubernetesObject
from gitbot.kubevirt.kubevirt_object import gate
from gitbot.kubevirt.webhook_answers import Cause, invalid_value
from tests.virt_api.causes import required_value

_NAME = re.compile(r"(?=.*[a-z])(?!.*--)[a-z0-9]([-a-z0-9]{0,13}[a-z0-9])?")
_MOST_RANGES = 10
_PROTOCOL = "Unknown protocol, only TCP or UDP allowed"


def ports(given: Sequence[Json], field: str) -> Iterator[Cause]:
    """Names once each, numbers in range; `field` names the list."""
    names = [port.get("name") or "" for port in given]
    for index, name in enumerate(names):
        if name and name in names[:index]:
            text = f"Duplicate name of the port: {name}"
            yield Cause(reason="FieldValueDuplicate", message=text, field=f"{field}[{index}].name")
        if name and _NAME.fullmatch(name) is None:
            yield invalid_value(f"{field}[{index}].name", f"Invalid name of the port: {name}")
    for index, port in enumerate(given):
        number = int(port.get("port") or 0)
        if number == 0:
            yield required_value(f"{field}[{index}].port", "Port field is mandatory.")
        if not 0 <= number < 65536:
            text = "Port field must be in range 0 < x < 65536."
            yield invalid_value(f"{field}[{index}].port", text)
        if port.get("protocol") not in (None, "", "TCP", "UDP"):
            yield invalid_value(f"{field}[{index}].protocol", _PROTOCOL)


def port_ranges(
    item: Json, field: str, on_pods: bool, kubevirt: KubernetesObject
) -> Iterator[Cause]:
    """Ranges instead of ports, on masquerade; `field` names the interface."""
    ranges = item.get("portRanges")
    if ranges is None:
        return
    if not gate(kubevirt, "PortRangesSpec"):
        text = "portRanges is specified on interface but the PortRangesSpec feature gate is not"
        yield invalid_value(f"{field}.name", f"{text} enabled")
        return
    if not on_pods:
        return
    if item.get("ports") is not None:
        text = "Cannot define both ports and portRanges on interface"
        yield invalid_value(f"{field}.name", text)
    if item.get("masquerade") is None:
        text = "portRanges are only supported on masquerade interfaces"
        yield invalid_value(f"{field}.name", text)
    yield from _ranges(list(ranges), f"{field}.portRanges")


def _ranges(ranges: Sequence[Json], field: str) -> Iterator[Cause]:
    if len(ranges) > _MOST_RANGES:
        yield invalid_value(field, f"No more than {_MOST_RANGES} portRanges are allowed")
        return
    sound: dict[str, list[tuple[int, int]]] = {}
    for index, item in enumerate(ranges):
        where, protocol = f"{field}[{index}]", str(item.get("protocol") or "")
        start, end = (int(item.get(side) or 0) for side in ("start", "end"))
        if protocol not in ("TCP", "UDP"):
            yield invalid_value(f"{where}.protocol", _PROTOCOL)
        elif not 0 < start < 65536:
            text = "Start must be a valid port number, 0 < x < 65536"
            yield invalid_value(f"{where}.start", text)
        elif not 0 < end < 65536:
            yield invalid_value(f"{where}.end", "End must be a valid port number, 0 < x < 65536")
        elif start > end:
            yield invalid_value(f"{where}.start", "Start must be less than or equal to end")
        else:
            sound.setdefault(protocol, []).append((start, end))
    for protocol, spans in sound.items():
        for before, after in pairwise(sorted(spans)):
            if after[0] <= before[1]:
                text = f"[{before[0]}-{before[1]}] and [{after[0]}-{after[1]}] overlap"
                yield invalid_value(field, f"{protocol} portRanges {text}")
