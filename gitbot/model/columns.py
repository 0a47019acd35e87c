"""Columns over nodes: one numpy array for each label key or resource, in the order of the nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gitbot.model.node import Node
from gitbot.model.scheduling import Taint

Mask = NDArray[np.bool_]
Numbers = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelColumn:
    """One label over all nodes: `ids[n]` indexes `values`; a node without the label has -1."""

    ids: NDArray[np.int64]
    values: tuple[str, ...]
    _outside: dict[int, Any] = field(default_factory=dict, compare=False)

    def where(self, accepts: Callable[[str | None], bool]) -> Mask:
        """The nodes with an accepted value (None: no label); asks once for each distinct value."""
        table = np.array([*(accepts(value) for value in self.values), accepts(None)], dtype=bool)
        return table[self.ids]

    def in_domains_of(self, nodes: Iterable[int]) -> Mask:
        """The nodes that share a value with one of these; nodes without the label never do."""
        table = np.zeros(len(self.values) + 1, dtype=bool)
        table[self.ids[list(nodes)]] = True
        table[-1] = False
        return table[self.ids]

    def leave(self, mask: Mask, nodes: Iterable[int]) -> None:
        """Remove the domains of these nodes from a mask, in place."""
        self.leave_domains(mask, set(map(self.ids.item, nodes)))

    def leave_domains(self, mask: Mask, domains: Iterable[int]) -> None:
        """The same for domains by number; -1 means "none"."""
        for domain in domains:
            if domain < 0:
                continue
            outside: Any = self._outside.get(domain)
            if outside is None:
                inside = self.ids == domain
                # a large domain is kept as the mask of all other nodes, a small one as its nodes
                outside = ~inside if len(self.values) <= _FEW else np.flatnonzero(inside)
                self._outside[domain] = outside
            if outside.dtype == np.bool_:
                mask &= outside
            else:
                mask[outside] = False


_FEW = 128  # domains of a label that may each have a mask


class NodeColumns:
    """The nodes of one snapshot as columns, computed on first use. Shape of each: (nodes,)."""

    def __init__(self, nodes: tuple[Node, ...]) -> None:
        self.nodes = nodes
        self.names = tuple(node.name for node in nodes)
        self.index = {name: number for number, name in enumerate(self.names)}
        self.tainted: dict[tuple[Taint, ...], list[int]] = {}
        for number, node in enumerate(nodes):
            if node.taints:
                self.tainted.setdefault(node.taints, []).append(number)
        self._labels: dict[str, LabelColumn] = {}
        self._resources: dict[str, Numbers] = {}

    def __len__(self) -> int:
        return len(self.nodes)

    def label(self, key: str) -> LabelColumn:
        column = self._labels.get(key)
        if column is None:
            found = [node.labels.get(key) for node in self.nodes]
            values = tuple(sorted({value for value in found if value is not None}))
            number = {value: index for index, value in enumerate(values)}
            ids = np.array([-1 if v is None else number[v] for v in found], dtype=np.int64)
            column = self._labels[key] = LabelColumn(ids=ids, values=values)
        return column

    def allocatable(self, resource: str) -> Numbers:
        """Allocatable of a resource, 0 if a node has none; cpu in milli, else whole units."""
        column = self._resources.get(resource)
        if column is None:
            amounts = [node.allocatable.get(resource, 0) for node in self.nodes]
            column = self._resources[resource] = np.array(amounts, dtype=np.int64)
        return column

    def holders(self, image: str) -> Mapping[int, int]:
        """The nodes (by number) that have an image of that name, with its bytes."""
        return self._images.get(image, {})

    @cached_property
    def _images(self) -> dict[str, dict[int, int]]:
        images: dict[str, dict[int, int]] = {}
        for number, node in enumerate(self.nodes):
            for name, size in node.images.items():
                images.setdefault(name, {})[number] = size
        return images

    def everywhere(self) -> Mask:
        return np.ones(len(self.nodes), dtype=bool)

    def nowhere(self) -> Mask:
        return np.zeros(len(self.nodes), dtype=bool)
