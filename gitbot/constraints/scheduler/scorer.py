"""The shapes of filters and scorers, and how kube-scheduler combines the scores of all."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from gitbot.constraints.scheduler.node_state import State
from gitbot.constraints.scheduler.verdicts import NodeScore, Rejection
from gitbot.model.cluster.columns import Mask, Numbers
from gitbot.model.cluster.pod import Pod

ScoreFunction = Callable[[State, Pod, Numbers], Numbers | None]
"""Scores 0..100 of the nodes of these numbers, same shape; None if the plugin skips itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scorer:
    """A scoring plugin with its weight in the default profile."""

    plugin: str
    weight: int
    score: ScoreFunction


def default_normalise(raw: Numbers, *, reverse: bool) -> Numbers:
    """Scale to 0..100 of the highest, by integer division. All 0 (reversed: 100) if all are 0."""
    top = int(raw.max()) if len(raw) else 0
    scaled = raw * 100 // top if top else np.zeros_like(raw)
    return 100 - scaled if reverse else scaled


def no_preference(_state: State, _pod: Pod, numbers: Numbers) -> Numbers:
    """0 everywhere: a plugin that takes part without preference (DynamicResources, no claims)."""
    return np.zeros(len(numbers), dtype=np.int64)


def total_scores(
    scorers: Sequence[Scorer], state: State, pod: Pod, numbers: Numbers
) -> tuple[NodeScore, ...]:
    if not len(numbers):
        return ()
    found = [(scorer, scorer.score(state, pod, numbers)) for scorer in scorers]
    kept = [(scorer, scores) for scorer, scores in found if scores is not None]
    return tuple(
        NodeScore(
            node=state.columns.names[number],
            scores={scorer.plugin: int(scores[place]) for scorer, scores in kept},
            total=sum(scorer.weight * int(scores[place]) for scorer, scores in kept),
        )
        for place, number in enumerate(numbers)
    )


def totals(scorers: Sequence[Scorer], state: State, pod: Pod, numbers: Numbers) -> Numbers:
    """The totals of `total_scores` alone, in the order of `numbers`."""
    result = np.zeros(len(numbers), dtype=np.int64)
    for scorer in scorers if len(numbers) else ():
        scores = scorer.score(state, pod, numbers)
        if scores is not None:
            result += scorer.weight * scores
    return result


class Filter(Protocol):
    """One plugin prepared for one pod in one state.

    `mask` and `reject` answer the same question and must agree on every node (a law in the tests).
    """

    def whole(self) -> Rejection | None:
        """The rejection of the pod on every node (PreFilter); None if there is none."""
        return None

    def mask(self) -> Mask:
        """The nodes that pass, shape (nodes,)."""

    def reject(self, node: int) -> Rejection | None:
        """Why the node of that number is rejected; None if it passes."""


Prepare = Callable[[State, Pod], Filter | None]


def filters_of(prepares: Iterable[Prepare], state: State, pod: Pod) -> list[Filter]:
    return [item for prepare in prepares if (item := prepare(state, pod)) is not None]
