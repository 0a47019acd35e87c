"""The interface of a rule for the planner: it counts breaches over an occupancy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

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


class RuleConstraint(Protocol):
    """A standing rule over VMs. Pure: same occupancy, same breaches in the same order."""

    @property
    def ref(self) -> IntentRef: ...

    @property
    def required(self) -> bool:
        """Whether enforcement is Required."""

    @property
    def members(self) -> frozenset[NamespacedName]: ...

    def breaches(self, occupancy: Occupancy) -> tuple[Breach, ...]:
        """All breaches in one state, sorted."""

    def explain(self, vm: NamespacedName, node: str, occupancy: Occupancy) -> str:
        """Why the VM may not be on the node beside the others; "" if it may."""


def worsened(before: tuple[Breach, ...], after: tuple[Breach, ...]) -> tuple[Breach, ...]:
    """The breaches of `after` that are new or larger than in `before`; no step may cause any."""
    amounts = {(breach.rule, breach.key): breach.amount for breach in before}
    return tuple(
        breach for breach in after if breach.amount > amounts.get((breach.rule, breach.key), 0)
    )
