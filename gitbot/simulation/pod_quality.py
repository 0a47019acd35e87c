"""The QoS class that the API server writes into a new pod."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gitbot.kubernetes.objects import KubernetesObject, at
from gitbot.kubernetes.quantities import units_of

_COUNTED = ("cpu", "memory")


def quality_of(pod: KubernetesObject) -> str:
    """Guaranteed, Burstable or BestEffort, by the CPU and memory of all containers."""
    containers = [
        *at(pod, "spec", "containers", default=[]),
        *at(pod, "spec", "initContainers", default=[]),
    ]
    asked = [_amounts(container, "requests") for container in containers]
    limited = [_amounts(container, "limits") for container in containers]
    if not any(asked) and not any(limited):
        return "BestEffort"
    full = all(limits.keys() == set(_COUNTED) for limits in limited)
    return "Guaranteed" if full and asked == limited else "Burstable"


def _amounts(container: Mapping[str, Any], part: str) -> dict[str, int]:
    given: Mapping[str, Any] = at(container, "resources", part, default={})
    found = {name: units_of(name, given[name]) for name in _COUNTED if name in given}
    return {name: amount for name, amount in found.items() if amount}
