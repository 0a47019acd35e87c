"""Rules that the measured load of a snapshot breaks. They bind only the plans that heal them."""

from __future__ import annotations

from gitbot.intents.intent import IntentSet
from gitbot.intents.registry import KINDS
from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.model.cluster.load import ClusterLoad
from gitbot.model.plan.constraint import RuleConstraint
from gitbot.model.text.names import IntentRef


def measured_rules(
    intents: IntentSet, snapshot: ClusterSnapshot, load: ClusterLoad
) -> tuple[RuleConstraint, ...]:
    """The rules of all measured kinds that are broken now; none without load."""
    return tuple(
        rule
        for kind in KINDS.values()
        if kind.measured is not None
        for rule in kind.measured(intents.specs(kind.spec), snapshot, load)
    )


def is_measured(ref: IntentRef) -> bool:
    """Whether the rule of an intent holds or not by what is measured."""
    return ref.kind in KINDS and KINDS[ref.kind].measured is not None
