"""Concerns about broken rules: heal each with the fewest moves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gitbot.constraints.moves.instances import Instances
from gitbot.constraints.rules.broken_terms import broken_terms
from gitbot.constraints.rules.vm_spec_rules import own_rules
from gitbot.execution.request_records import last_moved
from gitbot.intents import KINDS, Healing
from gitbot.model.ledger.request_id import HealId
from gitbot.model.plan.constraint import Breach, RuleConstraint
from gitbot.model.plan.problem import HealRule, Request
from gitbot.model.text.canonical import digest
from gitbot.model.text.names import IntentRef
from gitbot.workflows.propose.concerns.concern import (
    Concern,
    ConcernSources,
    heal_concern,
    numbered,
)

WISH = 4  # times as long as for a Required rule


def heals(sources: ConcernSources) -> list[Concern]:
    """One for each broken rule that gitbot may heal, those in VMs' own specs included."""
    return [*heals_of_intents(sources), *_heals_of_terms(sources)]


def heals_of_intents(sources: ConcernSources) -> list[Concern]:
    concerns = []
    instances = Instances.of(sources.problem.snapshot)
    for intent, healing in sources.base.healing_rules():
        breaches = breaches_of(sources, intent.ref, required=healing.required)
        planned = HealId.of(intent.ref)
        if not breaches or healing.heal == "Report" or _heal_in_flight(sources, planned):
            continue
        if healing.every and sources.now < _last_move(sources, planned) + healing.every:
            continue
        request = numbered(sources, Request(id=planned, intent=intent.ref))
        seen = sorted((breach.key, breach.amount) for breach in breaches)
        concerns.append(
            Concern(
                name=heal_concern(intent.ref),
                intent=intent.ref,
                goal=KINDS[intent.ref.kind].heal(intent.spec, request, instances, sources.past),
                observation=digest([planned, [list(item) for item in seen]]),
                why=f"heal {intent.ref.id}: {breaches[0].message}",
                stabilize=_patience(healing, sources.base.settings.proposals.stabilize),
                auto=healing.heal == "Auto" and sources.base.settings.allow_auto,
                soft=not healing.required,
            )
        )
    return concerns


def _heals_of_terms(sources: ConcernSources) -> Iterator[Concern]:
    """Broken terms of VMs' own. A VM in a breach of an intent is healed as that intent says."""
    proposals = sources.base.settings.proposals
    if proposals.own_terms == "Report":
        return
    snapshot = sources.problem.snapshot
    taken = {
        vm
        for intent, healing in sources.base.healing_rules()
        for breach in breaches_of(sources, intent.ref, required=healing.required)
        for vm in breach.vms
    }
    for rule in (*broken_terms(snapshot), *own_rules(snapshot)):
        breaches = _at_rest(sources, (rule,))
        vms = {vm for breach in breaches for vm in breach.vms}
        planned = HealId.of(rule.ref)
        if all(taken.intersection(breach.vms) for breach in breaches):
            continue
        taken |= vms
        if _heal_in_flight(sources, planned):
            continue
        seen = sorted((breach.key, breach.amount) for breach in breaches)
        request = numbered(sources, Request(id=planned, intent=rule.ref))
        yield Concern(
            name=heal_concern(rule.ref),
            intent=rule.ref,
            goal=HealRule(request=request, rule=rule.ref),
            observation=digest([planned, [list(item) for item in seen]]),
            why=f"heal what {rule.ref.namespaced} asks in its own spec: {breaches[0].message}",
            stabilize=proposals.stabilize,
        )


def _patience(healing: Healing, stabilize: int) -> int:
    """How long a breach must last, in seconds: safety comes sooner than tidiness."""
    if healing.sustained is not None:
        return max(stabilize, healing.sustained)
    return stabilize if healing.required else WISH * stabilize


def _last_move(sources: ConcernSources, planned: HealId) -> int:
    mine = (record for record in sources.records.values() if record.id.planned == planned)
    return max(last_moved(mine).values(), default=0)


def _heal_in_flight(sources: ConcernSources, planned: HealId) -> bool:
    """Whether an approved healing of the rule is unfinished and not stale."""
    mine = [item for item in sources.approved if item.id.planned == planned]
    for item in mine:
        record = sources.records.get(item.id)
        if item.terms.void or (record is not None and record.finished):
            continue
        if not any(stale.request == item.id for stale in sources.stale):
            return True
    return False


def breaches_of(sources: ConcernSources, ref: IntentRef, *, required: bool) -> tuple[Breach, ...]:
    """The present breaches of a rule, each VM at rest where it is.

    For a Required rule only the hard part counts: its preferred terms heal nothing.
    """
    return _at_rest(
        sources,
        [rule for rule in sources.rules.get(ref.id, ()) if rule.required or not required],
    )


def _at_rest(sources: ConcernSources, rules: Sequence[RuleConstraint]) -> tuple[Breach, ...]:
    facts = sources.facts
    members = sorted({vm for rule in rules for vm in rule.members})
    occupancy = {vm: frozenset({node}) for vm in members if (node := facts.node_of(vm))}
    return tuple(breach for rule in rules for breach in rule.breaches(occupancy))
