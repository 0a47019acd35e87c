"""Breached rules to goals: one healing for each rule."""

from __future__ import annotations

from collections.abc import Iterable

from gitbot.constraints.instances import Instances
from gitbot.constraints.zone_anti_affinity import ZoneAntiAffinity
from gitbot.intents.compile.past import NO_PAST, Past
from gitbot.intents.intent import IntentSet
from gitbot.intents.kinds.placement_rule import PlacementRuleSpec
from gitbot.intents.kinds.zone_anti_affinity import ZoneAntiAffinitySpec
from gitbot.model.cluster import ClusterSnapshot
from gitbot.model.constraint import RuleConstraint
from gitbot.model.names import IntentRef
from gitbot.model.problem import HealRule, Request


def heal_id(ref: IntentRef) -> str:
    """The id of a rule's healing before approval adds 12 digits of its digest."""
    return f"heal/{ref.namespace}/{ref.kind}/{ref.name}"


def compile_heal(
    intents: IntentSet,
    snapshot: ClusterSnapshot | Instances,
    rules: Iterable[RuleConstraint],
    *,
    past: Past = NO_PAST,
) -> tuple[HealRule, ...]:
    """A goal for each rule that is breached now and whose `heal` is not Report, in order of refs.

    `rules` as `compile_rules` gives them; breaches of preferred terms alone heal nothing, unless
    the rule as a whole is a wish (enforcement Preferred). A rule whose topology key is on no node
    has no healing.
    """
    instances = snapshot if isinstance(snapshot, Instances) else Instances.of(snapshot)
    occupancy = instances.occupancy()
    specs = {intent.ref: intent.spec for intent in intents.intents}
    goals: dict[IntentRef, HealRule] = {}
    for rule in rules:
        spec = specs.get(rule.ref)
        if not isinstance(spec, ZoneAntiAffinitySpec | PlacementRuleSpec) or spec.heal == "Report":
            continue
        counts = rule.required or spec.enforcement == "Preferred"
        if _has_no_domains(rule):
            continue  # no move can heal that; compile_rules says what is wrong with the key
        if counts and rule.ref not in goals and rule.breaches(occupancy):
            name = heal_id(rule.ref)
            request = Request(id=name, intent=rule.ref, first_move=past.next_move(name))
            goals[rule.ref] = HealRule(request=request, rule=rule.ref)
    return tuple(goals[ref] for ref in sorted(goals))


def _has_no_domains(rule: RuleConstraint) -> bool:
    return isinstance(rule, ZoneAntiAffinity) and not rule.domains.values(rule.topology_key)
