"""The shape of one scorer, and how kube-scheduler 1.36 puts the scores of all together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from gitbot.constraints.state import State
from gitbot.constraints.verdicts import NodeScore
from gitbot.model.columns import Numbers
from gitbot.model.pod import Pod

ScoreFunction = Callable[[State, Pod, Numbers], Numbers | None]
"""Scores 0..100 of the nodes of these numbers, same shape; None where the plugin skips itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scorer:
    """A scoring plugin with its weight in the default profile."""

    plugin: str
    weight: int
    score: ScoreFunction


def default_normalise(raw: Numbers, *, reverse: bool) -> Numbers:
    """Scale to 0..100 of the highest, by integer division; all 0 (reversed: 100) without any."""
    top = int(raw.max()) if len(raw) else 0
    scaled = raw * 100 // top if top else np.zeros_like(raw)
    return 100 - scaled if reverse else scaled


def total_scores(
    scorers: Sequence[Scorer], state: State, pod: Pod, numbers: Numbers
) -> tuple[NodeScore, ...]:
    """Every scorer over the same nodes, weighted and summed."""
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
