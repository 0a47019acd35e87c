"""The pod that holds hotplugged volumes on the node of a launcher pod.

Source: KubeVirt, pkg/virt-controller/services/template.go and watch/migration/migration.go. A
migration of a VM with hotplugged volumes goes on only when this pod of the target runs.
"""

from __future__ import annotations

from typing import Any

from gitbot.kubernetes.objects import KubernetesObject, at, labels_of, name_of, uid_of
from gitbot.kubevirt import names
from gitbot.kubevirt.containers import container
from gitbot.kubevirt.launcher_pod import claim_of, is_hotplugged, owner_reference
from gitbot.simulation.kubevirt.reconcile_result import ObjectView

LABEL = "hotplug-disk"


def attachment_pods(view: ObjectView, launcher: KubernetesObject) -> list[KubernetesObject]:
    return [
        pod
        for pod in view.list("Pod", name_of(launcher).namespace)
        if labels_of(pod).get(names.APP) == LABEL
        and any(
            reference.get("uid") == uid_of(launcher)
            for reference in at(pod, "metadata", "ownerReferences", default=[])
        )
    ]


def attachment_pod(
    launcher: KubernetesObject, vmi: KubernetesObject, migration: KubernetesObject
) -> dict[str, Any]:
    """The attachment pod for a migration's target, tied to the target's node by hostname."""
    expression = {
        "key": names.HOSTNAME,
        "operator": "In",
        "values": [at(launcher, "spec", "nodeName", default="")],
    }
    required = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    limits = {"cpu": "100m", "memory": "80M"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "generateName": "hp-volume-",
            "namespace": name_of(launcher).namespace,
            "labels": {names.APP: LABEL, names.MIGRATION_UID: uid_of(migration)},
            "annotations": {names.MIGRATION_NAME: name_of(migration).name},
            "ownerReferences": [owner_reference({"apiVersion": "v1", **launcher, "kind": "Pod"})],
        },
        "spec": {
            "containers": [container(LABEL, {"cpu": "10m", "memory": "2M"}, limits)],
            "affinity": affinity,
            "tolerations": at(launcher, "spec", "tolerations", default=[]),
            "volumes": [
                {
                    "name": volume["name"],
                    "persistentVolumeClaim": {"claimName": claim_of(volume)},
                }
                for volume in at(vmi, "spec", "volumes", default=[])
                if is_hotplugged(volume)
            ],
            "terminationGracePeriodSeconds": 0,
        },
    }
