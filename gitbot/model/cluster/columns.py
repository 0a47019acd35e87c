"""Columns over nodes: one numpy array for each label key or resource, in the order of the nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gitbot.model.cluster.node import Node
from gitbot.model.cluster.scheduling import Taint

Mask = NDArray[np.bool_]
Numbers = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)  # no slots: `known` is cached on first access
class LabelColumn:
    """One label over all nodes: `ids[n]` indexes `values`; a node without the label has -1."""

    ids: NDArray[np.int64]
    values: tuple[str, ...]
    _outside: dict[int, Any] = field(default_factory=dict, compare=False)

    @cached_property
    def known(self) -> Mask:
        """The nodes that have the label. Read-only."""
        mask: Mask = self.ids >= 0
        mask.flags.writeable = False
        return mask

    @cached_property
    def largest(self) -> int:
        """How many nodes the largest domain has."""
        return int(np.bincount(self.ids[self.known]).max(initial=0))

    @cached_property
    def _grouped(self) -> tuple[Numbers, Numbers]:
        """All nodes by domain, and where each domain begins and the last one ends."""
        order = np.argsort(self.ids, kind="stable")
        return order, np.searchsorted(self.ids[order], np.arange(len(self.values) + 1))

    def _members(self, domain: int) -> Numbers:
        order, begins = self._grouped
        members: Numbers = order[begins[domain] : begins[domain + 1]]
        return members

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
                # a large domain is kept as the mask of all other nodes, a small one as its nodes
                few = len(self.values) <= _FEW
                outside = self._outside[domain] = (
                    self.ids != domain if few else self._members(domain)
                )
            if outside.dtype == np.bool_:
                mask &= outside
            else:
                mask[outside] = False


_FEW = 128  # most domains of a label that each have a mask


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
        self._domains: dict[str, dict[str, int]] = {}
        self._divisors: dict[tuple[str, ...], Numbers] = {}
        self._spread: dict[str, Numbers] = {}
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

    def domains(self, key: str) -> Mapping[str, int]:
        """Node names to the numbers of their values of a label; -1 where a node lacks it."""
        known = self._domains.get(key)
        if known is None:
            known = dict(zip(self.names, self.label(key).ids.tolist(), strict=True))
            self._domains[key] = known
        return known

    def allocatable(self, resource: str) -> Numbers:
        """Allocatable of a resource, 0 if a node has none; cpu in milli, else whole units."""
        column = self._resources.get(resource)
        if column is None:
            amounts = [node.allocatable.get(resource, 0) for node in self.nodes]
            column = self._resources[resource] = np.array(amounts, dtype=np.int64)
        return column

    def divisor(self, *resources: str) -> Numbers:
        """Divisors: `allocatable` of one resource, or how many of several are above 0.

        1 instead of 0.
        """
        column = self._divisors.get(resources)
        if column is None:
            amounts = np.array([self.allocatable(resource) for resource in resources])
            total = amounts[0] if len(amounts) == 1 else np.count_nonzero(amounts > 0, axis=0)
            column = self._divisors[resources] = np.maximum(total, 1)
        return column

    def image_bytes(self, image: str) -> Numbers:
        """Bytes of an image on each node, times the share of the nodes that have it; whole."""
        column = self._spread.get(image)
        if column is None:
            column = np.zeros(len(self.nodes), dtype=np.int64)
            holders = self._images.get(image, {})
            for number, size in holders.items():
                column[number] = int(size * (len(holders) / len(self.nodes)))
            self._spread[image] = column
        return column

    @cached_property
    def _images(self) -> dict[str, dict[int, int]]:
        images: dict[str, dict[int, int]] = {}
        for number, node in enumerate(self.nodes):
            for name, size in node.images.items():
                images.setdefault(name, {})[number] = size
        return images

    @cached_property
    def named_by_hostname(self) -> Mask:
        """The nodes whose label kubernetes.io/hostname is their name. Read-only."""
        mask: Mask = np.array([node.hostname == node.name for node in self.nodes], dtype=bool)
        mask.flags.writeable = False
        return mask

    def everywhere(self) -> Mask:
        return np.ones(len(self.nodes), dtype=bool)

    def nowhere(self) -> Mask:
        return np.zeros(len(self.nodes), dtype=bool)
