"""Topology spread constraints."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gitbot.constraints.rules.domains import domain_words
from gitbot.constraints.scheduler.filters.node_affinity import accepted
from gitbot.constraints.scheduler.filters.taints import hard_taints_tolerated
from gitbot.constraints.scheduler.node_state import State
from gitbot.constraints.scheduler.scorer import Filter
from gitbot.constraints.scheduler.verdicts import Rejection
from gitbot.model.cluster.columns import Mask, Numbers
from gitbot.model.cluster.pod import Pod
from gitbot.model.cluster.scheduling import SpreadConstraint

_PLUGIN = "PodTopologySpread"
_TEXT = "node(s) didn't match pod topology spread constraints"


def counted(state: State, pod: Pod, constraint: SpreadConstraint) -> Numbers:
    """Node numbers of the placed pods that a constraint counts, one entry per pod.

    Pods of the same namespace that are not terminating; an empty selector counts none. Nominated
    pods are exempt from both conditions.
    """
    every = constraint.selector.everything
    if every and not state.late:
        return np.zeros(0, dtype=np.int64)
    numbers = [
        number
        for other, number in state.select(constraint.selector)
        if other.namespace == pod.namespace
        and (other.name in state.late or not (every or other.terminating))
    ]
    return np.array(numbers, dtype=np.int64)


def included(state: State, pod: Pod, constraint: SpreadConstraint) -> Mask:
    mask = state.columns.everywhere()
    if constraint.honor_affinity:
        mask &= accepted(pod, state.columns)
    if constraint.honor_taints:
        mask &= hard_taints_tolerated(state, pod)
    return mask


def labelled(state: State, constraints: tuple[SpreadConstraint, ...]) -> Mask:
    mask = state.columns.everywhere()
    for constraint in constraints:
        mask &= state.columns.label(constraint.topology_key).known
    return mask


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """Matching pods by domain number, and the smallest count over the domains that count."""

    by_domain: Numbers
    least: int
    own: int  # 1 where the pod matches its own selector


class TopologySpreadFilter(Filter):
    """count(domain) + own - least <= maxSkew, for every hard constraint."""

    def __init__(self, state: State, pod: Pod, hard: tuple[SpreadConstraint, ...]) -> None:
        self._state, self._pod, self._hard = state, pod, hard

    @cached_property
    def _counts(self) -> tuple[Counts, ...]:
        complete = labelled(self._state, self._hard)
        return tuple(self._count(constraint, complete) for constraint in self._hard)

    def _count(self, constraint: SpreadConstraint, complete: Mask) -> Counts:
        ids = self._state.columns.label(constraint.topology_key).ids
        mask = complete & included(self._state, self._pod, constraint)
        places = counted(self._state, self._pod, constraint)
        size = len(self._state.columns.label(constraint.topology_key).values)
        by_domain = np.bincount(ids[places[mask[places]]], minlength=size).astype(np.int64)
        domains = np.unique(ids[mask])
        least = _UNBOUNDED if not len(domains) else int(by_domain[domains].min())
        if len(domains) < constraint.min_domains:
            least = 0
        own = int(constraint.selector.matches(self._pod.labels))
        return Counts(by_domain=by_domain, least=least, own=own)

    def mask(self) -> Mask:
        mask = labelled(self._state, self._hard)
        for constraint, counts in zip(self._hard, self._counts, strict=True):
            ids = self._state.columns.label(constraint.topology_key).ids
            table = np.append(counts.by_domain + counts.own - counts.least, 0)
            mask &= table[ids] <= constraint.max_skew
        return mask

    def uneven_at(self, node: int) -> bool:
        """Whether a pod that is already on a node may be rejected there when it is judged.

        The placed pods must include that pod. Never False if `reject` rejects without it.
        """
        for constraint, counts in zip(self._hard, self._counts, strict=True):
            domain = int(self._state.columns.label(constraint.topology_key).ids[node])
            uncounted = counts.own if constraint.honor_taints else 0
            held = int(counts.by_domain[domain]) + uncounted if domain >= 0 else _UNBOUNDED
            if held - counts.least > constraint.max_skew or domain < 0:
                return True
        return False

    def reject(self, node: int) -> Rejection | None:
        labels = self._state.nodes[node].labels
        for constraint, counts in zip(self._hard, self._counts, strict=True):
            key = constraint.topology_key
            if key not in labels:
                return Rejection(
                    plugin=_PLUGIN,
                    reasons=(f"{_TEXT} (missing required label)",),
                    details=(f"the node has no label {key}, which its spread constraint needs",),
                )
            column = self._state.columns.label(key)
            here = int(counts.by_domain[column.ids[node]])
            skew = here + counts.own - counts.least
            if skew > constraint.max_skew:
                words = (
                    f"{domain_words(key, labels[key])} holds {here} matching pods, the least "
                    f"domain {counts.least}: skew {skew} > {constraint.max_skew}"
                )
                return Rejection(
                    plugin=_PLUGIN, reasons=(_TEXT,), resolvable=True, details=(words,)
                )
        return None


_UNBOUNDED = 2**31 - 1  # kube-scheduler's minimum if no domain counts


def prepare(state: State, pod: Pod) -> TopologySpreadFilter | None:
    hard = tuple(constraint for constraint in pod.spread if constraint.hard)
    return TopologySpreadFilter(state, pod, hard) if hard else None
