"""Plugins that take part in scoring and never prefer a node (DynamicResources without claims)."""

from __future__ import annotations

import numpy as np

from gitbot.constraints.state import State
from gitbot.model.columns import Numbers
from gitbot.model.pod import Pod


def score(state: State, pod: Pod, numbers: Numbers) -> Numbers:
    """0 everywhere."""
    del state, pod
    return np.zeros(len(numbers), dtype=np.int64)
