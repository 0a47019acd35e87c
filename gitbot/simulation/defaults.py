"""What the API server fills in when an object is created.

Sources: k8s.io/kubernetes pkg/apis/core/v1/defaults.go, pkg/registry/core/pod/strategy.go
(`matchLabelKeys`), plugin/pkg/admission/defaulttolerationseconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gitbot.model.objects import KubernetesObject, at, labels_of
from gitbot.simulation.resources import BY_KIND
from gitbot.simulation.store import with_metadata

_TOLERATED = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")


def with_defaults(obj: KubernetesObject) -> KubernetesObject:
    """The object as the API server would store it, before admission webhooks."""
    match obj["kind"]:
        case "Pod":
            return _pod(obj)
        case "Namespace":
            return _namespace(obj)
        case "Node":
            return {**obj, "spec": at(obj, "spec", default={})}
        case kind if BY_KIND[kind].status and BY_KIND[kind].group != "":
            return {name: value for name, value in obj.items() if name != "status"}
        case _:
            return obj


def _namespace(obj: KubernetesObject) -> KubernetesObject:
    labels = {**labels_of(obj), "kubernetes.io/metadata.name": obj["metadata"]["name"]}
    named = with_metadata(obj, labels=labels)
    return {**named, "spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"}}


def _pod(obj: KubernetesObject) -> KubernetesObject:
    spec = dict(obj.get("spec") or {})
    spec.setdefault("schedulerName", "default-scheduler")
    spec.setdefault("restartPolicy", "Always")
    spec.setdefault("terminationGracePeriodSeconds", 30)
    spec["tolerations"] = _tolerations(spec.get("tolerations") or [])
    if at(spec, "affinity") is not None:
        spec["affinity"] = _affinity(spec["affinity"], labels_of(obj))
    status = obj.get("status") or {"phase": "Pending", "qosClass": "Burstable"}
    return {**obj, "spec": spec, "status": status}


def _tolerations(tolerations: list[Any]) -> list[Any]:
    added = [
        {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
        for key in _TOLERATED
        if not any(
            item.get("key") in (key, None, "") and item.get("effect") in ("NoExecute", None, "")
            for item in tolerations
        )
    ]
    return [*tolerations, *added]


def _affinity(affinity: Mapping[str, Any], labels: Mapping[str, str]) -> dict[str, Any]:
    result = dict(affinity)
    for kind in ("podAffinity", "podAntiAffinity"):
        if at(affinity, kind) is None:
            continue
        terms = dict(affinity[kind])
        required = "requiredDuringSchedulingIgnoredDuringExecution"
        preferred = "preferredDuringSchedulingIgnoredDuringExecution"
        if terms.get(required):
            terms[required] = [_merged(term, labels) for term in terms[required]]
        if terms.get(preferred):
            terms[preferred] = [
                {**item, "podAffinityTerm": _merged(item["podAffinityTerm"], labels)}
                for item in terms[preferred]
            ]
        result[kind] = terms
    return result


def _merged(term: Mapping[str, Any], labels: Mapping[str, str]) -> Mapping[str, Any]:
    """A term whose (mis)matchLabelKeys are written into its selector, as at pod creation."""
    added = [
        {"key": key, "operator": operator, "values": [labels[key]]}
        for field, operator in (("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn"))
        for key in term.get(field) or ()
        if key in labels
    ]
    if not added or term.get("labelSelector") is None:
        return term
    selector = dict(term["labelSelector"])
    present = selector.get("matchExpressions") or []
    selector["matchExpressions"] = [*present, *(item for item in added if item not in present)]
    return {**term, "labelSelector": selector}
