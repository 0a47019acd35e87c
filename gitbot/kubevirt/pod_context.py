"""What rendering a pod looks up in the cluster, read from a view."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gitbot.kubevirt.pod_defaults import ClassObjects
from gitbot.kubevirt.reconcile import View
from gitbot.model.names import NamespacedName
from gitbot.model.objects import KubernetesObject, name_of


@dataclass(frozen=True, slots=True, kw_only=True)
class PodContext:
    """A namespace with its quotas and claims (by name), and the cluster's classes."""

    namespace: KubernetesObject | None
    quotas: Sequence[KubernetesObject]
    claims: Mapping[str, KubernetesObject]
    classes: ClassObjects


def pod_context(view: View, namespace: str) -> PodContext:
    """The context of pods in a namespace."""
    claims = view.list("PersistentVolumeClaim", namespace)
    return PodContext(
        namespace=view.get("Namespace", NamespacedName(namespace="", name=namespace)),
        quotas=view.list("ResourceQuota", namespace),
        claims={name_of(claim).name: claim for claim in claims},
        classes=ClassObjects(
            priority={name_of(item).name: item for item in view.list("PriorityClass")},
            runtime={name_of(item).name: item for item in view.list("RuntimeClass")},
        ),
    )
