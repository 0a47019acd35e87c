"""What a snapshot keeps of KubeVirt's kinds: what decides a target pod."""

from __future__ import annotations

from gitbot.snapshot.field_tree import (
    ANY,
    CONDITIONS,
    QUANTITIES,
    TEMPLATE_METADATA,
    Fields,
    alike,
    keep,
    shared,
)

_PROBE: Fields = {"exec": {}, **keep("timeoutSeconds")}


_DISK_DEVICE: Fields = keep("bus", "readonly", "reservation")
_DEVICES: Fields = {
    **keep(
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
            **keep("name", "bootOrder", "cache", "dedicatedIOThread", "io", "shareable"),
            "disk": _DISK_DEVICE,
            "cdrom": _DISK_DEVICE,
            "lun": _DISK_DEVICE,
        }
    ],
    "filesystems": [keep("name", "virtiofs")],
    "interfaces": [
        {
            **keep("name", "model", "state", "bridge", "masquerade", "sriov", "slirp", "macvtap"),
            "passt": ANY,
            "passtBinding": ANY,
            "binding": keep("name"),
        }
    ],
    "gpus": [keep("name", "deviceName", "claimName", "requestName")],
    "hostDevices": [keep("name", "deviceName", "claimName", "requestName")],
}
_DOMAIN: Fields = {
    **keep("clock", "cpu", "features", "ioThreads", "ioThreadsPolicy", "machine", "memory"),
    "resources": {**QUANTITIES, "overcommitGuestOverhead": ANY},
    "devices": _DEVICES,
    "launchSecurity": {"sev": keep("policy"), "snp": {}, "tdx": {}},
    "firmware": {"kernelBoot": {"container": keep("image")}, "bootloader": ANY},
}
_INSTANCE_VOLUME: Fields = {
    "name": ANY,
    "persistentVolumeClaim": keep("claimName", "hotpluggable", "readOnly"),
    "dataVolume": keep("name", "hotpluggable"),
    "ephemeral": {"persistentVolumeClaim": keep("claimName", "readOnly")},
    "memoryDump": keep("claimName", "hotpluggable"),
    "containerDisk": keep("image"),
    "emptyDisk": keep("capacity"),
    "hostDisk": keep("type", "shared"),
    "cloudInitConfigDrive": {},
    "cloudInitNoCloud": {},
    "configMap": {},
    "downwardAPI": {},
    "downwardMetrics": {},
    "secret": {},
    "serviceAccount": {},
    "sysprep": {},
}
_CLAIM_ASKED: Fields = {
    **keep("accessModes", "selector", "storageClassName", "volumeMode", "volumeName"),
    "resources": QUANTITIES,
}
_INSTANCE_SPEC: Fields = {
    "affinity": shared(ANY),
    **keep("architecture", "dnsPolicy", "evictionStrategy", "hostname"),
    "nodeSelector": shared(ANY),
    **keep("priorityClassName", "resourceClaims", "schedulerName", "startStrategy", "subdomain"),
    "terminationGracePeriodSeconds": ANY,
    "tolerations": shared(ANY),
    "topologySpreadConstraints": shared(ANY),
    "domain": alike(_DOMAIN),
    "livenessProbe": _PROBE,
    "readinessProbe": _PROBE,
    "utilityVolumes": [keep("name", "claimName", "type")],
    "networks": [{"name": ANY, "pod": ANY, "multus": keep("networkName", "default")}],
    "volumes": [_INSTANCE_VOLUME],
}
INSTANCE_TEMPLATE: Fields = {"metadata": TEMPLATE_METADATA, "spec": _INSTANCE_SPEC}
_MIGRATION_STATE: Fields = keep(
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
INSTANCE: Fields = {
    "spec": _INSTANCE_SPEC,
    "status": {
        **keep(
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
        "conditions": CONDITIONS,
        "migrationState": _MIGRATION_STATE,
        "migratedVolumes": [
            {"volumeName": ANY, "sourcePVCInfo": keep("capacity", "claimName", "requests")}
        ],
        "changedBlockTracking": ANY,
        "interfaces": [keep("name", "podInterfaceName", "queueCount")],
        "phaseTransitionTimestamps": [keep("phase", "phaseTransitionTimestamp")],
        "volumeStatus": [
            {
                **keep("name", "target", "phase", "size"),
                "hotplugVolume": keep("attachPodName", "attachPodUID"),
                "persistentVolumeClaimInfo": keep(
                    "accessModes", "capacity", "claimName", "requests", "volumeMode"
                ),
            }
        ],
    },
}
MACHINE: Fields = {
    "spec": {
        **keep("running", "runStrategy", "updateVolumesStrategy"),
        "instancetype": keep("kind", "name", "revisionName"),
        "preference": keep("kind", "name", "revisionName"),
        "template": INSTANCE_TEMPLATE,
        "dataVolumeTemplates": [
            {"metadata": keep("name"), "spec": keep("pvc", "storage", of=_CLAIM_ASKED)}
        ],
    },
    "status": {
        **keep("created", "printableStatus", "ready", "runStrategy", "observedGeneration"),
        "conditions": CONDITIONS,
        **keep(
            "instancetypeRef",
            "preferenceRef",
            of={"name": ANY, "controllerRevisionRef": keep("name")},
        ),
    },
}
INSTANCE_TYPE: Fields = {
    **keep("cpu", "ioThreads", "ioThreadsPolicy", "memory", "nodeSelector", "schedulerName"),
    "launchSecurity": _DOMAIN["launchSecurity"],
    **keep("gpus", "hostDevices", of=_DEVICES["gpus"]),
}
PREFERENCE: Fields = {
    **keep("cpu", "features", "machine", "preferSpreadSocketToCoreRatio", "preferredArchitecture"),
    "preferredLaunchSecurity": _DOMAIN["launchSecurity"],
    "firmware": keep("preferredEfi", "preferredUseBios", "preferredUseEfi"),
    "devices": keep(
        "preferredAutoattachGraphicsDevice",
        "preferredAutoattachInputDevice",
        "preferredAutoattachMemBalloon",
        "preferredAutoattachPodInterface",
        "preferredAutoattachSerialConsole",
        "preferredInterfaceMasquerade",
        "preferredInterfaceModel",
        "preferredNetworkInterfaceMultiQueue",
        "preferredRng",
        "preferredTPM",
    ),
}
STORED_TYPE: Fields = {**INSTANCE_TYPE, **PREFERENCE}
MIGRATION: Fields = {
    "spec": {
        **keep("addedNodeSelector", "priority", "vmiName"),
        "sendTo": keep("connectURL", "migrationID"),
        "receive": keep("migrationID"),
    },
    "status": {
        "phase": ANY,
        "conditions": CONDITIONS,
        "migrationState": _MIGRATION_STATE,
        "phaseTransitionTimestamps": [keep("phase", "phaseTransitionTimestamp")],
    },
}
KUBEVIRT: Fields = {
    "spec": {
        "workloadUpdateStrategy": keep("workloadUpdateMethods"),
        "configuration": {
            **keep(
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
            "network": keep("binding", "defaultNetworkInterface"),
        },
    },
    "status": {
        **keep(
            "defaultArchitecture",
            "observedKubeVirtVersion",
            "operatorVersion",
            "outdatedVirtualMachineInstanceWorkloads",
            "phase",
            "targetKubeVirtVersion",
        ),
        "conditions": CONDITIONS,
    },
}
POLICY: Fields = {
    "spec": keep(
        "allowAutoConverge",
        "allowPostCopy",
        "allowWorkloadDisruption",
        "bandwidthPerMigration",
        "completionTimeoutPerGiB",
        "experimental",
        "maxDowntimeMs",
        "selectors",
    )
}
