"""Breached rules to goals: one healing for each rule."""

from __future__ import annotations

from collections.abc import Iterable

from gitbot.constraints.moves.instances import Instances
from gitbot.intents.intent import IntentSet
from gitbot.intents.registry import KINDS
from gitbot.intents.request_history import NO_PAST, RequestHistory
from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.model.ledger.request_id import HealId
from gitbot.model.plan.constraint import RuleConstraint
from gitbot.model.plan.problem import Goal, Request
from gitbot.model.text.names import IntentRef


def compile_heal(
    intents: IntentSet,
    snapshot: ClusterSnapshot | Instances,
    rules: Iterable[RuleConstraint],
    *,
    past: RequestHistory = NO_PAST,
) -> tuple[Goal, ...]:
    """A goal for each rule that is breached now and whose `heal` is not Report, in order of refs.

    `rules` come from `compile_rules`. Breaches of preferred terms alone start no healing, unless
    the rule as a whole is a wish (enforcement Preferred). A rule whose topology key is on no node
    cannot be healed.
    """
    instances = snapshot if isinstance(snapshot, Instances) else Instances.of(snapshot)
    occupancy = instances.occupancy()
    specs = {intent.ref: intent.spec for intent in intents.intents}
    goals: dict[IntentRef, Goal] = {}
    for rule in rules:
        spec = specs.get(rule.ref)
        healing = KINDS[rule.ref.kind].healing(spec) if spec is not None else None
        if healing is None or healing.heal == "Report":
            continue
        counts = rule.required or not healing.required
        if rule.maximum and not instances.domains.values(rule.maximum.topology_key):
            continue  # no move can heal that; compile_rules reports what is wrong with the key
        if counts and rule.ref not in goals and rule.breaches(occupancy):
            name = HealId.of(rule.ref)
            request = Request(id=name, intent=rule.ref, first_move=past.next_move(name))
            goals[rule.ref] = KINDS[rule.ref.kind].heal(spec, request, instances, past)
    return tuple(goals[ref] for ref in sorted(goals))
