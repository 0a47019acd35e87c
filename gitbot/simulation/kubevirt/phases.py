"""Phases with the time of their beginning, as KubeVirt keeps them in a status."""

from __future__ import annotations

from typing import Any

from gitbot.kubernetes.objects import KubernetesObject, at, with_value
from gitbot.model.instants import format_instant, parse_instant


def with_phase(obj: KubernetesObject, phase: str, now: int) -> dict[str, Any]:
    changed = with_value(obj, phase, "status", "phase")
    stamps = at(obj, "status", "phaseTransitionTimestamps", default=[])
    if any(stamp.get("phase") == phase for stamp in stamps):
        return changed
    stamp = {"phase": phase, "phaseTransitionTimestamp": format_instant(now)}
    return with_value(changed, [*stamps, stamp], "status", "phaseTransitionTimestamps")


def since(obj: KubernetesObject, phase: str, otherwise: int) -> int:
    """When a phase began, seconds UTC; `otherwise` if that is unknown."""
    for stamp in at(obj, "status", "phaseTransitionTimestamps", default=[]):
        if stamp.get("phase") == phase:
            return parse_instant(stamp["phaseTransitionTimestamp"])
    return otherwise
