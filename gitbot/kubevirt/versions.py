"""Which KubeVirt the rules follow, the source of each upstream, and the gates on by default.

`python -m tests.upstream kubevirt --data CLONE --to v1.10.0` prints what changed since in the files
of `SOURCES`, by module.
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


@lru_cache(maxsize=8)
def gates_on(version: Version | None) -> frozenset[str]:
    """The gates that this KubeVirt has on by default; as `FOLLOWED` if it does not say."""
    minor = (version or FOLLOWED)[:2]
    known = [since for since in ON_BY_DEFAULT if since <= minor]
    return ON_BY_DEFAULT[max(known)] if known else frozenset()


_MIGRATION = "pkg/virt-controller/watch/migration/migration.go"
_SERVICES = "pkg/virt-controller/services"
_TEMPLATE = f"{_SERVICES}/template.go"
_API = "staging/src/kubevirt.io/api/core/v1"
_ADMITTERS = "pkg/virt-api/webhooks/validating-webhook/admitters"

# Module to paths in kubevirt/kubevirt at FOLLOWED.
SOURCES: Mapping[str, tuple[str, ...]] = {
    "gitbot.kubevirt.admission": ("pkg/virt-api/webhooks",),
    "gitbot.kubevirt.compute_resources": (f"{_SERVICES}/renderresources.go",),
    "gitbot.kubevirt.containers": (
        _TEMPLATE,
        f"{_SERVICES}/renderresources.go",
        f"{_SERVICES}/serialconsolelog.go",
        "pkg/container-disk",
        "pkg/virtiofs",
    ),
    "gitbot.kubevirt.eviction": (f"{_ADMITTERS}/pod-eviction-admitter.go",),
    "gitbot.kubevirt.kubevirt_object": ("pkg/virt-config/virt-config.go",),
    "gitbot.kubevirt.launcher_pod": (_TEMPLATE,),
    "gitbot.kubevirt.launcher_pods": ("pkg/controller/controller.go", _MIGRATION),
    "gitbot.kubevirt.limits": (
        "pkg/virt-config/virt-config.go",
        "pkg/util/migrations/migrations.go",
        _MIGRATION,
    ),
    "gitbot.kubevirt.memory_overhead": (
        "pkg/hypervisor/kvm/hypervisorbackend.go",
        "pkg/network/resources",
    ),
    "gitbot.kubevirt.migration_policy": ("pkg/virt-controller/watch/migration/migrationpolicy.go",),
    "gitbot.kubevirt.names": (f"{_API}/types.go",),
    "gitbot.kubevirt.node_selector": (f"{_SERVICES}/nodeselectorrenderer.go", _TEMPLATE),
    "gitbot.kubevirt.run_strategy": ("pkg/virt-controller/watch/vm",),
    "gitbot.kubevirt.source_node": ("pkg/virt-controller/watch/node/node.go",),
    "gitbot.kubevirt.target_pod": (_SERVICES, _MIGRATION),
    "gitbot.kubevirt.target_refusals": (_MIGRATION, _TEMPLATE),
    "gitbot.kubevirt.versions": ("pkg/virt-config/featuregate",),
    "gitbot.kubevirt.webhook_answers": ("pkg/util/webhooks",),
    "gitbot.rendering.migration": ("pkg/virt-api/rest/lifecycle.go",),
    "gitbot.reports.conditions": (f"{_ADMITTERS}/migration-create-admitter.go",),
    "gitbot.simulation.http.old_versions": (
        "pkg/virt-operator/resource/generate/components/crds.go",
    ),
    "gitbot.simulation.instance_schema": (f"{_API}/types.go", f"{_API}/schema.go"),
    "gitbot.simulation.kubevirt.attachment_pod": (_TEMPLATE, _MIGRATION),
    "gitbot.simulation.kubevirt.backoff": (_MIGRATION,),
    "gitbot.simulation.kubevirt.boot": ("pkg/virt-handler",),
    "gitbot.simulation.kubevirt.evacuation": (
        "pkg/virt-controller/watch/drain/evacuation/evacuation.go",
    ),
    "gitbot.simulation.kubevirt.hand_off": (_MIGRATION,),
    "gitbot.simulation.kubevirt.host_model_alert": (_MIGRATION,),
    "gitbot.simulation.kubevirt.instance_admission": ("pkg/virt-api/webhooks",),
    "gitbot.simulation.kubevirt.instance_defaults": ("pkg/defaults/defaults.go",),
    "gitbot.simulation.kubevirt.launchers": ("pkg/controller/controller.go",),
    "gitbot.simulation.kubevirt.migration_actions": (_MIGRATION,),
    "gitbot.simulation.kubevirt.migration_blockers": (_MIGRATION,),
    "gitbot.simulation.kubevirt.migration_controller": (_MIGRATION,),
    "gitbot.simulation.kubevirt.migration_phases": (_MIGRATION,),
    "gitbot.simulation.kubevirt.new_migration": ("pkg/virt-api/rest/lifecycle.go",),
    "gitbot.simulation.kubevirt.target_creation": (_MIGRATION,),
    "gitbot.simulation.kubevirt.virt_handler": (
        "pkg/virt-handler/migration-source.go",
        "pkg/virt-handler/migration-target.go",
    ),
    "gitbot.simulation.kubevirt.vm_owners": (
        "pkg/virt-controller/watch/vm",
        "pkg/virt-controller/watch/replicaset",
        "pkg/virt-controller/watch/pool",
    ),
    "gitbot.simulation.kubevirt.vmi_lifecycle": ("pkg/virt-controller/watch/vmi/lifecycle.go",),
    "gitbot.simulation.schemas": (f"{_API}/types.go",),
    "gitbot.snapshot.kept_fields_kubevirt": (f"{_API}/types.go",),
}
