"""The interface of a rule for the planner: it counts breaches over an occupancy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Protocol

from gitbot.kubernetes.names import NamespacedName
from gitbot.model.text.names import IntentRef

Occupancy = Mapping[NamespacedName, frozenset[str]]
"""VMI name to the nodes on which it takes a place: one node, or source and target in a move.

Also the nodes with an old launcher pod that has not ended yet, and those that are reserved for it.
"""


def after_move(held: frozenset[str], source: str, target: str) -> frozenset[str]:
    """The places that a VM holds after its move from `source` to `target`.

    It frees only the place from which it moves: an old launcher pod elsewhere still counts.
    """
    return held - {source} | {target}


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Breach:
    """One way in which a rule is broken.

    `key` names the place of the breach (a domain, a VM) and is the same in all states, so that
    states can be compared: a step is refused if an `amount` of a key grows. `amount` is a positive
    integer in the rule's own unit (VMs too many, VMs misplaced, skew above the limit).
    """

    rule: IntentRef
    key: str
    amount: int
    message: str
    vms: tuple[NamespacedName, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DomainMaximum:
    """At most `most` members of a rule in one domain of a topology key."""

    topology_key: str
    most: int


class RuleConstraint(Protocol):
    """A standing rule over VMs. Pure: same occupancy, same breaches in the same order."""

    @property
    def ref(self) -> IntentRef: ...

    @property
    def required(self) -> bool:
        """Whether enforcement is Required."""

    @property
    def members(self) -> frozenset[NamespacedName]: ...

    @property
    def maximum(self) -> DomainMaximum | None:
        """The maximum, if the rule says nothing else: each move of a surplus member heals one."""

    @property
    def parts(self) -> tuple[object, ...]:
        """Its terms, each of a type in `constraints.rules.rule_parts`; empty for other rules."""

    def shortage(self) -> str:
        """Why no placement can keep the rule; "" if one may."""

    def room_for(self, vm: NamespacedName, node: str, occupancy: Occupancy) -> str:
        """A domain that could hold the VM if a node there took it; "" if none, or not known."""

    def breaches(self, occupancy: Occupancy) -> tuple[Breach, ...]:
        """All breaches in one state, sorted."""

    def explain(self, vm: NamespacedName, node: str, occupancy: Occupancy) -> str:
        """Why the VM may not be on the node beside the others; "" if it may."""


class NoMaximum:
    """A rule that is not a maximum, and does not know whether a placement can keep it."""

    __slots__ = ()
    maximum: ClassVar[DomainMaximum | None] = None

    def shortage(self) -> str:
        return ""

    def room_for(self, _vm: NamespacedName, _node: str, _occupancy: Occupancy) -> str:
        return ""


def worsened(before: tuple[Breach, ...], after: tuple[Breach, ...]) -> tuple[Breach, ...]:
    """The breaches of `after` that are new or larger than in `before`; no step may cause any."""
    amounts = {(breach.rule, breach.key): breach.amount for breach in before}
    return tuple(
        breach for breach in after if breach.amount > amounts.get((breach.rule, breach.key), 0)
    )
