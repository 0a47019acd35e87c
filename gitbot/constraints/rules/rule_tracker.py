"""The rules of a problem while VMs move: whether and where one more move makes a rule worse."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gitbot.constraints.rules.counts.rule_counts import PartCounts, counts_of
from gitbot.constraints.rules.counts.rule_matrix import RuleMatrix
from gitbot.constraints.rules.domains import Domains
from gitbot.constraints.rules.worsening import (
    Moves,
    Seen,
    breaches_by_key,
    exceeding,
    monotone,
    rules_by_vm,
    signature,
    worsened,
)
from gitbot.kubernetes.names import NamespacedName
from gitbot.model.cluster.columns import Mask, NodeColumns
from gitbot.model.plan.constraint import Breach, Occupancy, RuleConstraint

_Nodes = frozenset[str]


class MovingRules:
    """Rules over an occupancy and running moves. The owner reports each change through `shift`."""

    def __init__(
        self,
        rules: Sequence[RuleConstraint],
        columns: NodeColumns,
        occupancy: Occupancy,
        moving: Moves,
    ) -> None:
        self.rules = rules
        self._columns, self._occupancy, self._moving = columns, occupancy, moving
        self._over = rules_by_vm(rules)
        self._seen: dict[int, Seen] = {}
        self._counts: dict[int, tuple[PartCounts, ...] | None] = {}  # only as needed
        self._own: set[int] = set()  # rules whose counts no fork shares
        self._whole: RuleMatrix | None = None  # made when all breaches are first needed

    def fork(self, occupancy: Occupancy, moving: Moves) -> MovingRules:
        copy = object.__new__(MovingRules)
        copy.rules, copy._columns, copy._over = self.rules, self._columns, self._over
        copy._occupancy, copy._moving = occupancy, moving
        copy._seen, copy._counts = dict(self._seen), dict(self._counts)
        copy._own, self._own = set(), set()
        copy._whole = self._whole.fork() if self._whole is not None else None
        return copy

    def over(self, vm: NamespacedName) -> Sequence[int]:
        """The rules with the VM as a member, as indexes in `rules`."""
        return self._over.get(vm, ())

    def shift(self, vm: NamespacedName, before: _Nodes, after: _Nodes) -> None:
        """A VM had places on `before` and has them on `after`; the occupancy says so already."""
        if self._whole is not None:
            self._whole.occupy(vm, after)
        for number in self.over(vm):
            self._seen.pop(number, None)
            for part in self._changing(number):
                part.shift(vm, before, after)

    def _changing(self, number: int) -> tuple[PartCounts, ...]:
        counts = self._counts.get(number)
        if counts and number not in self._own:
            self._own.add(number)
            counts = self._counts[number] = tuple(part.fork() for part in counts)
        return counts or ()

    def breaches(self, domains: Domains) -> tuple[Breach, ...]:
        """All breaches of all rules now, sorted by rule and key."""
        if self._whole is None:
            self._whole = RuleMatrix(domains, self.rules, self._occupancy)
        return self._whole.breaches(self._occupancy)

    def worsened(
        self, number: int, vm: NamespacedName, source: str, node: str
    ) -> tuple[Breach, ...]:
        """New breaches of a rule if a move starts now, in any order of it and running moves."""
        rule, held = self.rules[number], self._occupancy.get(vm, frozenset())
        places = {other: self._occupancy[other] for other in rule.members & self._occupancy.keys()}
        if monotone(rule):
            if number not in self._seen:
                self._seen[number] = breaches_by_key(rule, places)
            return exceeding(
                self._seen[number], breaches_by_key(rule, {**places, vm: held | {node}})
            )
        moves = [
            (other, *ends) for other, ends in sorted(self._moving.items()) if other in rule.members
        ]
        for other, _, target in moves:
            places[other] -= {target}
        return worsened(rule, places, [*moves, (vm, source, node)])

    def rule_mask(
        self, vm: NamespacedName, source: str, asked: Mask, only: Sequence[int] | None = None
    ) -> Mask:
        """The nodes of `asked` to which a move may start without making a required rule worse.

        `only`: counts these rules over the VM, by index.
        """
        mask = asked.copy()
        held = self._occupancy.get(vm, frozenset())
        for number in self.over(vm) if only is None else only:
            if not self.rules[number].required:
                continue
            counts = self._counts_of(number, vm, held == {source})
            if counts is None:
                self._keep_one_by_one(number, vm, source, mask)
                continue
            for part in counts:
                part.keep(mask, vm, source, held)
        return mask

    def _counts_of(
        self, number: int, vm: NamespacedName, one_place: bool
    ) -> tuple[PartCounts, ...] | None:
        """None if the counts are not enough, because other moves may end, too."""
        rule = self.rules[number]
        simple = monotone(rule) or (one_place and rule.members.isdisjoint(self._moving))
        if vm in self._moving or not simple:
            return None
        if number not in self._counts:
            self._own.add(number)
            self._counts[number] = counts_of(rule, self._columns, self._occupancy)
        return self._counts[number]

    def _keep_one_by_one(self, number: int, vm: NamespacedName, source: str, mask: Mask) -> None:
        """The scalar form, once for each group of nodes that the rule treats alike."""
        held = self._occupancy.get(vm, frozenset())
        answers: dict[object, bool] = {}
        for place in np.flatnonzero(mask):
            name = self._columns.names[place]
            alike = (signature(self.rules[number], name), name in held)
            if alike not in answers:
                answers[alike] = not self.worsened(number, vm, source, name)
            mask[place] = answers[alike]
