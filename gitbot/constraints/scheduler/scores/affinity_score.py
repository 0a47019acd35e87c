"""Scores of pod (anti-)affinity."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from gitbot.constraints.scheduler.filters.inter_pod_affinity import places_of
from gitbot.constraints.scheduler.node_state import State
from gitbot.model.cluster.columns import Numbers
from gitbot.model.cluster.pod import Pod
from gitbot.model.cluster.scheduling import AffinityTerm


def score(state: State, pod: Pod, numbers: Numbers) -> Numbers | None:
    """Weights of the pod's own preferred terms and of the terms of placed pods.

    Required affinity of a placed pod counts 1. None if no term meets any domain.
    """
    totals = np.zeros(len(state.columns), dtype=np.int64)
    met = False
    for term, weight, nodes in _weights(state, pod):
        column = state.columns.label(term.topology_key)
        places = np.array(list(nodes), dtype=np.int64)
        amounts = np.array(list(nodes.values()), dtype=np.int64)
        kept = column.ids[places] >= 0 if len(places) else np.zeros(0, dtype=bool)
        if not kept.any():
            continue
        met = True
        table = np.zeros(len(column.values) + 1, dtype=np.int64)
        np.add.at(table, column.ids[places[kept]], weight * amounts[kept])
        table[-1] = 0
        totals += table[column.ids]
    if not met:
        return None
    chosen = totals[numbers]
    least, most = int(chosen.min()), int(chosen.max())
    if least == most:
        return np.zeros(len(numbers), dtype=np.int64)
    shares = (chosen - least) / (most - least)
    scaled: Numbers = (100 * shares).astype(np.int64)
    return scaled


def _weights(state: State, pod: Pod) -> Iterator[tuple[AffinityTerm, int, Mapping[int, int]]]:
    for weighted in pod.affinity.preferred_pods:
        nodes: dict[int, int] = {}
        for _, number in places_of(weighted.term, state):
            nodes[number] = nodes.get(number, 0) + 1
        yield weighted.term, weighted.weight, nodes
    spaces = state.facts.labels_of_namespace(pod.namespace)
    for entry, held in state.scoring.matching(pod.namespace, pod.labels, spaces):
        yield entry.term, entry.weight, held
