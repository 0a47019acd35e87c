"""PlacementRule on a cluster: its constraints, and what its keys and labels mean there."""

from __future__ import annotations

from collections.abc import Iterator

from gitbot.constraints.rules.placement_rule import placement_rules
from gitbot.constraints.rules.unread_rule import unread_rule
from gitbot.constraints.rules.zone_anti_affinity import select_vms
from gitbot.documents import Path
from gitbot.intents.affinity import PodAffinityTerm
from gitbot.intents.intent import Intent
from gitbot.intents.kinds.kind import CompiledRules
from gitbot.intents.kinds.placement_rule.spec import PlacementRuleSpec
from gitbot.intents.rule_cluster import RuleCluster
from gitbot.kubernetes.objects import Json
from gitbot.model.plan.constraint import RuleConstraint
from gitbot.model.plan.findings import Finding


def rules(intent: Intent, spec: PlacementRuleSpec, cluster: RuleCluster) -> CompiledRules:
    selector = spec.selector.plain()
    near = spec.affinity.plain() if spec.affinity else None
    apart = spec.anti_affinity.plain() if spec.anti_affinity else None
    found: tuple[RuleConstraint, ...] = placement_rules(
        cluster.instances,
        ref=intent.ref,
        namespace=intent.ref.namespace,
        selector=selector,
        node_affinity=spec.node_affinity.plain() if spec.node_affinity else None,
        affinity=near,
        anti_affinity=apart,
        topology_spread=[_spread(each.plain(), selector) for each in spec.topology_spread],
        required=spec.enforcement == "Required",
    )
    if spec.enforcement == "Required":
        members = select_vms(cluster.instances, intent.ref.namespace, selector)
        unread = unread_rule(
            cluster.instances, ref=intent.ref, subjects=members, affinities=(near, apart)
        )
        if unread is not None:
            found = (unread, *(rule for rule in found if not rule.required))
    return CompiledRules(rules=found, findings=tuple(_findings(intent, spec, cluster)))


def _spread(constraint: Json, selector: Json) -> Json:
    """Without a labelSelector the VMs of the rule count."""
    return {"labelSelector": selector, **constraint}


def _findings(intent: Intent, spec: PlacementRuleSpec, cluster: RuleCluster) -> Iterator[Finding]:
    selector = spec.selector.plain()
    members = select_vms(cluster.instances, intent.ref.namespace, selector)
    yield from cluster.member_findings(intent, ("spec", "selector"), selector, members)
    for path, term in _terms(spec):
        yield from cluster.term_findings(intent, path, term)
    for number, spread in enumerate(spec.topology_spread):
        place = ("spec", "topologySpread", number, "topologyKey")
        yield from cluster.key_findings(intent, place, spread.topology_key)


def _terms(spec: PlacementRuleSpec) -> Iterator[tuple[Path, PodAffinityTerm]]:
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    preferred = "preferredDuringSchedulingIgnoredDuringExecution"
    for field, part in (("affinity", spec.affinity), ("antiAffinity", spec.anti_affinity)):
        if part is None:
            continue
        for number, term in enumerate(part.required_during_scheduling_ignored_during_execution):
            yield ("spec", field, required, number), term
        for number, wish in enumerate(part.preferred_during_scheduling_ignored_during_execution):
            yield ("spec", field, preferred, number, "podAffinityTerm"), wish.pod_affinity_term
