"""Whether a step adds a breach of a rule or makes one worse, at its start and in any outcome."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import Protocol

from gitbot.kubernetes.names import NamespacedName
from gitbot.model.caches import LastValueCache
from gitbot.model.grouping import grouped
from gitbot.model.plan.constraint import Breach, Occupancy, RuleConstraint, after_move

Moves = Mapping[NamespacedName, tuple[str, str]]
"""Running moves: VM to its source and target node."""

Ends = tuple[NamespacedName, str, str]
"""A move: VM, source and target node."""

Stages = tuple[int, ...]
"""Of each move: 0 waits (or failed), 1 runs, 2 has ended."""

Seen = Mapping[str, Breach]
"""Key to the largest breach of a state."""

_EXHAUSTIVE = 5  # moves whose endings are all combined: 3^5 states


def _by_vm(rules: Sequence[RuleConstraint], _: object) -> Mapping[NamespacedName, tuple[int, ...]]:
    return grouped((vm, number) for number, rule in enumerate(rules) for vm in rule.members)


rules_by_vm = LastValueCache[Sequence[RuleConstraint], Mapping[NamespacedName, tuple[int, ...]]](
    _by_vm
)
"""VM to the indexes of the rules that it is a member of. The same rules are not indexed again."""


class DomainRule(Protocol):
    """Optional methods of a rule beyond RuleConstraint, for speed. They are looked up by name."""

    @property
    def monotone(self) -> bool:
        """Whether freeing a place never makes the rule worse. If so, only starts matter."""

    def signature(self, node: str) -> object:
        """The rule treats nodes with equal signatures alike."""

    def kind(self, vm: NamespacedName) -> object:
        """VMs of one kind may change places, and the rule is broken as much as before."""

    def amounts(self, occupancy: Occupancy) -> Mapping[object, int]:
        """The amount of each breach, by a key of the rule's own; no texts."""


def monotone(rule: RuleConstraint | DomainRule) -> bool:
    """Whether only starts of moves can make the rule worse; False for unknown rules."""
    return bool(getattr(rule, "monotone", False))


def signature(rule: RuleConstraint | DomainRule, node: str) -> object:
    """What the rule distinguishes about a node; for an unknown rule, every node is different."""
    sees = getattr(rule, "signature", None)
    return sees(node) if sees is not None else node


def kind(rule: RuleConstraint | DomainRule, vm: NamespacedName) -> object:
    """What the rule distinguishes about a VM; for an unknown rule, every VM is different."""
    sees = getattr(rule, "kind", None)
    return sees(vm) if sees is not None else vm


def amounts(rule: RuleConstraint, occupancy: Occupancy) -> Mapping[object, int]:
    """The amount of each breach. A rule that can count without texts does."""
    count: Callable[[Occupancy], Mapping[object, int]] | None = getattr(rule, "amounts", None)
    if count is not None:
        return count(occupancy)
    return {key: breach.amount for key, breach in breaches_by_key(rule, occupancy).items()}


def total(rule: RuleConstraint, occupancy: Occupancy) -> int:
    """The amount of all breaches together."""
    return sum(amounts(rule, occupancy).values())


def places_during(places: Occupancy, moves: Sequence[Ends], stages: Sequence[int]) -> Occupancy:
    """The nodes of VMs while moves wait (or failed: 0), run (1), or have ended (2).

    `places` are those before the first of the moves, which may move one VM several times.
    """
    found = dict(places)
    for (vm, source, target), stage in zip(moves, stages, strict=True):
        here = found.get(vm, frozenset())
        found[vm] = (here, here | {target}, after_move(here, source, target))[stage]
    return found


def breaches_by_key(rule: RuleConstraint, places: Occupancy) -> Seen:
    return _largest(rule.breaches(places))


def _largest(breaches: Iterable[Breach]) -> Seen:
    found: dict[str, Breach] = {}
    for breach in breaches:
        if breach.key not in found or found[breach.key].amount < breach.amount:
            found[breach.key] = breach
    return found


def worsened(
    rule: RuleConstraint,
    places: Occupancy,
    moves: Sequence[Ends],
    possible: Callable[[Stages], bool] | None = None,
) -> tuple[Breach, ...]:
    """The breaches that any of these moves adds to a rule in parallel with the others, by key.

    Each state is compared with the state in which only that move has not started, so a breach that
    another move has repaired counts as new. The others are at any stages that are `possible`
    together. For a rule that only starts can make worse, all of them running is the worst state,
    and only the last move is new to it.
    """
    states: dict[Stages, Mapping[object, int] | None] = {}

    def look(stages: Stages) -> Mapping[object, int] | None:
        if stages not in states:
            reached = possible is None or monotone(rule) or possible(stages)
            states[stages] = (
                amounts(rule, places_during(places, moves, stages)) if reached else None
            )
        return states[stages]

    worse: list[Breach] = []
    for before, after in _changes(len(moves), only_starts=monotone(rule)):
        then = look(after)
        first = look(before) if then else None  # no breach afterwards: the usual case
        if first is None or not then or then.items() <= first.items():  # the quick test
            continue
        if any(amount > first.get(key, 0) for key, amount in then.items()):
            seen = [
                breaches_by_key(rule, places_during(places, moves, at)) for at in (before, after)
            ]
            worse.extend(exceeding(*seen))
    found = _largest(worse)
    return tuple(found[key] for key in sorted(found))


def _changes(count: int, *, only_starts: bool) -> Iterator[tuple[Stages, Stages]]:
    """Stages of so many moves before and after one of them has started, or started and ended."""
    if only_starts:
        others = (1,) * (count - 1)
        yield (*others, 0), (*others, 1)
        return
    for before in map(tuple, choices(count)):
        for place in (place for place in range(count) if not before[place]):
            for stage in (1, 2):
                yield before, (*before[:place], stage, *before[place + 1 :])


def exceeding(before: Seen, after: Seen) -> tuple[Breach, ...]:
    """The breaches of `after` that are new or larger than in `before`, by key."""
    return tuple(
        after[key]
        for key in sorted(after)
        if key not in before or after[key].amount > before[key].amount
    )


def choices(count: int) -> Iterator[Sequence[int]]:
    """States 0, 1 and 2 of so many moves: all, or beyond five all but at most one alike."""
    if count <= _EXHAUSTIVE:
        yield from product((0, 1, 2), repeat=count)
        return
    for usual in (0, 1, 2):
        yield [usual] * count
        for place in range(count):
            for other in (0, 1, 2):
                yield [other if number == place else usual for number in range(count)]
