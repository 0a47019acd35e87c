"""Label and field selectors as texts of list requests.

Grammar: k8s.io/apimachinery/pkg/labels/selector.go and fields/selector.go.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from gitbot.kubernetes.objects import KubernetesObject, at, labels_of
from gitbot.simulation.served_resources import ServedResource
from gitbot.simulation.status_errors import bad_request

Match = Callable[[KubernetesObject], bool]
_SET = re.compile(r"^\s*([^\s!=,()]+)\s+(in|notin)\s*\(([^)]*)\)\s*$")
_EQUAL = re.compile(r"^\s*([^\s!=,()]+)\s*(==|=|!=)\s*([^\s,()]*)\s*$")
_EXISTS = re.compile(r"^\s*(!?)\s*([^\s!=,()]+)\s*$")


def label_match(text: str) -> Match:
    """The predicate of a label selector text; raises 400 if it is malformed."""
    requirements = [_requirement(part) for part in _split(text)]
    return lambda obj: all(holds(labels_of(obj)) for holds in requirements)


def _split(text: str) -> list[str]:
    parts = re.split(r",(?![^(]*\))", text)
    return [part for part in parts if part.strip()]


def _requirement(part: str) -> Callable[[Mapping[str, str]], bool]:
    if found := _SET.match(part):
        key, operator, inner = found.groups()
        values = {value.strip() for value in inner.split(",")}
        if operator == "in":
            return lambda labels: labels.get(key) in values
        return lambda labels: labels.get(key) not in values
    if found := _EQUAL.match(part):
        key, operator, value = found.groups()
        if operator == "!=":
            return lambda labels: labels.get(key) != value
        return lambda labels: labels.get(key) == value
    if found := _EXISTS.match(part):
        negated, key = found.groups()
        return lambda labels: (key in labels) is not bool(negated)
    raise bad_request(f"unable to parse requirement: {part!r} in a label selector")


_METADATA = frozenset({"metadata.name", "metadata.namespace"})
FIELDS: Mapping[str, frozenset[str]] = {
    "Event": _METADATA
    | {f"involvedObject.{name}" for name in ("kind", "namespace", "name", "uid", "apiVersion")}
    | {f"involvedObject.{name}" for name in ("resourceVersion", "fieldPath")}
    | {"reason", "reportingComponent", "source", "type"},
    "Namespace": frozenset({"metadata.name", "status.phase"}),
    "Node": frozenset({"metadata.name", "spec.unschedulable"}),
    "Pod": _METADATA
    | {f"spec.{name}" for name in ("nodeName", "restartPolicy", "schedulerName", "hostNetwork")}
    | {"spec.serviceAccountName", "status.phase", "status.podIP", "status.podIPs"}
    | {"status.nominatedNodeName"},
    "ReplicaSet": _METADATA | {"status.replicas"},
    "ReplicationController": _METADATA | {"status.replicas"},
}
"""Fields that lists may select by (k8s.io/kubernetes pkg/apis, AddFieldLabelConversionsFor...)."""


def _check_field(resource: ServedResource, label: str) -> None:
    """Raise 400 for a field that lists of the resource cannot select by."""
    if label in FIELDS.get(resource.kind, _METADATA):
        return
    if resource.custom or resource.kind in FIELDS:
        raise bad_request(f"field label not supported: {label}")
    raise bad_request(
        f'"{label}" is not a known field selector: only "metadata.name", "metadata.namespace"'
    )


def field_match(text: str, resource: ServedResource | None = None) -> Match:
    """The predicate of a field selector text (equality only); raises 400 for anything else.

    With a resource, only the fields that the API server knows for it are allowed.
    """
    wanted: list[tuple[tuple[str, ...], bool, str]] = []
    for part in _split(text):
        found = _EQUAL.match(part)
        if not found:
            raise bad_request(f"invalid selector: '{text}'; can't understand '{part}'")
        path, operator, value = found.groups()
        if resource is not None:
            _check_field(resource, path)
        wanted.append((tuple(path.split(".")), operator != "!=", value))

    def holds(obj: KubernetesObject) -> bool:
        return all((_field(obj, path) == value) is positive for path, positive, value in wanted)

    return holds


def _field(obj: KubernetesObject, path: tuple[str, ...]) -> str:
    value: Any = at(obj, *path, default="")
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if value != "" else ("false" if path[-1] == "unschedulable" else "")
