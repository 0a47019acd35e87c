"""Kubernetes objects as plain JSON data: readers, and changed copies.

The rooms use Kubernetes' own shapes: a mapping with `apiVersion`, `kind`, `metadata`, `spec`,
`status`. Objects are never changed in place.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gitbot.kubernetes.names import NamespacedName

Json = Mapping[str, Any]
KubernetesObject = Mapping[str, Any]
_EMPTY: Json = {}
_new = tuple.__new__


def at(value: Any, *path: str, default: Any = None) -> Any:
    """The value under a path of keys; `default` if any step is missing or null."""
    for key in path:
        if type(value) is not dict and (value is None or not isinstance(value, Mapping)):
            return default  # the first two are faster
        value = value.get(key)
    return default if value is None else value


def name_of(obj: KubernetesObject) -> NamespacedName:
    """Name and namespace of an object; the namespace is "" for cluster-scoped objects."""
    metadata = obj.get("metadata") or _EMPTY
    names = (metadata.get("namespace") or "", metadata.get("name", ""))
    return _new(NamespacedName, names)  # by far the fastest way, for a million calls


def uid_of(obj: KubernetesObject) -> str:
    """The UID; "" if the object has none."""
    metadata = obj.get("metadata")
    if type(metadata) is dict:  # nearly always so, and a third of the time
        return str(metadata.get("uid") or "")
    return str(at(metadata, "uid", default=""))


def labels_of(obj: KubernetesObject) -> Mapping[str, str]:
    metadata = obj.get("metadata")
    if type(metadata) is dict and type(found := metadata.get("labels")) is dict:
        return found  # faster
    labels: Mapping[str, str] = at(metadata, "labels", default={})
    return labels


def annotations_of(obj: KubernetesObject) -> Mapping[str, str]:
    metadata = obj.get("metadata")
    if type(metadata) is dict and type(found := metadata.get("annotations")) is dict:
        return found  # faster
    annotations: Mapping[str, str] = at(metadata, "annotations", default={})
    return annotations


def controller_of(obj: KubernetesObject | None) -> Json | None:
    """The owner reference with `controller: true`; None if there is none."""
    owners: list[Json] = at(obj, "metadata", "ownerReferences", default=[])
    return next((owner for owner in owners if owner.get("controller")), None)


def condition_of(obj: KubernetesObject, name: str) -> Json | None:
    """The condition of that type in `status.conditions`; None if it is absent."""
    conditions: list[Json] = at(obj, "status", "conditions", default=[])
    return next((condition for condition in conditions if condition.get("type") == name), None)


def with_value(obj: Mapping[str, Any], value: Any, *path: str) -> dict[str, Any]:
    """A copy with the value under a path of keys; missing mappings on the way are created."""
    copy = dict(obj)
    key, *rest = path
    copy[key] = with_value(copy.get(key) or {}, value, *rest) if rest else value
    return copy


def without(obj: Mapping[str, Any], *path: str) -> dict[str, Any]:
    """A copy without the key at the end of the path; equal to the original if it is missing."""
    copy = dict(obj)
    key, *rest = path
    if rest and isinstance(copy.get(key), Mapping):
        copy[key] = without(copy[key], *rest)
    elif not rest:
        copy.pop(key, None)
    return copy
