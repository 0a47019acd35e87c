"""Scores by images that a node has."""

from __future__ import annotations

import numpy as np

from gitbot.constraints.scheduler.node_state import State
from gitbot.constraints.scheduler.versions import LATER
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
    later = state.facts.minor >= LATER  # before, image volumes add to the sum alone
    most = _MOST_PER_CONTAINER * (pod.containers + (later and _image_volumes(pod)))
    clamped = np.clip(sums, _LEAST, most)
    result: Numbers = 100 * (clamped - _LEAST) // (most - _LEAST)
    return result


def _image_volumes(pod: Pod) -> int:
    return sum(volume.get("image") is not None for volume in pod.volumes)
