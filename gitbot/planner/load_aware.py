"""Load-aware scores of the targets of each VM, if the configuration asks for them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gitbot.constraints.load.measures import loads_of
from gitbot.constraints.load.ranking import Ranked, Ranking
from gitbot.constraints.moves.instances import Instances
from gitbot.kubernetes.names import NamespacedName
from gitbot.kubernetes.objects import name_of
from gitbot.model.cluster.columns import Numbers
from gitbot.model.plan.problem import PlacementProblem


class LoadAware:
    """Scores by VM, each computed once: load is as measured, whatever a plan has moved before.

    They count for moves that are pinned to a node. Elsewhere the scheduler chooses, and it knows no
    load.
    """

    def __init__(self, problem: PlacementProblem) -> None:
        names = frozenset(problem.ranking if problem.load.values else ())
        ranking = Ranking(names=names, loads=loads_of(problem.load))
        self._ranked = Ranked(problem.snapshot, ranking)
        self._instances = Instances.of(problem.snapshot) if names else {}
        self._none = np.zeros(len(problem.snapshot.of("Node")), dtype=np.int64)
        self._known: dict[NamespacedName, Numbers] = {}
        self.asked = bool(names)

    def scores(self, vm: NamespacedName, nodes: Sequence[str]) -> Numbers:
        """The sum of the scores of each node, 0 if it was not measured; more is better."""
        found = self._known.get(vm)
        if found is None:
            instance = self._instances.get(vm)
            pod = instance.source_pod if instance is not None else None
            if pod is None:
                return self._none
            name = name_of(pod)
            scores = [self._ranked.load_score(pod, name, node) for node in nodes]
            found = self._known[vm] = np.array(scores, dtype=np.int64)
        return found
