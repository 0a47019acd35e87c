"""ZoneAntiAffinity on a cluster: its constraint, and what its key and labels mean there."""

from __future__ import annotations

from collections.abc import Iterator

from gitbot.constraints.moves.instances import Instances
from gitbot.constraints.rules.zone_anti_affinity import ZoneAntiAffinity, zone_anti_affinity
from gitbot.documents import Path
from gitbot.intents.intent import Intent
from gitbot.intents.intent_findings import error, warning
from gitbot.intents.kinds.kind import CompiledRules
from gitbot.intents.kinds.zone_anti_affinity.spec import ZoneAntiAffinitySpec
from gitbot.intents.rule_cluster import RuleCluster
from gitbot.model.plan.findings import Finding


def rules(intent: Intent, spec: ZoneAntiAffinitySpec, cluster: RuleCluster) -> CompiledRules:
    rule = zone_anti_affinity(
        cluster.instances,
        ref=intent.ref,
        namespace=intent.ref.namespace,
        selector=spec.selector.plain(),
        topology_key=spec.topology_key,
        max_per_domain=spec.max_per_domain,
        required=spec.enforcement == "Required",
    )
    return CompiledRules(rules=(rule,), findings=tuple(_findings(intent, spec, rule, cluster)))


def _findings(
    intent: Intent, spec: ZoneAntiAffinitySpec, rule: ZoneAntiAffinity, cluster: RuleCluster
) -> Iterator[Finding]:
    selector: Path = ("spec", "selector")
    yield from cluster.member_findings(intent, selector, spec.selector.plain(), rule.members)
    written = "topologyKey" in spec.plain()
    path: Path = ("spec", "topologyKey") if written else ("spec",)
    yield from cluster.key_findings(intent, path, spec.topology_key)
    if cluster.instances.domains.column(spec.topology_key):
        yield from _homeless(intent, path, spec.topology_key, rule, cluster.instances)
        shortage = rule.shortage()
        if shortage:
            say = error if rule.required else warning
            hint = "raise maxPerDomain, select fewer VMs, or add a domain"
            yield say(intent, selector, "too-few-domains", shortage, hint)


def _homeless(
    intent: Intent, path: Path, key: str, rule: ZoneAntiAffinity, instances: Instances
) -> Iterator[Finding]:
    """Members on nodes without the key: the rule cannot be judged there."""
    column = instances.domains.column(key)
    occupancy = instances.occupancy()
    for vm in sorted(rule.members & occupancy.keys()):
        lost = sorted(node for node in occupancy[vm] if node not in column)
        if lost:
            say = error if rule.required else warning
            yield say(
                intent,
                path,
                "member-without-domain",
                f"{vm} is on {', '.join(lost)}, which has no label {key}",
                "label the node, or move the VM",
            )
