"""Changed copies of plain objects: the original is never touched."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gitbot.model.instants import format_instant
from gitbot.model.objects import KubernetesObject


def with_value(obj: Mapping[str, Any], value: Any, *path: str) -> dict[str, Any]:
    """A copy with the value under a path of keys; mappings on the way are made where missing."""
    copy = dict(obj)
    key, *rest = path
    copy[key] = with_value(copy.get(key) or {}, value, *rest) if rest else value
    return copy


def without(obj: Mapping[str, Any], *path: str) -> dict[str, Any]:
    """A copy without the key at the end of the path; the same where it is not there."""
    copy = dict(obj)
    key, *rest = path
    if rest and isinstance(copy.get(key), Mapping):
        copy[key] = without(copy[key], *rest)
    elif not rest:
        copy.pop(key, None)
    return copy


def with_condition(
    obj: KubernetesObject, name: str, status: str, now: int, *, reason: str = "", message: str = ""
) -> dict[str, Any]:
    """A copy whose `status.conditions` has this one; unchanged where it has it already."""
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
    """A copy without that condition."""
    conditions = (obj.get("status") or {}).get("conditions") or []
    kept = [condition for condition in conditions if condition.get("type") != name]
    if len(kept) == len(conditions):
        return dict(obj)
    return with_value(obj, kept, "status", "conditions")
