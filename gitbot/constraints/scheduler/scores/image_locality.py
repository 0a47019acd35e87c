"""Scores by images that a node has."""

from __future__ import annotations

import numpy as np

from gitbot.constraints.scheduler.node_state import State
from gitbot.model.cluster.columns import Numbers
from gitbot.model.cluster.pod import Pod

_MI = 1024 * 1024
_LEAST, _MOST_PER_CONTAINER = 23 * _MI, 1000 * _MI


def score(state: State, pod: Pod, numbers: Numbers) -> Numbers:
    """Bytes of the pod's images on the node, each weighted by how many nodes have it."""
    sums = np.zeros(len(numbers), dtype=np.int64)
    for image in pod.images:
        name = image if image.rfind(":") > image.rfind("/") else f"{image}:latest"
        sums += state.columns.image_bytes(name)[numbers]
    if not pod.containers or not sums.any():
        return sums
    most = _MOST_PER_CONTAINER * pod.containers  # image volumes add to the sum alone
    clamped = np.clip(sums, _LEAST, most)
    result: Numbers = 100 * (clamped - _LEAST) // (most - _LEAST)
    return result
