"""Concerns about rules that are broken: heal with the fewest moves."""

from __future__ import annotations

from gitbot.execution.requests import RequestRecord
from gitbot.model.canonical import digest
from gitbot.model.constraint import Breach
from gitbot.model.names import IntentRef, NamespacedName
from gitbot.model.problem import (
    HealRule,
    Request,
)
from gitbot.workflows.concerns.value import Concern, Scene, concern_name, full_name, numbered


def heals(scene: Scene, records: dict[str, RequestRecord]) -> list[Concern]:
    """One for each rule that is broken and may be healed."""
    concerns = []
    for intent, heal, required in scene.base.healing_rules():
        breaches = breaches_of(scene, intent.ref, required=required)
        planned = f"heal/{intent.ref.namespace}/{intent.ref.kind}/{intent.ref.name}"
        if not breaches or heal == "Report" or _heal_under_way(scene, records, planned):
            continue
        request = numbered(Request(id=planned, intent=intent.ref), records)
        seen = sorted((breach.key, breach.amount) for breach in breaches)
        concerns.append(
            Concern(
                name=concern_name("heal", intent.ref.kind, full_name(intent.ref)),
                intent=intent.ref,
                goal=HealRule(request=request, rule=intent.ref),
                observation=digest([planned, [list(item) for item in seen]]),
                why=f"heal {intent.ref.id}: {breaches[0].message}",
                stabilize=scene.base.settings.proposals.stabilize,
                auto=heal == "Auto" and scene.base.settings.allow_auto,
                soft=not required,
            )
        )
    return concerns


def _heal_under_way(scene: Scene, records: dict[str, RequestRecord], planned: str) -> bool:
    """Whether an approved healing of the rule is unfinished and not stale."""
    mine = [item for item in scene.approved if item.id.startswith(planned + "/")]
    for item in mine:
        record = records.get(item.id)
        if item.terms.void or (record is not None and record.finished):
            continue
        if not any(stale.request == item.id for stale in scene.stale):
            return True
    return False


def _occupancy(scene: Scene) -> dict[NamespacedName, frozenset[str]]:
    facts = scene.facts
    return {
        name: frozenset({node}) for name in sorted(facts.instances) if (node := facts.node_of(name))
    }


def breaches_of(scene: Scene, ref: IntentRef, *, required: bool) -> tuple[Breach, ...]:
    """What of a rule is broken now, VMs at rest where they are.

    Of a Required rule the hard part counts alone: its preferred terms heal nothing.
    """
    occupancy = _occupancy(scene)
    return tuple(
        breach
        for rule in scene.problem.rules
        if rule.ref.id == ref.id and (rule.required or not required)
        for breach in rule.breaches(occupancy)
    )
