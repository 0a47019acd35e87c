"""The filters and scorers in kube-scheduler's order. A new constraint is one file and one line."""

from __future__ import annotations

from collections.abc import Callable

from gitbot.constraints import (
    inter_pod_affinity,
    node_affinity,
    node_name,
    node_unschedulable,
    ports,
    resources,
    taints,
)
from gitbot.constraints.filter import Filter
from gitbot.constraints.scorer import Scorer
from gitbot.constraints.state import State
from gitbot.model.pod import Pod

FILTERS: tuple[Callable[[State, Pod], Filter | None], ...] = (
    node_unschedulable.prepare,
    node_name.prepare,
    taints.prepare,
    node_affinity.prepare,
    ports.prepare,
    resources.prepare,
    inter_pod_affinity.prepare,
)

SCORERS: tuple[Scorer, ...] = (
    Scorer(plugin="TaintToleration", weight=3, score=taints.score),
    Scorer(plugin="NodeAffinity", weight=2, score=node_affinity.score),
)
