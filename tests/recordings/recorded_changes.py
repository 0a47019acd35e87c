"""Changes of objects as a trace writes them: path by path."""

from collections.abc import Mapping
from typing import Any

from gitbot.kubernetes.objects import KubernetesObject, at, with_value


def with_changes(obj: KubernetesObject, changes: Mapping[str, Any]) -> dict[str, Any]:
    """An object with recorded changes: `labels/KEY`, `taints`, `hard`, `conditions/TYPE`, ..."""
    changed = dict(obj)
    for path, value in changes.items():
        part, _, key = path.partition("/")
        match part:
            case "labels" | "annotations":
                given = {key: value} if key else value or {}
                now = {**at(changed, "metadata", part, default={}), **given}
                kept = {name: text for name, text in now.items() if text is not None}
                changed = with_value(changed, kept, "metadata", part)
            case "unschedulable" | "taints" | "hard" | "nodeSelector" | "affinity":
                changed = with_value(changed, value, "spec", part)
            case "conditions":
                changed = _with_conditions(changed, {key: value} if key else value or {})
    return changed


def _with_conditions(obj: dict[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    kept = [c for c in at(obj, "status", "conditions", default=[]) if c["type"] not in given]
    added = [{"type": kind, **value} for kind, value in given.items() if value is not None]
    return with_value(obj, [*kept, *added], "status", "conditions")
