"""The pod that holds hotplugged volumes on the node of a launcher pod.

Source: KubeVirt, pkg/virt-controller/services/template.go and watch/migration/migration.go. A
migration of a VM with hotplugged volumes goes on only when this pod of the target runs.
"""

from __future__ import annotations

from typing import Any

from gitbot.kubernetes.objects import KubernetesObject, at, labels_of, name_of, uid_of
from gitbot.kubevirt import names
from gitbot.kubevirt.attachment_pod import TYPE, attachment_spec
from gitbot.kubevirt.launcher_pod import owner_reference
from gitbot.simulation.kubevirt.reconcile_result import ObjectView


def attachment_pods(view: ObjectView, launcher: KubernetesObject) -> list[KubernetesObject]:
    return [
        pod
        for pod in view.list("Pod", name_of(launcher).namespace)
        if labels_of(pod).get(names.APP) == TYPE
        and any(
            reference.get("uid") == uid_of(launcher)
            for reference in at(pod, "metadata", "ownerReferences", default=[])
        )
    ]


def attachment_pod(
    launcher: KubernetesObject,
    vmi: KubernetesObject,
    migration: KubernetesObject,
    kubevirt: KubernetesObject,
) -> dict[str, Any]:
    """The attachment pod for a migration's target, tied to the target's node by hostname."""
    expression = {
        "key": names.HOSTNAME,
        "operator": "In",
        "values": [at(launcher, "spec", "nodeName", default="")],
    }
    required = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "generateName": "hp-volume-",
            "namespace": name_of(launcher).namespace,
            "labels": {names.APP: TYPE, names.MIGRATION_UID: uid_of(migration)},
            "annotations": {names.MIGRATION_NAME: name_of(migration).name},
            "ownerReferences": [owner_reference({"apiVersion": "v1", **launcher, "kind": "Pod"})],
        },
        "spec": {
            **attachment_spec(vmi, launcher, kubevirt),
            "affinity": affinity,
            "terminationGracePeriodSeconds": 0,
        },
    }
