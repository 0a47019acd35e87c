"""PlacementRule on a cluster: its constraints, and what its keys and labels mean there."""

from __future__ import annotations

from collections.abc import Iterator

from gitbot.constraints.rules.placement_rule import placement_rules
from gitbot.constraints.rules.zone_anti_affinity import select_vms
from gitbot.documents import Path
from gitbot.intents.affinity import PodAffinity
from gitbot.intents.intent import Intent
from gitbot.intents.kinds.kind import CompiledRules
from gitbot.intents.kinds.placement_rule.spec import PlacementRuleSpec
from gitbot.intents.rule_cluster import RuleCluster
from gitbot.kubernetes.objects import Json
from gitbot.model.plan.findings import Finding


def rules(intent: Intent, spec: PlacementRuleSpec, cluster: RuleCluster) -> CompiledRules:
    selector = spec.selector.plain()
    found = placement_rules(
        cluster.instances,
        ref=intent.ref,
        namespace=intent.ref.namespace,
        selector=selector,
        node_affinity=spec.node_affinity.plain() if spec.node_affinity else None,
        affinity=spec.affinity.plain() if spec.affinity else None,
        anti_affinity=spec.anti_affinity.plain() if spec.anti_affinity else None,
        topology_spread=[_spread(each.plain(), selector) for each in spec.topology_spread],
        required=spec.enforcement == "Required",
    )
    return CompiledRules(rules=found, findings=tuple(_findings(intent, spec, cluster)))


def _spread(constraint: Json, selector: Json) -> Json:
    """Without a labelSelector the VMs of the rule count."""
    return {"labelSelector": selector, **constraint}


def _findings(intent: Intent, spec: PlacementRuleSpec, cluster: RuleCluster) -> Iterator[Finding]:
    selector = spec.selector.plain()
    members = select_vms(cluster.instances, intent.ref.namespace, selector)
    yield from cluster.member_findings(intent, ("spec", "selector"), selector, members)
    for path, key in _topology_keys(spec):
        yield from cluster.key_findings(intent, path, key)


def _topology_keys(spec: PlacementRuleSpec) -> Iterator[tuple[Path, str]]:
    for field, part in (("affinity", spec.affinity), ("antiAffinity", spec.anti_affinity)):
        if part is not None:
            yield from _term_keys(("spec", field), part)
    for number, spread in enumerate(spec.topology_spread):
        yield ("spec", "topologySpread", number, "topologyKey"), spread.topology_key


def _term_keys(path: Path, part: PodAffinity) -> Iterator[tuple[Path, str]]:
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    preferred = "preferredDuringSchedulingIgnoredDuringExecution"
    for number, term in enumerate(part.required_during_scheduling_ignored_during_execution):
        yield (*path, required, number, "topologyKey"), term.topology_key
    for number, wish in enumerate(part.preferred_during_scheduling_ignored_during_execution):
        below = (*path, preferred, number, "podAffinityTerm", "topologyKey")
        yield below, wish.pod_affinity_term.topology_key
