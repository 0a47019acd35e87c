"""Which kube-scheduler the constraints follow, and where each rule came from upstream.

`python -m tests.upstream kubernetes --data CLONE --to v1.37.0` prints what changed since in the
files of `SOURCES`, with the modules that follow them.
"""

from collections.abc import Mapping

FOLLOWED = (1, 36, 3)
MINOR = f"{FOLLOWED[0]}.{FOLLOWED[1]}"
TAG = f"v{MINOR}.{FOLLOWED[2]}"
LATER = (1, 37)
"""From this minor on: a namespaceSelector of only NotIn and DoesNotExist reaches what it selects,
resized pods hold the largest of three sums, ImageLocality counts image volumes, VolumeBinding
scores storage that is left, and a node without a needed CSI driver takes none of its volumes."""

_PLUGINS = "pkg/scheduler/framework/plugins"
_STAGING = "staging/src/k8s.io"

# Path in kubernetes/kubernetes at FOLLOWED to the modules of gitbot that follow it.
SOURCES: Mapping[str, str] = {
    "pkg/apis/core/validation/validation.go": "intents.affinity intents.selectors",
    "pkg/quota/v1/evaluator/core/pods.go": "constraints.scheduler.filters.quota",
    "pkg/registry/core/pod/strategy.go": "kubevirt.pod_defaults model.cluster.scheduling",
    "pkg/scheduler/apis/config/v1/default_plugins.go": (
        "constraints.scheduler.profiles constraints.scheduler.registry"
    ),
    f"{_PLUGINS}/imagelocality": "constraints.scheduler.scores.image_locality",
    f"{_PLUGINS}/interpodaffinity": "constraints.scheduler.filters.inter_pod_affinity",
    f"{_PLUGINS}/interpodaffinity/scoring.go": "constraints.scheduler.scores.affinity_score",
    f"{_PLUGINS}/nodeaffinity": "constraints.scheduler.filters.node_affinity",
    f"{_PLUGINS}/nodename": "constraints.scheduler.filters.node_name",
    f"{_PLUGINS}/nodeports": "constraints.scheduler.filters.ports",
    f"{_PLUGINS}/noderesources": "constraints.scheduler.scores.resource_scores",
    f"{_PLUGINS}/noderesources/fit.go": "constraints.scheduler.filters.resources",
    f"{_PLUGINS}/nodeunschedulable": "constraints.scheduler.filters.node_unschedulable",
    f"{_PLUGINS}/nodevolumelimits": (
        "constraints.scheduler.filters.in_tree_disks constraints.scheduler.filters.volume_limits"
    ),
    f"{_PLUGINS}/podtopologyspread": "constraints.scheduler.filters.topology_spread",
    f"{_PLUGINS}/podtopologyspread/scoring.go": "constraints.scheduler.scores.spread_score",
    f"{_PLUGINS}/tainttoleration": "constraints.scheduler.filters.taints",
    f"{_PLUGINS}/volumebinding": (
        "constraints.scheduler.filters.in_tree_disks constraints.scheduler.filters.volume_binding"
    ),
    f"{_PLUGINS}/volumebinding/binder.go": "constraints.scheduler.filters.volume_matching",
    f"{_PLUGINS}/volumebinding/scorer.go": "constraints.scheduler.scores.storage_score",
    f"{_PLUGINS}/volumerestrictions": "constraints.scheduler.filters.volume_restrictions",
    f"{_PLUGINS}/volumezone": "constraints.scheduler.filters.volume_zone",
    "pkg/scheduler/framework/runtime/framework.go": (
        "constraints.scheduler.scorer constraints.scheduler.world"
    ),
    "pkg/scheduler/framework/types.go": "model.cluster.resource_requests",
    "pkg/scheduler/schedule_one.go": "constraints.moves.prediction_caveats",
    "pkg/scheduler/scheduler.go": "snapshot.list_pages",
    "plugin/pkg/admission/defaulttolerationseconds": "kubevirt.pod_defaults",
    "plugin/pkg/admission/priority": "kubevirt.pod_defaults",
    "plugin/pkg/admission/runtimeclass": "kubevirt.pod_defaults",
    f"{_STAGING}/api/core/v1/toleration.go": "model.cluster.scheduling",
    f"{_STAGING}/apimachinery/pkg/labels/selector.go": "kubernetes.selectors",
    f"{_STAGING}/apimachinery/pkg/util/validation/validation.go": "kubernetes.labels",
    f"{_STAGING}/component-helpers/resource/helpers.go": "model.cluster.resource_requests",
    f"{_STAGING}/component-helpers/scheduling/corev1/nodeaffinity/nodeaffinity.go": (
        "kubernetes.selectors"
    ),
    f"{_STAGING}/component-helpers/storage/volume": "constraints.scheduler.filters.volume_matching",
    f"{_STAGING}/csi-translation-lib/plugins": "constraints.scheduler.filters.in_tree_disks",
}


def caveat_of(minor: tuple[int, int]) -> str:
    """What a verdict for this version of kube-scheduler rests on; "" if gitbot follows it."""
    if minor in (FOLLOWED[:2], LATER):
        return ""
    nearest = ".".join(map(str, FOLLOWED[:2] if minor < LATER else LATER))
    other = ".".join(map(str, minor))
    return f"the verdict is that of kube-scheduler {nearest}; {other} may decide otherwise"
