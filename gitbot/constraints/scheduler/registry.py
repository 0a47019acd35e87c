"""The filters and scorers in kube-scheduler's order. A new constraint is one file and one line."""

from __future__ import annotations

from gitbot.constraints.scheduler.filters import (
    attachment,
    inter_pod_affinity,
    node_affinity,
    node_name,
    node_unschedulable,
    ports,
    resources,
    taints,
    topology_spread,
    unknown,
    volume_binding,
    volume_limits,
    volume_restrictions,
    volume_zone,
)
from gitbot.constraints.scheduler.scorer import Prepare, Scorer, no_preference
from gitbot.constraints.scheduler.scores import (
    affinity_score,
    image_locality,
    resource_scores,
    spread_score,
)

FILTERS: tuple[Prepare, ...] = (
    unknown.prepare,
    node_unschedulable.prepare,
    node_name.prepare,
    taints.prepare,
    node_affinity.prepare,
    ports.prepare,
    resources.prepare,
    volume_restrictions.prepare,
    volume_limits.prepare,
    volume_binding.prepare,
    volume_zone.prepare,
    topology_spread.prepare,
    inter_pod_affinity.prepare,
    attachment.prepare,
)

PLUGINS = (
    unknown.PLUGIN,
    "NodeUnschedulable",
    "NodeName",
    "TaintToleration",
    "NodeAffinity",
    "NodePorts",
    "NodeResourcesFit",
    "VolumeRestrictions",
    "NodeVolumeLimits",
    "VolumeBinding",
    "VolumeZone",
    "PodTopologySpread",
    "InterPodAffinity",
    attachment.PLUGIN,
)

BY_NODES = (node_name.prepare, taints.prepare, node_affinity.prepare)
BY_CLAIMS = (volume_binding.prepare, volume_zone.prepare)
"""Filters over nodes, or over nodes and claims: moving pods do not change their answer."""

MOVING = tuple(prepare for prepare in FILTERS if prepare not in (*BY_NODES, *BY_CLAIMS))

SCORERS: tuple[Scorer, ...] = (
    Scorer(plugin="TaintToleration", weight=3, score=taints.score),
    Scorer(plugin="NodeAffinity", weight=2, score=node_affinity.score),
    Scorer(plugin="NodeResourcesFit", weight=1, score=resource_scores.least_allocated),
    Scorer(plugin="PodTopologySpread", weight=2, score=spread_score.score),
    Scorer(plugin="InterPodAffinity", weight=2, score=affinity_score.score),
    Scorer(plugin="DynamicResources", weight=2, score=no_preference),
    Scorer(
        plugin="NodeResourcesBalancedAllocation",
        weight=1,
        score=resource_scores.balanced_allocation,
    ),
    Scorer(plugin="ImageLocality", weight=1, score=image_locality.score),
)

TOTALS: tuple[Scorer, ...] = (
    *(
        scorer
        for scorer in SCORERS
        if scorer.plugin not in ("NodeResourcesFit", "NodeResourcesBalancedAllocation")
        and scorer.score is not no_preference
    ),
    Scorer(plugin="NodeResources", weight=1, score=resource_scores.allocated),
)
"""The same as totals, with one computation for the two scores that every pod changes."""
