"""Kubernetes objects as plain JSON data, and the few readers that every room needs.

The rooms pass Kubernetes' own shapes around: a mapping with `apiVersion`, `kind`, `metadata`,
`spec`, `status`. Objects are never changed in place.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gitbot.model.names import NamespacedName

Json = Mapping[str, Any]
KubernetesObject = Mapping[str, Any]


def at(value: Any, *path: str, default: Any = None) -> Any:
    """The value under a path of keys; the default where any step is missing or null."""
    for key in path:
        if type(value) is not dict and not isinstance(value, Mapping):  # the first is the fast way
            return default
        value = value.get(key)
    return default if value is None else value


def name_of(obj: KubernetesObject) -> NamespacedName:
    """Namespace ("" for cluster-scoped objects) and name of an object."""
    metadata = obj.get("metadata") or {}
    return NamespacedName(namespace=metadata.get("namespace") or "", name=metadata.get("name", ""))


def uid_of(obj: KubernetesObject) -> str:
    """The UID, "" where there is none."""
    return str(at(obj, "metadata", "uid", default=""))


def labels_of(obj: KubernetesObject) -> Mapping[str, str]:
    """The labels, empty where there are none."""
    labels: Mapping[str, str] = at(obj, "metadata", "labels", default={})
    return labels


def annotations_of(obj: KubernetesObject) -> Mapping[str, str]:
    """The annotations, empty where there are none."""
    annotations: Mapping[str, str] = at(obj, "metadata", "annotations", default={})
    return annotations


def condition_of(obj: KubernetesObject, name: str) -> Json | None:
    """The condition of that type in `status.conditions`, None where it is absent."""
    conditions: list[Json] = at(obj, "status", "conditions", default=[])
    return next((condition for condition in conditions if condition.get("type") == name), None)
