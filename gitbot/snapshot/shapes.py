"""The shapes of fields that rules read, for objects that no API server has checked.

The mask of a kind says which fields are kept, these say of which type they are; a field that is
not named here may have any. null counts as absent, but within labels and annotations it is refused.
Quantities are read where they are used.
Source: the types of Kubernetes' API 1.36.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gitbot.snapshot.mask import Mask

_TEXTS = dict[str, str]
_AMOUNTS = dict[str, Any]
_EXPRESSION: Mapping[str, Mask] = {"key": str, "operator": str, "values": [str]}
_SELECTOR: Mapping[str, Mask] = {"matchLabels": _TEXTS, "matchExpressions": [_EXPRESSION]}
_NODE_TERM: Mapping[str, Mask] = {"matchExpressions": [_EXPRESSION], "matchFields": [_EXPRESSION]}
_NODE_SELECTOR: Mapping[str, Mask] = {"nodeSelectorTerms": [_NODE_TERM]}
_POD_TERM: Mapping[str, Mask] = {
    "labelSelector": _SELECTOR,
    "namespaceSelector": _SELECTOR,
    "namespaces": [str],
    "topologyKey": str,
    "matchLabelKeys": [str],
    "mismatchLabelKeys": [str],
}
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_POD_RULES: Mapping[str, Mask] = {
    _REQUIRED: [_POD_TERM],
    _PREFERRED: [{"weight": int, "podAffinityTerm": _POD_TERM}],
}
AFFINITY: Mapping[str, Mask] = {
    "nodeAffinity": {
        _REQUIRED: _NODE_SELECTOR,
        _PREFERRED: [{"weight": int, "preference": _NODE_TERM}],
    },
    "podAffinity": _POD_RULES,
    "podAntiAffinity": _POD_RULES,
}
TOLERATIONS: Mask = [{"key": str, "operator": str, "value": str, "effect": str}]
SPREAD: Mask = [
    {
        "maxSkew": int,
        "topologyKey": str,
        "whenUnsatisfiable": str,
        "labelSelector": _SELECTOR,
        "minDomains": int,
        "nodeAffinityPolicy": str,
        "nodeTaintsPolicy": str,
        "matchLabelKeys": [str],
    }
]
_RESOURCES: Mapping[str, Mask] = {"requests": _AMOUNTS, "limits": _AMOUNTS}
_CONTAINER: Mapping[str, Mask] = {
    "name": str,
    "image": str,
    "restartPolicy": str,
    "resources": _RESOURCES,
    "ports": [{"containerPort": int, "hostPort": int, "hostIP": str, "protocol": str}],
}
_CONTAINER_STATUS: Mapping[str, Mask] = {
    "name": str,
    "allocatedResources": _AMOUNTS,
    "resources": _RESOURCES,
}
_CLAIM_NAME: Mapping[str, Mask] = {"claimName": str}
_POD_VOLUME: Mapping[str, Mask] = {
    "name": str,
    "persistentVolumeClaim": _CLAIM_NAME,
    "ephemeral": {},
    "image": {"reference": str},
    "gcePersistentDisk": {"pdName": str, "readOnly": bool},
    "awsElasticBlockStore": {"volumeID": str, "readOnly": bool},
    "azureDisk": {"diskURI": str, "kind": str},
    "cinder": {"volumeID": str},
    "portworxVolume": {"volumeID": str},
    "iscsi": {"iqn": str, "readOnly": bool},
    "rbd": {"monitors": [str], "pool": str, "image": str, "readOnly": bool},
}
_CONDITION: Mapping[str, Mask] = {"type": str, "status": str, "reason": str}
METADATA: Mapping[str, Mask] = {
    "name": str,
    "namespace": str,
    "uid": str,
    "labels": _TEXTS,
    "annotations": _TEXTS,
    "deletionTimestamp": str,
    "ownerReferences": [
        {"apiVersion": str, "kind": str, "name": str, "uid": str, "controller": bool}
    ],
}
_POD: Mapping[str, Mask] = {
    "spec": {
        "nodeName": str,
        "nodeSelector": _TEXTS,
        "affinity": AFFINITY,
        "tolerations": TOLERATIONS,
        "topologySpreadConstraints": SPREAD,
        "schedulerName": str,
        "priority": int,
        "priorityClassName": str,
        "overhead": _AMOUNTS,
        "runtimeClassName": str,
        "schedulingGates": [{"name": str}],
        "hostNetwork": bool,
        "resourceClaims": [{"name": str}],
        "resources": _RESOURCES,
        "containers": [_CONTAINER],
        "initContainers": [_CONTAINER],
        "volumes": [_POD_VOLUME],
    },
    "status": {
        "phase": str,
        "nominatedNodeName": str,
        "conditions": [_CONDITION],
        "containerStatuses": [_CONTAINER_STATUS],
        "initContainerStatuses": [_CONTAINER_STATUS],
    },
}
_NODE: Mapping[str, Mask] = {
    "spec": {
        "unschedulable": bool,
        "taints": [{"key": str, "value": str, "effect": str}],
    },
    "status": {
        "allocatable": _AMOUNTS,
        "capacity": _AMOUNTS,
        "conditions": [_CONDITION],
        "images": [{"names": [str], "sizeBytes": int}],
    },
}
_VOLUME: Mapping[str, Mask] = {
    "spec": {
        "accessModes": [str],
        "capacity": _AMOUNTS,
        "claimRef": {"kind": str, "name": str, "namespace": str, "uid": str},
        "nodeAffinity": {"required": _NODE_SELECTOR},
        "storageClassName": str,
        "volumeAttributesClassName": str,
        "volumeMode": str,
        "csi": {"driver": str, "volumeHandle": str},
        "awsElasticBlockStore": {"volumeID": str},
        "azureDisk": {"diskURI": str, "kind": str},
        "cinder": {"volumeID": str},
        "gcePersistentDisk": {"pdName": str},
        "portworxVolume": {"volumeID": str},
    },
    "status": {"phase": str},
}
_CLAIM: Mapping[str, Mask] = {
    "spec": {
        "accessModes": [str],
        "resources": _RESOURCES,
        "selector": _SELECTOR,
        "storageClassName": str,
        "volumeAttributesClassName": str,
        "volumeMode": str,
        "volumeName": str,
    },
    "status": {"accessModes": [str], "capacity": _AMOUNTS, "phase": str},
}
_OWNER: Mapping[str, Mask] = {"spec": {"replicas": int, "selector": _SELECTOR}}
_TOPOLOGY: Mapping[str, Mask] = {"matchLabelExpressions": [{"key": str, "values": [str]}]}

SHAPES: Mapping[str, Mapping[str, Mask]] = {
    "CSINode": {"spec": {"drivers": [{"name": str, "allocatable": {"count": int}}]}},
    "Node": _NODE,
    "PersistentVolume": _VOLUME,
    "PersistentVolumeClaim": _CLAIM,
    "Pod": _POD,
    "PriorityClass": {"value": int, "globalDefault": bool},
    "ReplicaSet": _OWNER,
    "ReplicationController": {"spec": {"replicas": int, "selector": _TEXTS}},
    "RuntimeClass": {
        "handler": str,
        "overhead": {"podFixed": _AMOUNTS},
        "scheduling": {"nodeSelector": _TEXTS, "tolerations": TOLERATIONS},
    },
    "Service": {"spec": {"selector": _TEXTS}},
    "StatefulSet": _OWNER,
    "StorageClass": {
        "allowedTopologies": [_TOPOLOGY],
        "provisioner": str,
        "volumeBindingMode": str,
    },
    "VolumeAttachment": {
        "spec": {"attacher": str, "nodeName": str, "source": {"persistentVolumeName": str}}
    },
}
