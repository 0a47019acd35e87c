"""The fields of each kind that a snapshot keeps: those that a rule can refer to, with their types.

Sources: kube-scheduler (what its plugins read), the types of Kubernetes' API, KubeVirt (what
decides a target pod).
"""

from __future__ import annotations

from collections.abc import Mapping

from gitbot.snapshot.field_tree import (
    AMOUNTS,
    ANY,
    CONDITIONS,
    QUANTITIES,
    TEMPLATE_METADATA,
    TEXTS,
    Fields,
    Tree,
    alike,
    keep,
    or_text,
    shared,
    whole,
)
from gitbot.snapshot.kept_fields_kubevirt import (
    INSTANCE,
    INSTANCE_TEMPLATE,
    INSTANCE_TYPE,
    KUBEVIRT,
    MACHINE,
    MIGRATION,
    POLICY,
    PREFERENCE,
    STORED_TYPE,
)

_EXPRESSION: Fields = {**keep("key", "operator", of=str), "values": [str]}
_SELECTOR: Fields = {"matchLabels": TEXTS, "matchExpressions": [_EXPRESSION]}
_NODE_TERM: Fields = keep("matchExpressions", "matchFields", of=[_EXPRESSION])
_NODE_SELECTOR: Fields = {"nodeSelectorTerms": [_NODE_TERM]}
_POD_TERM: Fields = {
    **keep("labelSelector", "namespaceSelector", of=_SELECTOR),
    **keep("namespaces", "matchLabelKeys", "mismatchLabelKeys", of=[str]),
    "topologyKey": str,
}
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_AFFINITY: Fields = {
    "nodeAffinity": {
        _REQUIRED: _NODE_SELECTOR,
        _PREFERRED: [{"weight": int, "preference": _NODE_TERM}],
    },
    **keep(
        "podAffinity",
        "podAntiAffinity",
        of={
            _REQUIRED: [_POD_TERM],
            _PREFERRED: [{"weight": int, "podAffinityTerm": _POD_TERM}],
        },
    ),
}
_TOLERATIONS: Tree = [keep("key", "operator", "value", "effect", of=str)]
_SPREAD: Tree = [
    {
        **keep("maxSkew", "minDomains", of=int),
        **keep("topologyKey", "whenUnsatisfiable", of=str),
        **keep("nodeAffinityPolicy", "nodeTaintsPolicy", of=str),
        "labelSelector": _SELECTOR,
        "matchLabelKeys": [str],
    }
]

_CONTAINER: Fields = {
    **keep("name", "image", "restartPolicy", of=str),
    "resources": shared({**QUANTITIES, "claims": [keep("name", "request")]}),
    "ports": [
        {**keep("containerPort", "hostPort", of=int), **keep("hostIP", "protocol", of=str)},
    ],
}
_CONTAINER_STATUS: Fields = {
    "name": str,
    "allocatedResources": shared(AMOUNTS),
    "resources": shared(QUANTITIES),
}
_POD_VOLUME: Fields = {
    "name": str,
    "persistentVolumeClaim": {"claimName": str, "readOnly": ANY},
    "ephemeral": {},
    "csi": keep("driver"),
    "hostPath": {},
    "image": {"reference": str},
    "gcePersistentDisk": {"pdName": str, "readOnly": bool},
    "awsElasticBlockStore": {"volumeID": str, "readOnly": bool},
    "azureDisk": {"diskName": ANY, **keep("diskURI", "kind", of=str)},
    "cinder": {"volumeID": str},
    "portworxVolume": {"volumeID": str},
    "iscsi": {"iqn": str, **keep("targetPortal", "lun"), "readOnly": bool},
    "rbd": {"monitors": [str], **keep("pool", "image", of=str), "readOnly": bool},
}
_POD: Fields = {
    "spec": {
        "nodeName": str,
        "nodeSelector": shared(TEXTS),
        "affinity": shared(whole(_AFFINITY)),
        "tolerations": shared(whole(_TOLERATIONS)),
        "topologySpreadConstraints": shared(whole(_SPREAD)),
        **keep("schedulerName", "priorityClassName", "runtimeClassName", of=str),
        "priority": int,
        "overhead": shared(AMOUNTS),
        **keep("schedulingGates", "resourceClaims", of=whole([{"name": str}])),
        "hostNetwork": bool,
        **keep("preemptionPolicy", "hostname", "subdomain"),
        "resources": QUANTITIES,
        "containers": alike([_CONTAINER]),
        "initContainers": shared([_CONTAINER]),
        "volumes": [_POD_VOLUME],
    },
    "status": {
        **keep("phase", "nominatedNodeName", of=str),
        **keep("reason", "qosClass", "resize", "startTime"),
        "conditions": CONDITIONS,
        **keep("containerStatuses", "initContainerStatuses", of=[_CONTAINER_STATUS]),
    },
}
_NODE: Fields = {
    "spec": {
        "unschedulable": bool,
        "taints": shared(whole([keep("key", "value", "effect", of=str)])),
    },
    "status": {
        "allocatable": shared(AMOUNTS),
        "capacity": shared(AMOUNTS),
        "declaredFeatures": ANY,
        "conditions": CONDITIONS,
        "images": shared([{"names": [str], "sizeBytes": int}]),
        "nodeInfo": keep("bootID", "kubeletVersion", "architecture"),
    },
}

_VOLUME: Fields = {
    "spec": {
        "accessModes": [str],
        "capacity": AMOUNTS,
        "nodeAffinity": whole({"required": _NODE_SELECTOR}),
        **keep("storageClassName", "volumeAttributesClassName", "volumeMode", of=str),
        "claimRef": keep("kind", "name", "namespace", "uid", of=str),
        "csi": keep("driver", "volumeHandle", of=str),
        "awsElasticBlockStore": {"volumeID": str},
        "azureDisk": keep("diskURI", "kind", of=str),
        "cinder": {"volumeID": str},
        "gcePersistentDisk": {"pdName": str},
        "portworxVolume": {"volumeID": str},
        "hostPath": {},
        "local": {},
    },
    "status": {"phase": str},
}
_CLAIM: Fields = {
    "spec": {
        "accessModes": [str],
        "selector": whole(_SELECTOR),
        **keep("storageClassName", "volumeAttributesClassName", "volumeMode", of=str),
        "volumeName": str,
        "resources": QUANTITIES,
    },
    "status": {"accessModes": [str], "capacity": AMOUNTS, "phase": str},
}
_DRIVER: Fields = {
    "name": str,
    "allocatable": whole({"count": int}),
    **keep("nodeID", "topologyKeys"),
}
_OWNER: Fields = {"spec": {"replicas": int, "selector": whole(_SELECTOR)}}
_TOPOLOGY: Fields = {"matchLabelExpressions": [{"key": str, "values": [str]}]}

EVENT: Fields = {
    **keep("type", "reason", "message", "count", "firstTimestamp", "lastTimestamp", "eventTime"),
    "involvedObject": keep("kind", "namespace", "name", "uid"),
    "source": keep("component"),
}
"""Read for one object at a time; never part of a snapshot."""

FIELDS: Mapping[str, Fields] = {
    "CSIDriver": {"spec": keep("preventPodSchedulingIfMissing", "storageCapacity", of=bool)},
    "CSINode": {"spec": {"drivers": [_DRIVER]}},
    "CSIStorageCapacity": {
        **keep("capacity", "maximumVolumeSize"),
        "nodeTopology": whole(_SELECTOR),
        "storageClassName": str,
    },
    "ConfigMap": {"data": TEXTS},
    "ControllerRevision": {
        "data": {
            **keep("apiVersion", "kind"),
            "spec": or_text(STORED_TYPE),  # the text is v1alpha1's
        },
    },
    "HorizontalPodAutoscaler": {
        "spec": {"maxReplicas": int, "scaleTargetRef": keep("kind", "name", of=str)},
    },
    "KubeDescheduler": {
        "spec": {
            **keep("deschedulingIntervalSeconds", "mode", "profiles"),
            "profileCustomizations": keep(
                "devActualUtilizationProfile",
                "devDeviationThresholds",
                "devLowNodeUtilizationThresholds",
            ),
        },
    },
    "KubeVirt": KUBEVIRT,
    "MigrationPolicy": POLICY,
    "Namespace": {"status": keep("phase")},
    "NetworkAttachmentDefinition": {},
    "Node": _NODE,
    "PersistentVolume": _VOLUME,
    "PersistentVolumeClaim": _CLAIM,
    "Pod": _POD,
    "PodDisruptionBudget": {
        "spec": keep("maxUnavailable", "minAvailable", "selector", "unhealthyPodEvictionPolicy"),
        "status": keep("currentHealthy", "desiredHealthy", "disruptionsAllowed", "expectedPods"),
    },
    "PriorityClass": {"value": int, "globalDefault": bool, "preemptionPolicy": ANY},
    "ReplicaSet": _OWNER,
    "ReplicationController": {"spec": {"replicas": int, "selector": TEXTS}},
    "ResourceQuota": {
        "spec": keep("hard", "scopeSelector", "scopes"),
        "status": keep("hard", "used"),
    },
    "RuntimeClass": {
        "handler": str,
        "overhead": whole({"podFixed": AMOUNTS}),
        "scheduling": whole({"nodeSelector": TEXTS, "tolerations": _TOLERATIONS}),
    },
    "Scheduler": {"spec": {"policy": {"name": str}, "profile": str}},
    "Service": {"spec": {"selector": TEXTS, "type": ANY}},
    "StatefulSet": _OWNER,
    "StorageClass": {
        "allowedTopologies": whole([_TOPOLOGY]),
        **keep("provisioner", "volumeBindingMode", of=str),
    },
    "StorageProfile": {"status": {"claimPropertySets": [keep("accessModes", "volumeMode")]}},
    "VirtualMachine": MACHINE,
    "VirtualMachineClusterInstancetype": {"spec": INSTANCE_TYPE},
    "VirtualMachineClusterPreference": {"spec": PREFERENCE},
    "VirtualMachineInstance": INSTANCE,
    "VirtualMachineInstanceMigration": MIGRATION,
    "VirtualMachineInstanceReplicaSet": {
        "spec": {**keep("paused", "replicas", "selector"), "template": INSTANCE_TEMPLATE},
        "status": keep("readyReplicas", "replicas"),
    },
    "VirtualMachineInstancetype": {"spec": INSTANCE_TYPE},
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
    "VirtualMachinePreference": {"spec": PREFERENCE},
    "VolumeAttachment": {
        "spec": {
            **keep("attacher", "nodeName", of=str),
            "source": {"persistentVolumeName": str},
        },
        "status": keep("attached"),
    },
}
