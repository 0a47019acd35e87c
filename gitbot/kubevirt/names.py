"""Label and annotation keys of KubeVirt that affect decisions, and whose mark a migration has."""

from __future__ import annotations

from gitbot.kubernetes.labels import MANAGED_BY
from gitbot.kubernetes.objects import KubernetesObject, annotations_of, labels_of

SCHEDULABLE = "kubevirt.io/schedulable"
HEARTBEAT = "kubevirt.io/heartbeat"
"""Annotation of a node: when its virt-handler last answered, each one or two minutes."""
APP = "kubevirt.io"
CREATED_BY = "kubevirt.io/created-by"
DOMAIN = "kubevirt.io/domain"
NODE_NAME = "kubevirt.io/nodeName"
API_VERSION = "kubevirt.io/v1"
TARGET_NODE_NAME = "kubevirt.io/migrationTargetNodeName"
OUTDATED_LAUNCHER = "kubevirt.io/outdatedLauncherImage"
VMI_ID = "vmi.kubevirt.io/id"
VM_NAME = "vm.kubevirt.io/name"
VMI_NAME = "kubevirt.io/vmi-name"
MIGRATION_UID = "kubevirt.io/migrationJobUID"
MIGRATION_NAME = "kubevirt.io/migrationJobName"
MIGRATION_FINALIZER = "kubevirt.io/migrationJobFinalize"
VMI_FINALIZER = "kubevirt.io/foregroundDeleteVirtualMachine"
TRANSPORT_UNIX = "kubevirt.io/migrationTransportUnix"
MEMORY_OVERHEAD = "kubevirt.io/memory-overhead-bytes"
TARGET_READY = "kubevirt.io/migration-target-ready-timestamp"
NONROOT = "kubevirt.io/nonroot"
EVACUATION = "kubevirt.io/evacuationMigration"
WORKLOAD_UPDATE = "kubevirt.io/workloadUpdateMigration"
EVICTION_SOURCE = "kubevirt.io/eviction-source"
EVICT_ONLY = "descheduler.alpha.kubernetes.io/request-evict-only"
EVICTION_IN_PROGRESS = "descheduler.alpha.kubernetes.io/eviction-in-progress"
OBSERVED_API_VERSION = "kubevirt.io/latest-observed-api-version"
STORAGE_API_VERSION = "kubevirt.io/storage-observed-api-version"
UTILITY_TIMEOUT = "kubevirt.io/migrationUtilityVolumesTimeoutSeconds"
UNSCHEDULABLE_TIMEOUT = "kubevirt.io/migrationUnschedulablePodTimeoutSeconds"
PENDING_TIMEOUT = "kubevirt.io/migrationPendingPodTimeoutSeconds"
EVEN_PARITY = "alpha.kubevirt.io/EmulatorThreadCompleteToEvenParity"
MEMORY_LIMIT_RATIO = "alpha.kubevirt.io/auto-memory-limits-ratio"
HOOK_SIDECARS = "hooks.kubevirt.io/hookSidecars"
QGS_SOCKET = "kubevirt.io/qgs-socket-path"
PCI_TOPOLOGY = "kubevirt.io/pci-topology-version"
RESERVATION = "pr.kubevirt.io/"
LOG_VERBOSITY = "logVerbosity"
ISTIO_INJECT = "sidecar.istio.io/inject"

OBSOLETE_HOST_MODEL = "node-labeller.kubevirt.io/obsolete-host-model"
CPU_MODEL = "cpu-model.node.kubevirt.io/"
CPU_FEATURE = "cpu-feature.node.kubevirt.io/"
CPU_VENDOR = "cpu-vendor.node.kubevirt.io/"
HOST_MODEL = "host-model-cpu.node.kubevirt.io/"
HOST_MODEL_FEATURE = "host-model-required-features.node.kubevirt.io/"
MIGRATION_CPU = "cpu-model-migration.node.kubevirt.io/"
MACHINE_TYPE = "machine-type.node.kubevirt.io/"
HYPERV = "hyperv.node.kubevirt.io/"
TSC_FREQUENCY = "scheduling.node.kubevirt.io/tsc-frequency-"
VM_ARCHITECTURE = "kubevirt.io/vm-arch-"
ARCHITECTURE = "kubernetes.io/arch"
HOSTNAME = "kubernetes.io/hostname"


def mover_of(migration: KubernetesObject) -> str:
    """The mover in words; a person with virtctl leaves no mark."""
    annotations = annotations_of(migration)
    if annotations.get(EVICTION_SOURCE) == "descheduler":
        return "the descheduler"
    if EVACUATION in annotations:
        return "an evacuation"
    if WORKLOAD_UPDATE in annotations:
        return "KubeVirt's workload updater"
    if labels_of(migration).get(MANAGED_BY) == "gitbot":
        return "another gitbot"
    return "a person or another tool"


PLACEMENT_FIELDS = (
    "nodeSelector",
    "affinity",
    "topologySpreadConstraints",
    "tolerations",
    "schedulerName",
    "evictionStrategy",
)
"""The fields of a VM's spec about its placement.

KubeVirt fills evictionStrategy from its own default; an instancetype fills nodeSelector and
schedulerName.
"""
