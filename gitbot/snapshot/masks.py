"""What a snapshot keeps of each kind: an allow-list of fields that a rule can refer to.

A mask is KEEP (the value as it is), a mapping of field names to masks, or a list with the mask of
its items. What no mask names is never decoded: environment variables, commands, user data,
secrets, images' pull secrets, managed fields. Annotations are filtered by ANNOTATIONS.
Sources: kube-scheduler 1.36 (what its plugins read), KubeVirt 1.9 (what decides a target pod).
"""

from __future__ import annotations

from collections.abc import Mapping

from gitbot.snapshot.mask import (
    ANNOTATION_PREFIXES,
    ANNOTATIONS,
    CONDITIONS,
    HOOK_SIDECARS,
    KEEP,
    METADATA,
    QUANTITIES,
    TEMPLATE_METADATA,
    Mask,
    keep,
)
from gitbot.snapshot.masks_kubevirt import (
    INSTANCE,
    INSTANCE_TEMPLATE,
    KUBEVIRT,
    MACHINE,
    MIGRATION,
    POLICY,
)

__all__ = [
    "ANNOTATIONS",
    "ANNOTATION_PREFIXES",
    "EVENT",
    "HOOK_SIDECARS",
    "MASKS",
    "METADATA",
    "Mask",
]

_CONTAINER: Mapping[str, Mask] = {
    **keep("name", "image", "restartPolicy"),
    "resources": {**QUANTITIES, "claims": [keep("name", "request")]},
    "ports": [keep("containerPort", "hostPort", "hostIP", "protocol")],
}
_CONTAINER_STATUS: Mapping[str, Mask] = {
    **keep("name", "allocatedResources"),
    "resources": QUANTITIES,
}
_POD_VOLUME: Mapping[str, Mask] = {
    "name": KEEP,
    "persistentVolumeClaim": keep("claimName", "readOnly"),
    "ephemeral": {},
    "csi": keep("driver"),
    "hostPath": {},
    "image": keep("reference"),
    "gcePersistentDisk": keep("pdName", "readOnly"),
    "awsElasticBlockStore": keep("volumeID", "readOnly"),
    "azureDisk": keep("diskName", "diskURI", "kind"),
    "cinder": keep("volumeID"),
    "portworxVolume": keep("volumeID"),
    "iscsi": keep("iqn", "targetPortal", "lun", "readOnly"),
    "rbd": keep("monitors", "pool", "image", "readOnly"),
}
_POD: Mapping[str, Mask] = {
    "spec": {
        **keep(
            "nodeName",
            "nodeSelector",
            "affinity",
            "tolerations",
            "topologySpreadConstraints",
            "schedulerName",
            "priority",
            "priorityClassName",
            "preemptionPolicy",
            "overhead",
            "runtimeClassName",
            "schedulingGates",
            "hostNetwork",
            "hostname",
            "subdomain",
            "resourceClaims",
        ),
        "resources": QUANTITIES,
        "containers": [_CONTAINER],
        "initContainers": [_CONTAINER],
        "volumes": [_POD_VOLUME],
    },
    "status": {
        **keep("phase", "reason", "nominatedNodeName", "qosClass", "resize", "startTime"),
        "conditions": CONDITIONS,
        "containerStatuses": [_CONTAINER_STATUS],
        "initContainerStatuses": [_CONTAINER_STATUS],
    },
}
_NODE: Mapping[str, Mask] = {
    "spec": keep("unschedulable", "taints"),
    "status": {
        **keep("allocatable", "capacity", "declaredFeatures"),
        "conditions": CONDITIONS,
        "images": [keep("names", "sizeBytes")],
        "nodeInfo": keep("bootID", "kubeletVersion", "architecture"),
    },
}

_VOLUME: Mapping[str, Mask] = {
    "spec": {
        **keep(
            "accessModes",
            "capacity",
            "nodeAffinity",
            "storageClassName",
            "volumeAttributesClassName",
            "volumeMode",
        ),
        "claimRef": keep("kind", "name", "namespace", "uid"),
        "csi": keep("driver", "volumeHandle"),
        "awsElasticBlockStore": keep("volumeID"),
        "azureDisk": keep("diskURI", "kind"),
        "cinder": keep("volumeID"),
        "gcePersistentDisk": keep("pdName"),
        "portworxVolume": keep("volumeID"),
        "hostPath": {},
        "local": {},
    },
    "status": keep("phase"),
}

EVENT: Mapping[str, Mask] = {
    **keep("type", "reason", "message", "count", "firstTimestamp", "lastTimestamp", "eventTime"),
    "involvedObject": keep("kind", "namespace", "name", "uid"),
}

MASKS: Mapping[str, Mapping[str, Mask]] = {
    "CSINode": {"spec": {"drivers": [keep("name", "nodeID", "allocatable", "topologyKeys")]}},
    "ConfigMap": {"data": keep("reason")},
    "KubeVirt": KUBEVIRT,
    "MigrationPolicy": POLICY,
    "Namespace": {"status": keep("phase")},
    "Node": _NODE,
    "PersistentVolume": _VOLUME,
    "PersistentVolumeClaim": {
        "spec": {
            **keep(
                "accessModes",
                "selector",
                "storageClassName",
                "volumeAttributesClassName",
                "volumeMode",
                "volumeName",
            ),
            "resources": QUANTITIES,
        },
        "status": keep("accessModes", "capacity", "phase"),
    },
    "Pod": _POD,
    "PodDisruptionBudget": {
        "spec": keep("maxUnavailable", "minAvailable", "selector", "unhealthyPodEvictionPolicy"),
        "status": keep("currentHealthy", "desiredHealthy", "disruptionsAllowed", "expectedPods"),
    },
    "PriorityClass": keep("value", "globalDefault", "preemptionPolicy"),
    "ReplicaSet": {"spec": keep("replicas", "selector")},
    "ReplicationController": {"spec": keep("replicas", "selector")},
    "ResourceQuota": {
        "spec": keep("hard", "scopeSelector", "scopes"),
        "status": keep("hard", "used"),
    },
    "RuntimeClass": keep("handler", "overhead", "scheduling"),
    "Service": {"spec": keep("selector", "type")},
    "StatefulSet": {"spec": keep("replicas", "selector")},
    "StorageClass": keep("allowedTopologies", "provisioner", "volumeBindingMode"),
    "VirtualMachine": MACHINE,
    "VirtualMachineInstance": INSTANCE,
    "VirtualMachineInstanceMigration": MIGRATION,
    "VirtualMachineInstanceReplicaSet": {
        "spec": {**keep("paused", "replicas", "selector"), "template": INSTANCE_TEMPLATE},
        "status": keep("readyReplicas", "replicas"),
    },
    "VirtualMachinePool": {
        "spec": {
            **keep("paused", "replicas", "selector"),
            "virtualMachineTemplate": {
                "metadata": TEMPLATE_METADATA,
                "spec": {
                    **keep("running", "runStrategy"),
                    "template": INSTANCE_TEMPLATE,
                },
            },
        },
        "status": keep("readyReplicas", "replicas"),
    },
    "VolumeAttachment": {
        "spec": {
            **keep("attacher", "nodeName"),
            "source": keep("persistentVolumeName"),
        },
        "status": keep("attached"),
    },
}
