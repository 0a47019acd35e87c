"""One whole state: every domain rule, as columns over VMs.

This is the vectorised form of `rule.breaches` for all rules of a problem. One sort counts members
by domain and finds the rules that may be broken in a state; only those are checked one by one.
Built once from instances and rules; a move changes one entry.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from gitbot.constraints.rules.domains import Domains
from gitbot.kubernetes.names import NamespacedName
from gitbot.model.cluster.columns import Numbers
from gitbot.model.plan.constraint import Breach, DomainMaximum, Occupancy, RuleConstraint

_NOWHERE = -1  # number of no node: the last entry of every column


@dataclass(frozen=True, slots=True, kw_only=True)
class _Key:
    """The rules over one topology key: a row for each member of each rule.

    `domains[n]` is the domain number of node n: -1 if it has none, -2 for no node at all.
    """

    domains: Numbers
    vms: Numbers
    rules: Numbers
    most: Numbers


class RuleMatrix:
    """Where every VM is. Change it with `occupy`; `fork` is cheap."""

    __slots__ = ("_extra", "_index", "_keys", "_nodes", "_others", "_places", "_rules")

    def __init__(
        self, domains: Domains, rules: Sequence[RuleConstraint], occupancy: Occupancy
    ) -> None:
        self._nodes = {name: number for number, name in enumerate(domains.nodes)}
        self._rules = tuple(rules)
        tabled = [n for n, rule in enumerate(rules) if rule.maximum is not None]
        self._others = tuple(sorted(set(range(len(self._rules))) - set(tabled)))
        members = {vm for number in tabled for vm in self._rules[number].members}
        self._index = {vm: number for number, vm in enumerate(sorted({*members, *occupancy}))}
        self._places = np.full(len(self._index), _NOWHERE, dtype=np.int64)
        self._extra: dict[NamespacedName, frozenset[str]] = {}
        self._keys = _keys(domains, self._rules, tabled, self._index)
        for vm, nodes in occupancy.items():
            self.occupy(vm, nodes)

    def fork(self) -> RuleMatrix:
        copy = object.__new__(RuleMatrix)
        copy._nodes, copy._rules, copy._others = self._nodes, self._rules, self._others
        copy._index, copy._keys = self._index, self._keys
        copy._places, copy._extra = self._places.copy(), dict(self._extra)
        return copy

    def occupy(self, vm: NamespacedName, nodes: frozenset[str]) -> None:
        """Set the places of a VM: one, or two while it moves."""
        number = self._index.get(vm)
        if number is None:
            return
        known = [self._nodes[node] for node in nodes if node in self._nodes]
        self._places[number] = known[0] if known else _NOWHERE
        if not nodes or (len(nodes) == 1 and known):
            self._extra.pop(vm, None)
        else:
            self._extra[vm] = nodes

    def breaches(self, occupancy: Occupancy) -> tuple[Breach, ...]:
        """All breaches of all rules, sorted by rule and key. `occupancy` must match this state."""
        asked = sorted({*self._suspects(), *self._others})
        found = [breach for number in asked for breach in self._rules[number].breaches(occupancy)]
        return tuple(sorted(found, key=lambda item: (item.rule, item.key)))

    def _suspects(self) -> set[int]:
        found: set[int] = set()
        extra = [self._index[vm] for vm in self._extra]
        for key in self._keys:
            domains = key.domains[self._places[key.vms]]
            found.update(key.rules[domains == -1].tolist())
            if extra:
                found.update(key.rules[np.isin(key.vms, extra)].tolist())
            found.update(_crowded(key, domains).tolist())
        return found


def _crowded(key: _Key, domains: Numbers) -> Numbers:
    held = domains >= 0
    codes = np.sort(key.rules[held] * len(key.domains) + domains[held])
    if not len(codes):
        return codes
    begins = np.flatnonzero(np.append(True, codes[1:] != codes[:-1]))
    counts = np.diff(np.append(begins, len(codes)))
    rules = codes[begins] // len(key.domains)
    crowded: Numbers = rules[counts > key.most[rules]]
    return crowded


def _keys(
    domains: Domains,
    rules: Sequence[RuleConstraint],
    tabled: Iterable[int],
    index: Mapping[NamespacedName, int],
) -> tuple[_Key, ...]:
    by_key: dict[str, list[tuple[int, DomainMaximum]]] = {}
    for number in tabled:
        maximum = rules[number].maximum
        assert maximum is not None, "BUG: a rule without a maximum"
        by_key.setdefault(maximum.topology_key, []).append((number, maximum))
    found = []
    for key, group in sorted(by_key.items()):
        column = domains.column(key)
        values = {value: number for number, value in enumerate(domains.values(key))}
        numbers = [values[column[node]] if node in column else -1 for node in domains.nodes]
        rows = [(index[vm], number) for number, _ in group for vm in sorted(rules[number].members)]
        most = np.zeros(len(rules), dtype=np.int64)
        for number, maximum in group:
            most[number] = maximum.most
        found.append(
            _Key(
                domains=np.array([*numbers, -2], dtype=np.int64),
                vms=np.array([vm for vm, _ in rows], dtype=np.int64),
                rules=np.array([number for _, number in rows], dtype=np.int64),
                most=most,
            )
        )
    return tuple(found)
