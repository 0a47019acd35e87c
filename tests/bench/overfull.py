"""Which nodes of a whole state hold more than they have; all resources at once."""

from collections.abc import Mapping

import numpy as np

from gitbot.constraints.rules.counts.rule_matrix import RuleMatrix
from gitbot.model.cluster.columns import Numbers


def overfull(
    state: RuleMatrix,
    amounts: Mapping[str, Numbers],
    standing: Mapping[str, Numbers],
    allocatable: Mapping[str, Numbers],
) -> tuple[str, ...]:
    """The nodes that hold more than they have: VMs, and what stands there anyway.

    Shapes: `amounts[resource]` (VMs by number), the others (nodes,). A VM that
    moving counts on both of its nodes.
    """
    names = list(state._nodes)
    over = np.zeros(len(names) + 1, dtype=bool)
    places, asked = _all_places(state)
    for resource, column in amounts.items():
        # exact: sums of whole numbers below 2^53
        held = np.bincount(places, weights=column[asked], minlength=len(names) + 1)
        room = allocatable[resource] - standing[resource]
        over[:-1] |= held[:-1] > room
    return tuple(names[number] for number in np.flatnonzero(over))


def _all_places(state: RuleMatrix) -> tuple[Numbers, Numbers]:
    """Node and VM number of every place that is held; no node is numbered last."""
    vms = np.arange(len(state._places))
    nodes = state._places
    more = [
        (state._nodes[node], state._index[vm])
        for vm, held in sorted(state._extra.items())
        for node in sorted(held)
        if node in state._nodes and state._nodes[node] != state._places[state._index[vm]]
    ]
    if more:
        nodes = np.concatenate([nodes, np.array([node for node, _ in more], dtype=np.int64)])
        vms = np.concatenate([vms, np.array([vm for _, vm in more], dtype=np.int64)])
    return np.where(nodes < 0, len(state._nodes), nodes), vms
