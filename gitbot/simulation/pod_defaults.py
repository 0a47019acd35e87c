"""Default values that the API server sets when an object is created.

Sources: k8s.io/kubernetes pkg/apis/core/v1/defaults.go; those of pods are in kubevirt.pod_defaults.
"""

from __future__ import annotations

from gitbot.kubernetes.objects import KubernetesObject, at, labels_of
from gitbot.kubevirt.pod_defaults import ClassObjects, stored_pod
from gitbot.simulation.pod_quality import quality_of
from gitbot.simulation.served_resources import BY_KIND
from gitbot.simulation.store import with_metadata


def with_defaults(obj: KubernetesObject, classes: ClassObjects) -> KubernetesObject:
    """The object as the API server would store it, before admission webhooks."""
    match obj["kind"]:
        case "Pod":
            return _pod(obj, classes)
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


def _pod(obj: KubernetesObject, classes: ClassObjects) -> KubernetesObject:
    spec = dict(obj.get("spec") or {})
    spec.setdefault("restartPolicy", "Always")
    spec.setdefault("terminationGracePeriodSeconds", 30)
    stored = stored_pod({**obj, "spec": spec}, classes)
    status = obj.get("status") or {"phase": "Pending", "qosClass": quality_of(stored)}
    return {**stored, "status": status}
