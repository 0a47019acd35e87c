"""Conditions and phases of a status, set in copies; phases keep the time of their beginning."""

from __future__ import annotations

from typing import Any

from gitbot.kubernetes.objects import KubernetesObject, at, with_value
from gitbot.model.text.instants import format_instant, parse_instant


def with_condition(
    obj: KubernetesObject, name: str, status: str, now: int, *, reason: str = "", message: str = ""
) -> dict[str, Any]:
    """A copy with this condition in `status.conditions`; unchanged if it is there already."""
    conditions = list((obj.get("status") or {}).get("conditions") or [])
    new = {"type": name, "status": status, "lastTransitionTime": format_instant(now)}
    new |= {key: text for key, text in (("reason", reason), ("message", message)) if text}
    for index, old in enumerate(conditions):
        if old.get("type") != name:
            continue
        kept = ("status", "reason", "message")
        if all((old.get(key) or "") == new.get(key, "") for key in kept):
            return dict(obj)
        conditions[index] = new
        return with_value(obj, conditions, "status", "conditions")
    return with_value(obj, [*conditions, new], "status", "conditions")


def without_condition(obj: KubernetesObject, name: str) -> dict[str, Any]:
    conditions = (obj.get("status") or {}).get("conditions") or []
    kept = [condition for condition in conditions if condition.get("type") != name]
    if len(kept) == len(conditions):
        return dict(obj)
    return with_value(obj, kept, "status", "conditions")


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
