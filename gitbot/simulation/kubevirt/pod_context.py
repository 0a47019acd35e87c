"""The cluster's objects that rendering a pod needs, read from a view."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gitbot.kubernetes.names import NamespacedName
from gitbot.kubernetes.objects import KubernetesObject, at, name_of
from gitbot.kubevirt.launcher_pod import claim_of
from gitbot.kubevirt.pod_defaults import ClassObjects
from gitbot.simulation.kubevirt.reconcile_result import ObjectView


@dataclass(frozen=True, slots=True, kw_only=True)
class PodContext:
    """A namespace with its quotas, the VMI's claims by name, and the cluster's classes."""

    namespace: KubernetesObject | None
    quotas: Sequence[KubernetesObject]
    claims: Mapping[str, KubernetesObject]
    classes: ClassObjects


def pod_context(view: ObjectView, vmi: KubernetesObject) -> PodContext:
    namespace = name_of(vmi).namespace
    used = {claim_of(volume) for volume in at(vmi, "spec", "volumes", default=[])} - {""}
    found = {
        name: view.get("PersistentVolumeClaim", NamespacedName(namespace=namespace, name=name))
        for name in sorted(used)
    }
    return PodContext(
        namespace=view.get("Namespace", NamespacedName(namespace="", name=namespace)),
        quotas=view.list("ResourceQuota", namespace),
        claims={name: claim for name, claim in found.items() if claim is not None},
        classes=ClassObjects(
            priority={name_of(item).name: item for item in view.list("PriorityClass")},
            runtime={name_of(item).name: item for item in view.list("RuntimeClass")},
        ),
    )
