"""Which kube-scheduler the constraints follow, and where each rule came from upstream.

`python -m tests.upstream kubernetes --data CLONE --to v1.37.0` prints what changed since in the
files of `SOURCES`, by module.
"""

from collections.abc import Mapping

FOLLOWED = (1, 36, 3)
MINOR = f"{FOLLOWED[0]}.{FOLLOWED[1]}"
TAG = f"v{MINOR}.{FOLLOWED[2]}"

_PLUGINS = "pkg/scheduler/framework/plugins"
_STAGING = "staging/src/k8s.io"

# Module to paths in kubernetes/kubernetes at FOLLOWED.
SOURCES: Mapping[str, tuple[str, ...]] = {
    "gitbot.constraints.moves.prediction_caveats": ("pkg/scheduler/schedule_one.go",),
    "gitbot.constraints.scheduler.filters.in_tree_disks": (
        f"{_STAGING}/csi-translation-lib/plugins",
        f"{_PLUGINS}/nodevolumelimits",
        f"{_PLUGINS}/volumebinding",
    ),
    "gitbot.constraints.scheduler.filters.inter_pod_affinity": (f"{_PLUGINS}/interpodaffinity",),
    "gitbot.constraints.scheduler.filters.node_affinity": (f"{_PLUGINS}/nodeaffinity",),
    "gitbot.constraints.scheduler.filters.node_name": (f"{_PLUGINS}/nodename",),
    "gitbot.constraints.scheduler.filters.node_unschedulable": (f"{_PLUGINS}/nodeunschedulable",),
    "gitbot.constraints.scheduler.filters.ports": (f"{_PLUGINS}/nodeports",),
    "gitbot.constraints.scheduler.filters.quota": ("pkg/quota/v1/evaluator/core/pods.go",),
    "gitbot.constraints.scheduler.filters.resources": (f"{_PLUGINS}/noderesources/fit.go",),
    "gitbot.constraints.scheduler.filters.taints": (f"{_PLUGINS}/tainttoleration",),
    "gitbot.constraints.scheduler.filters.topology_spread": (f"{_PLUGINS}/podtopologyspread",),
    "gitbot.constraints.scheduler.filters.volume_binding": (f"{_PLUGINS}/volumebinding",),
    "gitbot.constraints.scheduler.filters.volume_limits": (f"{_PLUGINS}/nodevolumelimits",),
    "gitbot.constraints.scheduler.filters.volume_matching": (
        f"{_PLUGINS}/volumebinding/binder.go",
        f"{_STAGING}/component-helpers/storage/volume",
    ),
    "gitbot.constraints.scheduler.filters.volume_restrictions": (f"{_PLUGINS}/volumerestrictions",),
    "gitbot.constraints.scheduler.filters.volume_zone": (f"{_PLUGINS}/volumezone",),
    "gitbot.constraints.scheduler.registry": ("pkg/scheduler/apis/config/v1/default_plugins.go",),
    "gitbot.constraints.scheduler.scorer": ("pkg/scheduler/framework/runtime/framework.go",),
    "gitbot.constraints.scheduler.scores.affinity_score": (
        f"{_PLUGINS}/interpodaffinity/scoring.go",
    ),
    "gitbot.constraints.scheduler.scores.image_locality": (f"{_PLUGINS}/imagelocality",),
    "gitbot.constraints.scheduler.scores.resource_scores": (f"{_PLUGINS}/noderesources",),
    "gitbot.constraints.scheduler.scores.spread_score": (
        f"{_PLUGINS}/podtopologyspread/scoring.go",
    ),
    "gitbot.constraints.scheduler.world": ("pkg/scheduler/framework/runtime/framework.go",),
    "gitbot.intents.affinity": ("pkg/apis/core/validation/validation.go",),
    "gitbot.intents.selectors": ("pkg/apis/core/validation/validation.go",),
    "gitbot.kubernetes.labels": (f"{_STAGING}/apimachinery/pkg/util/validation/validation.go",),
    "gitbot.kubernetes.selectors": (
        f"{_STAGING}/apimachinery/pkg/labels/selector.go",
        f"{_STAGING}/component-helpers/scheduling/corev1/nodeaffinity/nodeaffinity.go",
    ),
    "gitbot.kubevirt.pod_defaults": (
        "pkg/registry/core/pod/strategy.go",
        "plugin/pkg/admission/defaulttolerationseconds",
        "plugin/pkg/admission/priority",
        "plugin/pkg/admission/runtimeclass",
    ),
    "gitbot.model.cluster.resource_requests": (
        f"{_STAGING}/component-helpers/resource/helpers.go",
        "pkg/scheduler/framework/types.go",
    ),
    "gitbot.model.cluster.scheduling": (
        f"{_STAGING}/api/core/v1/toleration.go",
        "pkg/registry/core/pod/strategy.go",
    ),
    "gitbot.snapshot.list_pages": ("pkg/scheduler/scheduler.go",),
}
