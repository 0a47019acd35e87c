"""Whether a step adds a breach of a rule or makes one worse: at its start and however it ends."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Protocol

from gitbot.model.constraint import Breach, Occupancy, RuleConstraint
from gitbot.model.names import NamespacedName

Moves = Mapping[NamespacedName, tuple[str, str]]
"""Moves under way: VM to its source and target node."""

Envelope = Mapping[str, Breach]
"""Key to the largest breach that any state can still show."""

_EXHAUSTIVE = 5  # moves whose endings are all combined: 3^5 states


class DomainRule(Protocol):
    """What a rule may offer beyond RuleConstraint, for speed; looked up by name."""

    @property
    def monotone(self) -> bool:
        """Whether a place given up never worsens the rule: then starts alone decide."""

    def signature(self, node: str) -> object:
        """Nodes with equal signatures are alike to the rule."""


def monotone(rule: RuleConstraint | DomainRule) -> bool:
    """Whether only starts of moves can worsen the rule; unknown rules are taken as not."""
    return bool(getattr(rule, "monotone", False))


def signature(rule: RuleConstraint | DomainRule, node: str) -> object:
    """What the rule sees of a node; unknown rules see every node apart."""
    sees = getattr(rule, "signature", None)
    return sees(node) if sees is not None else node


def envelope(rule: RuleConstraint, occupancy: Occupancy, moves: Moves) -> Envelope:
    """The worst that the rule can see while these moves end, each done or failed, in any order.

    `occupancy` has every VM under way on both of its nodes.
    """
    members = rule.members
    places = {vm: occupancy[vm] for vm in sorted(members) if vm in occupancy}
    ours = {vm: ends for vm, ends in moves.items() if vm in members}
    states = [places] if monotone(rule) or not ours else endings(places, ours)
    worst: dict[str, Breach] = {}
    for state in states:
        for breach in rule.breaches(state):
            if breach.key not in worst or worst[breach.key].amount < breach.amount:
                worst[breach.key] = breach
    return worst


def exceeding(before: Envelope, after: Envelope) -> tuple[Breach, ...]:
    """The breaches of `after` that are new or larger than in `before`, by key."""
    return tuple(
        after[key]
        for key in sorted(after)
        if key not in before or after[key].amount > before[key].amount
    )


def endings(occupancy: Occupancy, moves: Moves) -> Iterator[Occupancy]:
    """Every state that moves under way can still lead to.

    Each is under way (both places), done (target) or failed (source). All combinations up to five
    moves; beyond that each single departure from "all alike".
    """
    vms = sorted(moves)
    for choice in _choices(len(vms)):
        changed = {
            vm: _places(occupancy[vm], *moves[vm], ending)
            for vm, ending in zip(vms, choice, strict=True)
        }
        yield {**occupancy, **changed}


def _choices(count: int) -> Iterator[Sequence[int]]:
    if count <= _EXHAUSTIVE:
        yield from product((0, 1, 2), repeat=count)
        return
    for usual in (0, 1, 2):
        yield [usual] * count
        for place in range(count):
            for other in (0, 1, 2):
                yield [other if number == place else usual for number in range(count)]


def _places(held: frozenset[str], source: str, target: str, ending: int) -> frozenset[str]:
    given_up = (frozenset[str](), frozenset({source}), frozenset({target}))[ending]
    return held - given_up
