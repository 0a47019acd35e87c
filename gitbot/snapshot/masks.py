"""What a snapshot keeps of each kind: an allow-list of fields that a rule can refer to.

A mask is KEEP (the value as it is), a mapping of field names to masks, or a list with the mask of
its items. What no mask names is never decoded: environment variables, commands, user data,
secrets, images' pull secrets, managed fields. Annotations are filtered by ANNOTATIONS.
Sources: kube-scheduler 1.36 (what its plugins read), KubeVirt 1.9 (what decides a target pod).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

KEEP = None
Mask = Any  # KEEP | Mapping[str, Mask] | list[Mask]; recursive


def _keep(*names: str) -> dict[str, Mask]:
    return dict.fromkeys(names, KEEP)


ANNOTATIONS = frozenset(
    {
        "descheduler.alpha.kubernetes.io/evict",
        "descheduler.alpha.kubernetes.io/eviction-in-progress",
        "descheduler.alpha.kubernetes.io/prefer-no-eviction",
        "descheduler.alpha.kubernetes.io/request-evict-only",
        "kubevirt.io/allow-pod-bridge-network-live-migration",
        "kubevirt.io/domain",
        "kubevirt.io/eviction-source",
        "kubevirt.io/evacuationMigration",
        "kubevirt.io/heartbeat",
        "kubevirt.io/memory-overhead-bytes",
        "kubevirt.io/migrationJobName",
        "kubevirt.io/migrationPendingPodTimeoutSeconds",
        "kubevirt.io/migrationTransportUnix",
        "kubevirt.io/migrationUnschedulablePodTimeoutSeconds",
        "kubevirt.io/nonroot",
        "kubevirt.io/workloadUpdateMigration",
        "node-labeller.kubevirt.io/skip-node",
        "pv.kubernetes.io/bind-completed",
        "volume.kubernetes.io/selected-node",
    }
)
ANNOTATION_PREFIXES = ("placement.gitbot.dev/",)

METADATA: Mapping[str, Mask] = {
    **_keep(
        "name",
        "namespace",
        "uid",
        "labels",
        "annotations",
        "creationTimestamp",
        "deletionTimestamp",
        "generation",
        "finalizers",
    ),
    "ownerReferences": [_keep("apiVersion", "kind", "name", "uid", "controller")],
}
_TEMPLATE_METADATA: Mapping[str, Mask] = _keep("labels", "annotations")
_CONDITIONS: Mask = [_keep("type", "status", "reason", "message", "lastTransitionTime")]
_QUANTITIES: Mapping[str, Mask] = _keep("requests", "limits")
_PROBE: Mapping[str, Mask] = {"exec": {}, **_keep("timeoutSeconds")}

_CONTAINER: Mapping[str, Mask] = {
    **_keep("name", "image", "restartPolicy"),
    "resources": {**_QUANTITIES, "claims": [_keep("name", "request")]},
    "ports": [_keep("containerPort", "hostPort", "hostIP", "protocol")],
}
_CONTAINER_STATUS: Mapping[str, Mask] = {
    **_keep("name", "allocatedResources"),
    "resources": _QUANTITIES,
}
_POD_VOLUME: Mapping[str, Mask] = {
    "name": KEEP,
    "persistentVolumeClaim": _keep("claimName", "readOnly"),
    "ephemeral": {},
    "csi": _keep("driver"),
    "hostPath": {},
    "gcePersistentDisk": _keep("pdName", "readOnly"),
    "awsElasticBlockStore": _keep("volumeID", "readOnly"),
    "azureDisk": _keep("diskName"),
    "iscsi": _keep("iqn", "targetPortal", "lun", "readOnly"),
    "rbd": _keep("monitors", "pool", "image", "readOnly"),
}
_POD: Mapping[str, Mask] = {
    "spec": {
        **_keep(
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
            "resourceClaims",
        ),
        "resources": _QUANTITIES,
        "containers": [_CONTAINER],
        "initContainers": [_CONTAINER],
        "volumes": [_POD_VOLUME],
    },
    "status": {
        **_keep("phase", "reason", "nominatedNodeName", "qosClass", "resize", "startTime"),
        "conditions": _CONDITIONS,
        "containerStatuses": [_CONTAINER_STATUS],
        "initContainerStatuses": [_CONTAINER_STATUS],
    },
}
_NODE: Mapping[str, Mask] = {
    "spec": _keep("unschedulable", "taints"),
    "status": {
        **_keep("allocatable", "capacity", "declaredFeatures"),
        "conditions": _CONDITIONS,
        "images": [_keep("names", "sizeBytes")],
        "nodeInfo": _keep("bootID", "kubeletVersion", "architecture"),
    },
}

_DISK_DEVICE: Mapping[str, Mask] = _keep("bus", "readonly", "reservation")
_DEVICES: Mapping[str, Mask] = {
    **_keep(
        "autoattachGraphicsDevice",
        "autoattachInputDevice",
        "autoattachMemBalloon",
        "autoattachPodInterface",
        "autoattachSerialConsole",
        "autoattachVSOCK",
        "blockMultiQueue",
        "clientPassthrough",
        "disableHotplug",
        "downwardMetrics",
        "logSerialConsole",
        "networkInterfaceMultiqueue",
        "rng",
        "sound",
        "tpm",
        "useVirtioTransitional",
        "video",
        "watchdog",
    ),
    "disks": [
        {
            **_keep("name", "bootOrder", "cache", "dedicatedIOThread", "io", "shareable"),
            "disk": _DISK_DEVICE,
            "cdrom": _DISK_DEVICE,
            "lun": _DISK_DEVICE,
        }
    ],
    "filesystems": [_keep("name", "virtiofs")],
    "interfaces": [
        {
            **_keep("name", "model", "state", "bridge", "masquerade", "sriov", "slirp", "macvtap"),
            "passt": KEEP,
            "passtBinding": KEEP,
            "binding": _keep("name"),
        }
    ],
    "gpus": [_keep("name", "deviceName", "claimName", "requestName")],
    "hostDevices": [_keep("name", "deviceName", "claimName", "requestName")],
}
_DOMAIN: Mapping[str, Mask] = {
    **_keep("clock", "cpu", "features", "ioThreads", "ioThreadsPolicy", "machine", "memory"),
    "resources": {**_QUANTITIES, "overcommitGuestOverhead": KEEP},
    "devices": _DEVICES,
    "launchSecurity": {"sev": _keep("policy"), "snp": {}, "tdx": {}},
    "firmware": {"kernelBoot": {"container": _keep("image")}, "bootloader": KEEP},
}
_INSTANCE_VOLUME: Mapping[str, Mask] = {
    "name": KEEP,
    "persistentVolumeClaim": _keep("claimName", "hotpluggable", "readOnly"),
    "dataVolume": _keep("name", "hotpluggable"),
    "ephemeral": {"persistentVolumeClaim": _keep("claimName", "readOnly")},
    "memoryDump": _keep("claimName", "hotpluggable"),
    "containerDisk": _keep("image"),
    "emptyDisk": _keep("capacity"),
    "hostDisk": _keep("type", "shared"),
    "cloudInitConfigDrive": {},
    "cloudInitNoCloud": {},
    "configMap": {},
    "downwardAPI": {},
    "downwardMetrics": {},
    "secret": {},
    "serviceAccount": {},
    "sysprep": {},
}
_INSTANCE_SPEC: Mapping[str, Mask] = {
    **_keep(
        "affinity",
        "architecture",
        "dnsPolicy",
        "evictionStrategy",
        "hostname",
        "nodeSelector",
        "priorityClassName",
        "resourceClaims",
        "schedulerName",
        "startStrategy",
        "terminationGracePeriodSeconds",
        "tolerations",
        "topologySpreadConstraints",
    ),
    "domain": _DOMAIN,
    "livenessProbe": _PROBE,
    "readinessProbe": _PROBE,
    "networks": [{"name": KEEP, "pod": KEEP, "multus": _keep("networkName", "default")}],
    "volumes": [_INSTANCE_VOLUME],
}
_INSTANCE_TEMPLATE: Mapping[str, Mask] = {"metadata": _TEMPLATE_METADATA, "spec": _INSTANCE_SPEC}
_MIGRATION_STATE: Mapping[str, Mask] = _keep(
    "abortRequested",
    "abortStatus",
    "completed",
    "endTimestamp",
    "failed",
    "failureReason",
    "migrationConfiguration",
    "migrationPolicyName",
    "migrationUid",
    "mode",
    "sourceNode",
    "sourcePod",
    "startTimestamp",
    "targetCPUSet",
    "targetMemoryOverhead",
    "targetNode",
    "targetNodeDomainDetected",
    "targetNodeDomainReadyTimestamp",
    "targetPod",
)
_INSTANCE: Mapping[str, Mask] = {
    "spec": _INSTANCE_SPEC,
    "status": {
        **_keep(
            "activePods",
            "currentCPUTopology",
            "evacuationNodeName",
            "fsFreezeStatus",
            "launcherContainerImageVersion",
            "machine",
            "memory",
            "migrationMethod",
            "migrationTransport",
            "nodeName",
            "phase",
            "qosClass",
            "reason",
            "runtimeUser",
            "selinuxContext",
            "topologyHints",
        ),
        "conditions": _CONDITIONS,
        "migrationState": _MIGRATION_STATE,
        "migratedVolumes": [_keep("volumeName")],
        "changedBlockTracking": KEEP,
        "interfaces": [_keep("name", "podInterfaceName", "queueCount")],
        "phaseTransitionTimestamps": [_keep("phase", "phaseTransitionTimestamp")],
        "volumeStatus": [
            {
                **_keep("name", "target", "phase", "size"),
                "hotplugVolume": _keep("attachPodName", "attachPodUID"),
                "persistentVolumeClaimInfo": _keep(
                    "accessModes", "capacity", "claimName", "requests", "volumeMode"
                ),
            }
        ],
    },
}
_MACHINE: Mapping[str, Mask] = {
    "spec": {
        **_keep("running", "runStrategy", "updateVolumesStrategy"),
        "instancetype": _keep("kind", "name", "revisionName"),
        "preference": _keep("kind", "name", "revisionName"),
        "template": _INSTANCE_TEMPLATE,
        "dataVolumeTemplates": [{"metadata": _keep("name")}],
    },
    "status": {
        **_keep("created", "printableStatus", "ready", "runStrategy", "observedGeneration"),
        "conditions": _CONDITIONS,
    },
}
_MIGRATION: Mapping[str, Mask] = {
    "spec": {
        **_keep("addedNodeSelector", "priority", "vmiName"),
        "sendTo": _keep("migrationID"),
        "receive": _keep("migrationID"),
    },
    "status": {
        "phase": KEEP,
        "conditions": _CONDITIONS,
        "migrationState": _MIGRATION_STATE,
        "phaseTransitionTimestamps": [_keep("phase", "phaseTransitionTimestamp")],
    },
}
_KUBEVIRT: Mapping[str, Mask] = {
    "spec": {
        "configuration": {
            **_keep(
                "additionalGuestMemoryOverheadRatio",
                "architectureConfiguration",
                "autoCPULimitNamespaceLabelSelector",
                "cpuModel",
                "cpuRequest",
                "defaultRuntimeClass",
                "developerConfiguration",
                "emulatedMachines",
                "evictionStrategy",
                "ksmConfiguration",
                "liveUpdateConfiguration",
                "machineType",
                "migrations",
                "minCPUModel",
                "obsoleteCPUModels",
                "permittedHostDevices",
                "supportContainerResources",
                "virtualMachineOptions",
                "vmRolloutStrategy",
                "vmStateStorageClass",
            ),
            "network": _keep("binding", "defaultNetworkInterface"),
        },
    },
    "status": {
        **_keep(
            "defaultArchitecture",
            "observedKubeVirtVersion",
            "operatorVersion",
            "phase",
            "targetKubeVirtVersion",
        ),
        "conditions": _CONDITIONS,
    },
}
_POLICY: Mapping[str, Mask] = {
    "spec": _keep(
        "allowAutoConverge",
        "allowPostCopy",
        "allowWorkloadDisruption",
        "bandwidthPerMigration",
        "completionTimeoutPerGiB",
        "maxDowntimeMs",
        "selectors",
    )
}
_VOLUME: Mapping[str, Mask] = {
    "spec": {
        **_keep("accessModes", "capacity", "nodeAffinity", "storageClassName", "volumeMode"),
        "claimRef": _keep("kind", "name", "namespace", "uid"),
        "csi": _keep("driver", "volumeHandle"),
        "hostPath": {},
        "local": {},
    },
    "status": _keep("phase"),
}

EVENT: Mapping[str, Mask] = {
    **_keep("type", "reason", "message", "count", "firstTimestamp", "lastTimestamp", "eventTime"),
    "involvedObject": _keep("kind", "namespace", "name", "uid"),
}

MASKS: Mapping[str, Mapping[str, Mask]] = {
    "CSINode": {"spec": {"drivers": [_keep("name", "nodeID", "allocatable", "topologyKeys")]}},
    "ConfigMap": {"data": _keep("reason")},
    "KubeVirt": _KUBEVIRT,
    "MigrationPolicy": _POLICY,
    "Namespace": {"status": _keep("phase")},
    "Node": _NODE,
    "PersistentVolume": _VOLUME,
    "PersistentVolumeClaim": {
        "spec": {
            **_keep("accessModes", "selector", "storageClassName", "volumeMode", "volumeName"),
            "resources": _QUANTITIES,
        },
        "status": _keep("accessModes", "capacity", "phase"),
    },
    "Pod": _POD,
    "PodDisruptionBudget": {
        "spec": _keep("maxUnavailable", "minAvailable", "selector", "unhealthyPodEvictionPolicy"),
        "status": _keep("currentHealthy", "desiredHealthy", "disruptionsAllowed", "expectedPods"),
    },
    "PriorityClass": _keep("value", "globalDefault", "preemptionPolicy"),
    "ReplicaSet": {"spec": _keep("replicas", "selector")},
    "ReplicationController": {"spec": _keep("replicas", "selector")},
    "ResourceQuota": {
        "spec": _keep("hard", "scopeSelector", "scopes"),
        "status": _keep("hard", "used"),
    },
    "RuntimeClass": _keep("handler", "overhead", "scheduling"),
    "Service": {"spec": _keep("selector", "type")},
    "StatefulSet": {"spec": _keep("replicas", "selector")},
    "StorageClass": _keep("allowedTopologies", "provisioner", "volumeBindingMode"),
    "VirtualMachine": _MACHINE,
    "VirtualMachineInstance": _INSTANCE,
    "VirtualMachineInstanceMigration": _MIGRATION,
    "VirtualMachineInstanceReplicaSet": {
        "spec": {**_keep("paused", "replicas", "selector"), "template": _INSTANCE_TEMPLATE},
        "status": _keep("readyReplicas", "replicas"),
    },
    "VirtualMachinePool": {
        "spec": {
            **_keep("paused", "replicas", "selector"),
            "virtualMachineTemplate": {
                "metadata": _TEMPLATE_METADATA,
                "spec": {
                    **_keep("running", "runStrategy"),
                    "template": _INSTANCE_TEMPLATE,
                },
            },
        },
        "status": _keep("readyReplicas", "replicas"),
    },
    "VolumeAttachment": {
        "spec": {
            **_keep("attacher", "nodeName"),
            "source": _keep("persistentVolumeName"),
        },
        "status": _keep("attached"),
    },
}
