"""Which KubeVirt the rules follow, the source of each upstream, and the gates on by default.

`python -m tests.upstream kubevirt --data CLONE --to v1.10.0` prints what changed since in the files
of `SOURCES`, with the modules that follow them.
"""

from collections.abc import Mapping
from functools import lru_cache

Version = tuple[int, int, int]

OLDEST: Version = (1, 6, 0)  # spec.addedNodeSelector: absent in v1.5.0, here without a gate
SAFE: Version = (1, 6, 1)  # below it, virt-api takes the certificate of any front proxy
FOLLOWED: Version = (1, 9, 0)  # the source that the rules were read in, and compared with
TAG = f"v{FOLLOWED[0]}.{FOLLOWED[1]}.{FOLLOWED[2]}"

# Since 1.9, a gate in stage Beta is on unless it is disabled (featuregate.IsEnabled); before, only
# gates that the KubeVirt object names were on. An entry holds from its minor version on.
ON_BY_DEFAULT: Mapping[tuple[int, int], frozenset[str]] = {
    (1, 9): frozenset(
        {
            "DeclarativeHotplugVolumes",
            "ExternalNetResourceInjection",
            "GPUsWithDRA",
            "HostDevicesWithDRA",
            "ImageVolume",
            "KubevirtSeccompProfile",
            "LibvirtHooksServerAndClient",
            "NodeRestriction",
            "OptOutRoleAggregation",
            "PasstBinding",
            "PodSecondaryInterfaceNamingUpgrade",
            "RebootPolicy",
            "Snapshot",
            "Template",
            "VmiMemoryOverheadReport",
            "WorkloadEncryptionSEV",
        }
    ),
}

# MiB that every launcher has besides its guest: monitor 25, launcher 100, virtlogd 25, virtqemud
# 40, and qemu 30 or 50. An entry holds from its minor version on.
_FIXED_OVERHEAD: Mapping[tuple[int, int], int] = {(0, 0): 220, (1, 10): 240}


def fixed_overhead(version: Version | None) -> int:
    """The part of a launcher's overhead that no VM changes, in MiB; as `FOLLOWED` if unknown."""
    minor = (version or FOLLOWED)[:2]
    return _FIXED_OVERHEAD[max(since for since in _FIXED_OVERHEAD if since <= minor)]


def cpu_manager_label(version: Version | None) -> str:
    """The node label that dedicated CPUs need. Before 1.8, nodes have the old one alone."""
    return "kubevirt.io/cpumanager" if (version or FOLLOWED) >= (1, 8, 0) else "cpumanager"


@lru_cache(maxsize=8)
def gates_on(version: Version | None) -> frozenset[str]:
    """The gates that this KubeVirt has on by default; as `FOLLOWED` if it does not say."""
    minor = (version or FOLLOWED)[:2]
    known = [since for since in ON_BY_DEFAULT if since <= minor]
    return ON_BY_DEFAULT[max(known)] if known else frozenset()


_SERVICES = "pkg/virt-controller/services"
_WATCH = "pkg/virt-controller/watch"
_API = "staging/src/kubevirt.io/api/core/v1"
_ADMITTERS = "pkg/virt-api/webhooks/validating-webhook/admitters"

# Path in kubevirt/kubevirt at FOLLOWED to the modules of gitbot that follow it.
SOURCES: Mapping[str, str] = {
    "pkg/container-disk": "kubevirt.containers",
    "pkg/controller/controller.go": "kubevirt.launcher_pod simulation.kubevirt.launchers",
    "pkg/defaults/defaults.go": "kubevirt.instance_defaults",
    "pkg/hypervisor/kvm/hypervisorbackend.go": "kubevirt.memory_overhead",
    "pkg/instancetype": "kubevirt.instance_types",
    "pkg/network/multus/nad.go": "kubevirt.network_devices",
    "pkg/network/resources": "kubevirt.memory_overhead",
    "pkg/storage/backend-storage/backend-storage.go": "kubevirt.state_storage",
    "pkg/util/migrations/migrations.go": "kubevirt.limits",
    "pkg/util/webhooks": "kubevirt.admission",
    "pkg/virt-api/rest/lifecycle.go": "rendering.migration simulation.kubevirt.new_migration",
    "pkg/virt-api/webhooks": "kubevirt.admission simulation.kubevirt.instance_admission",
    f"{_ADMITTERS}/migration-create-admitter.go": "reports.conditions",
    f"{_ADMITTERS}/pod-eviction-admitter.go": "kubevirt.eviction",
    "pkg/virt-config/featuregate": "kubevirt.versions",
    "pkg/virt-config/virt-config.go": "kubevirt.kubevirt_object kubevirt.limits",
    _SERVICES: "kubevirt.target_pod",
    f"{_SERVICES}/nodeselectorrenderer.go": "kubevirt.node_selector",
    f"{_SERVICES}/renderresources.go": (
        "kubevirt.attachment_pod kubevirt.compute_resources kubevirt.containers"
    ),
    f"{_SERVICES}/serialconsolelog.go": "kubevirt.containers",
    f"{_SERVICES}/template.go": (
        "kubevirt.attachment_pod kubevirt.containers kubevirt.launcher_pod "
        "kubevirt.node_selector kubevirt.target_pod simulation.kubevirt.attachment_pod"
    ),
    f"{_WATCH}/drain/evacuation/evacuation.go": "simulation.kubevirt.evacuation",
    f"{_WATCH}/migration/migration.go": (
        "constraints.scheduler.filters.attachment kubevirt.launcher_pod kubevirt.limits "
        "kubevirt.target_pod simulation.kubevirt.attachment_pod simulation.kubevirt.backoff "
        "simulation.kubevirt.hand_off simulation.kubevirt.host_model_alert "
        "simulation.kubevirt.migration_actions simulation.kubevirt.migration_blockers "
        "simulation.kubevirt.migration_controller simulation.kubevirt.migration_phases "
        "simulation.kubevirt.target_creation"
    ),
    f"{_WATCH}/migration/migrationpolicy.go": "kubevirt.migration_policy",
    f"{_WATCH}/node/node.go": "kubevirt.source_node",
    f"{_WATCH}/pool": "simulation.kubevirt.vm_owners",
    f"{_WATCH}/replicaset": "simulation.kubevirt.vm_owners",
    f"{_WATCH}/vm/vm.go": "constraints.moves.claims_to_come",
    f"{_WATCH}/vm": "kubevirt.eviction simulation.kubevirt.vm_owners",
    f"{_WATCH}/vmi/lifecycle.go": "simulation.kubevirt.vmi_lifecycle",
    f"{_WATCH}/workload-updater/workload-updater.go": "kubevirt.workload_updates",
    "pkg/virt-handler": "simulation.kubevirt.boot",
    "pkg/virt-handler/migration-source.go": "simulation.kubevirt.virt_handler",
    "pkg/virt-handler/migration-target.go": "simulation.kubevirt.virt_handler",
    "pkg/virt-operator/resource/generate/components/crds.go": "simulation.http.old_versions",
    "pkg/virtiofs": "kubevirt.containers",
    f"{_API}/schema.go": "simulation.instance_schema",
    f"{_API}/types.go": (
        "kubevirt.names simulation.instance_schema simulation.schemas snapshot.kept_fields_kubevirt"
    ),
}
