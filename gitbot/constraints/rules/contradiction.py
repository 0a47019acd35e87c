"""Rules that cannot all hold: the smallest sets that no placement of the VMs can keep.

A search over all placements of the running members. It ignores room, taints and migrations: no
amount of free capacity and no order of moves can fix a conflict found here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from gitbot.constraints.rules.rule_parts import NodePart
from gitbot.constraints.rules.worsening import amounts, monotone, signature
from gitbot.kubernetes.names import NamespacedName
from gitbot.model.plan.constraint import Occupancy, RuleConstraint

_MOST_STATES = 5_000  # with more states the search gives up, and says so
_MOST_MEMBERS = 64
_SAMPLE = 100  # nodes, roughly
_MOST_SETS = 4  # reported for one list of rules

Homes = Mapping[NamespacedName, str]


@dataclass(slots=True)
class SearchEffort:
    """`cut`: a search gave up, so there may be more sets, or smaller ones."""

    cut: bool = False


def smallest_sets(
    homes: Homes, able: Sequence[str], rules: list[RuleConstraint], effort: SearchEffort
) -> Iterator[list[RuleConstraint]]:
    """Smallest sets one after the other: each time without one rule of the last set.

    `homes` has the current nodes of VMs, `able` the nodes that they may move to.
    """
    some = able[:: max(1, len(able) // _SAMPLE)]
    if not _impossible(homes, rules, _alike(homes, some, rules), effort):
        return  # a placement on some nodes is also one on all
    nodes = _alike(homes, able, rules)
    for _ in range(_MOST_SETS):
        found = _smallest(homes, rules, nodes, effort)
        if not found:
            return
        yield found
        rules = [rule for rule in rules if rule is not found[0]]


def _alike(homes: Homes, able: Sequence[str], rules: Sequence[RuleConstraint]) -> tuple[str, ...]:
    """One node of each kind that the rules distinguish, among `able` and the VMs' current nodes."""
    here = {homes[vm] for rule in rules for vm in rule.members if vm in homes}
    kinds: dict[object, str] = {}
    for node in sorted(here.union(able)):
        kinds.setdefault(tuple(signature(rule, node) for rule in rules), node)
    return tuple(kinds.values())


def _smallest(
    homes: Homes, rules: list[RuleConstraint], nodes: Sequence[str], effort: SearchEffort
) -> list[RuleConstraint]:
    """Rules that cannot all hold, and all of which are needed for that; empty if not proven."""
    if not _impossible(homes, rules, nodes, effort):
        return []
    for rule in list(rules):
        rest = [other for other in rules if other is not rule]
        if _impossible(homes, rest, nodes, effort):
            rules = rest
    return rules


def _impossible(
    homes: Homes, rules: Sequence[RuleConstraint], nodes: Sequence[str], effort: SearchEffort
) -> bool:
    """Whether no placement keeps all rules. False if the search gave up; `effort` says so."""
    members = frozenset[NamespacedName]().union(*(rule.members for rule in rules))
    vms = sorted(vm for vm in members if vm in homes)
    if not vms or len(vms) > _MOST_MEMBERS:
        effort.cut |= bool(vms)
        return False
    search = _UnsatisfiableCoreSearch(rules, vms, nodes, homes)
    placed = search.finds_places()
    effort.cut |= search.gave_up and not placed
    return not (placed or search.gave_up)


class _UnsatisfiableCoreSearch:
    """Depth first; VMs restricted to some nodes first, each on its current node first."""

    def __init__(
        self,
        rules: Sequence[RuleConstraint],
        vms: Sequence[NamespacedName],
        nodes: Sequence[str],
        homes: Homes,
    ) -> None:
        self._over = {vm: [rule for rule in rules if vm in rule.members] for vm in vms}
        self._final = [rule for rule in rules if not monotone(rule)]
        self._left = _MOST_STATES
        narrow = {vm for vm in vms if any(map(_about_nodes, self._over[vm]))}
        self._order = sorted(vms, key=lambda vm: (vm not in narrow, vm))
        self._nodes, self._homes = nodes, homes

    def finds_places(self) -> bool:
        return self._place({}, 0)

    @property
    def gave_up(self) -> bool:
        return self._left <= 0

    def _place(self, places: dict[NamespacedName, frozenset[str]], depth: int) -> bool:
        """Whether the remaining VMs find places; False, too, if the states are used up.

        `depth` grows up to the number of VMs, and each node that is tried uses up a state.
        """
        if depth == len(self._order):
            return not any(amounts(rule, places) for rule in self._final)
        vm = self._order[depth]
        for node in (self._homes[vm], *self._nodes):
            if self._left <= 0:
                return False
            self._left -= 1
            there = {**places, vm: frozenset({node})}
            if self._keeps(places, vm, node) and self._place(there, depth + 1):
                return True
        return False

    def _keeps(self, places: Occupancy, vm: NamespacedName, node: str) -> bool:
        """Whether the rules that further VMs cannot repair hold with the VM on the node."""
        there = {**places, vm: frozenset({node})}
        return not any(monotone(rule) and amounts(rule, there) for rule in self._over[vm])


def _about_nodes(rule: RuleConstraint) -> bool:
    return any(isinstance(part, NodePart) for part in rule.parts)
