"""The filters and scorers in kube-scheduler's order. A new constraint is one file and one line."""

from __future__ import annotations

from collections.abc import Mapping

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
from gitbot.constraints.scheduler.scorer import Prepare, ScoreFunction, Scorer, no_preference
from gitbot.constraints.scheduler.scores import (
    affinity_score,
    image_locality,
    resource_scores,
    spread_score,
    storage_score,
)
from gitbot.model.cluster.scheduler_profile import (
    DEFAULT_FILTERS,
    DEFAULT_PROFILE,
    SchedulerProfile,
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

PLUGINS = (unknown.PLUGIN, *DEFAULT_FILTERS, attachment.PLUGIN)

BY_NODES = (node_name.prepare, taints.prepare, node_affinity.prepare)
BY_CLAIMS = (volume_binding.prepare, volume_zone.prepare)
"""Filters over nodes, or over nodes and claims: moving pods do not change their answer."""

MOVING = tuple(prepare for prepare in FILTERS if prepare not in (*BY_NODES, *BY_CLAIMS))

_SCORES: Mapping[str, ScoreFunction] = {
    "TaintToleration": taints.score,
    "NodeAffinity": node_affinity.score,
    "NodeResourcesFit": resource_scores.least_allocated,
    "PodTopologySpread": spread_score.score,
    "InterPodAffinity": affinity_score.score,
    "DynamicResources": no_preference,
    "NodeResourcesBalancedAllocation": resource_scores.balanced_allocation,
    "ImageLocality": image_locality.score,
    "VolumeBinding": storage_score.score,
}


def scorers_of(profile: SchedulerProfile) -> tuple[Scorer, ...]:
    most = {"NodeResourcesFit": resource_scores.most_allocated} if profile.most_allocated else {}
    return tuple(
        Scorer(plugin=name, weight=weight, score=most.get(name, _SCORES[name]))
        for name, weight in profile.weights.items()
    )


SCORERS = scorers_of(DEFAULT_PROFILE)

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


def filters_beside(prepares: tuple[Prepare, ...], without: frozenset[str]) -> tuple[Prepare, ...]:
    """The filters that a profile leaves on."""
    off = {prepare for prepare, name in zip(FILTERS, PLUGINS, strict=True) if name in without}
    return tuple(prepare for prepare in prepares if prepare not in off) if off else prepares


def totals_of(profile: SchedulerProfile) -> tuple[Scorer, ...]:
    """Scorers with the same totals as those of the profile."""
    return TOTALS if profile.usual else scorers_of(profile)
