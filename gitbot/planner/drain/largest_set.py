"""The most nodes that can be empty at the same time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations

FEW_NODES = 6
"""Up to so many nodes, every set is tried; with more, nodes are added one by one."""


def largest_set(nodes: Sequence[str], can: Callable[[Sequence[str]], bool]) -> tuple[str, ...]:
    """The largest set of which `can` is true, in the order of `nodes`; empty if there is none.

    `nodes` themselves are known not to be one. With more than FEW_NODES, a larger set may exist.
    """
    if len(nodes) <= FEW_NODES:
        every = (
            some for size in range(len(nodes) - 1, 0, -1) for some in combinations(nodes, size)
        )
        return next(filter(can, every), ())
    found: tuple[str, ...] = ()
    for node in nodes:
        found = (*found, node) if can((*found, node)) else found
    return found
