"""Standing rules of intents to rule constraints, and what they mean on the cluster."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import chain

from gitbot.constraints.moves.instances import Instances
from gitbot.constraints.rules.domains import key_advice
from gitbot.constraints.rules.placement_rule import placement_rules
from gitbot.constraints.rules.zone_anti_affinity import (
    ZoneAntiAffinity,
    select_vms,
    zone_anti_affinity,
)
from gitbot.documents import Path
from gitbot.intents.affinity import PodAffinity
from gitbot.intents.compile.intent_findings import error, warning
from gitbot.intents.compile.machine_labels import machine_label_findings
from gitbot.intents.intent import Intent, IntentSet
from gitbot.intents.kinds.placement_rule.spec import PlacementRuleSpec
from gitbot.intents.kinds.zone_anti_affinity.spec import ZoneAntiAffinitySpec
from gitbot.kubernetes.names import NamespacedName
from gitbot.kubernetes.objects import Json
from gitbot.kubevirt.names import SCHEDULABLE
from gitbot.model.caches import LastValueCache
from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.model.cluster.scheduling import HOSTNAME
from gitbot.model.plan.constraint import RuleConstraint
from gitbot.model.plan.findings import Finding, sort_key
from gitbot.model.text.names import LIMIT_HARD_ANTI_AFFINITY


def compile_rules(
    intents: IntentSet,
    snapshot: ClusterSnapshot | Instances,
    *,
    assume_plugins: Collection[str] = (),
) -> tuple[tuple[RuleConstraint, ...], tuple[Finding, ...]]:
    """The rules over the VMs of a snapshot, and findings that need the cluster.

    `assume_plugins` are admission plugins that the cluster is known to run. A PlacementRule gives
    one constraint for its required terms and one for its preferred ones, under the same ref.
    Findings compare the text with the cluster: topology keys, domains, labels. The planner and the
    report handle breaches.
    """
    instances = snapshot if isinstance(snapshot, Instances) else Instances.of(snapshot)
    rules, findings = _last(instances)(intents)
    if LIMIT_HARD_ANTI_AFFINITY not in assume_plugins:
        return rules, findings
    refused = (_plugin_findings(*each) for each in intents.zone_anti_affinities)
    return rules, tuple(sorted(chain(findings, *refused), key=sort_key))


_Compiled = tuple[tuple[RuleConstraint, ...], tuple[Finding, ...]]


def _compiled(intents: IntentSet, instances: Instances) -> _Compiled:
    rules: list[RuleConstraint] = []
    findings: list[Finding] = []
    keys = _Keys(instances)
    for intent, zone_spec in intents.zone_anti_affinities:
        rule = _zone_rule(intent, zone_spec, instances)
        rules.append(rule)
        findings += _zone_findings(intent, zone_spec, rule, instances, keys)
    for intent, rule_spec in intents.placement_rules:
        rules += _placement_rules(intent, rule_spec, instances)
        members = select_vms(instances, intent.ref.namespace, rule_spec.selector.plain())
        findings += _placement_findings(intent, rule_spec, members, instances, keys)
    rules.sort(key=lambda each: (each.ref, not each.required))
    return tuple(rules), tuple(sorted(findings, key=sort_key))


# One run asks for goals, for the problem and for previews: the same texts on the same VMs give the
# same rules.
_last = LastValueCache[Instances, LastValueCache[IntentSet, _Compiled]](
    lambda instances, _: LastValueCache(lambda intents, _: _compiled(intents, instances))
)


def _zone_rule(
    intent: Intent, spec: ZoneAntiAffinitySpec, instances: Instances
) -> ZoneAntiAffinity:
    return zone_anti_affinity(
        instances,
        ref=intent.ref,
        namespace=intent.ref.namespace,
        selector=spec.selector.plain(),
        topology_key=spec.topology_key,
        max_per_domain=spec.max_per_domain,
        required=spec.enforcement == "Required",
    )


def _placement_rules(
    intent: Intent, spec: PlacementRuleSpec, instances: Instances
) -> tuple[RuleConstraint, ...]:
    selector = spec.selector.plain()
    return placement_rules(
        instances,
        ref=intent.ref,
        namespace=intent.ref.namespace,
        selector=selector,
        node_affinity=spec.node_affinity.plain() if spec.node_affinity else None,
        affinity=spec.affinity.plain() if spec.affinity else None,
        anti_affinity=spec.anti_affinity.plain() if spec.anti_affinity else None,
        topology_spread=[_spread(each.plain(), selector) for each in spec.topology_spread],
        required=spec.enforcement == "Required",
    )


def _spread(constraint: Json, selector: Json) -> Json:
    """Without a labelSelector the VMs of the rule count."""
    return {"labelSelector": selector, **constraint}


def _zone_findings(
    intent: Intent,
    spec: ZoneAntiAffinitySpec,
    rule: ZoneAntiAffinity,
    instances: Instances,
    keys: _Keys,
) -> Iterator[Finding]:
    selector: Path = ("spec", "selector")
    yield from _members_findings(intent, selector, rule.members)
    yield from machine_label_findings(intent, selector, spec.selector.plain(), instances)
    written = "topologyKey" in spec.plain()
    path: Path = ("spec", "topologyKey") if written else ("spec",)
    yield from keys.findings(intent, path, spec.topology_key)
    if instances.domains.column(spec.topology_key):
        yield from _homeless(intent, path, spec.topology_key, rule, instances)
        shortage = rule.shortage()
        if shortage:
            say = error if rule.required else warning
            hint = "raise maxPerDomain, select fewer VMs, or add a domain"
            yield say(intent, selector, "too-few-domains", shortage, hint)


def _plugin_findings(intent: Intent, spec: ZoneAntiAffinitySpec) -> Iterator[Finding]:
    if spec.admission == "Render" and spec.topology_key != HOSTNAME:
        yield error(
            intent,
            ("spec", "admission"),
            "admission-plugin",
            f"the admission plugin {LIMIT_HARD_ANTI_AFFINITY} will refuse required anti-affinity "
            f"by {spec.topology_key}: it allows {HOSTNAME} only",
            "write admission: None, or disable the plugin in the API server",
        )


def _placement_findings(
    intent: Intent,
    spec: PlacementRuleSpec,
    members: frozenset[NamespacedName],
    instances: Instances,
    keys: _Keys,
) -> Iterator[Finding]:
    selector: Path = ("spec", "selector")
    yield from _members_findings(intent, selector, members)
    yield from machine_label_findings(intent, selector, spec.selector.plain(), instances)
    for path, key in _topology_keys(spec):
        yield from keys.findings(intent, path, key)


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


def _members_findings(
    intent: Intent, path: Path, members: frozenset[NamespacedName]
) -> Iterator[Finding]:
    if not members:
        yield warning(
            intent,
            path,
            "selects-nothing",
            f"selects no VM in namespace {intent.ref.namespace}",
            "selectors read the labels of VMIs; see kubectl get vmi --show-labels",
        )


class _Keys:
    """What is wrong with topology keys on a cluster. Each key is checked once."""

    def __init__(self, instances: Instances) -> None:
        self._domains = instances.domains
        self._among = _nodes_for_vms(instances)
        self._advice: dict[str, tuple[str, ...]] = {}

    def findings(self, intent: Intent, path: Path, key: str) -> Iterator[Finding]:
        """A key that no node has is an error; an old key, or one on some nodes only, a warning."""
        if key not in self._advice:
            self._advice[key] = key_advice(self._domains, key, among=self._among)
        for line in self._advice[key]:
            message, _, hint = line.partition("; ")
            if line.startswith(f"{key} is deprecated"):
                yield warning(intent, path, "deprecated-topology-key", message, hint)
            elif self._domains.column(key):
                hint = "label them, or the rule does not see what runs there"
                yield warning(intent, path, "partial-topology-key", message, hint)
            else:
                hint = hint or "see the node labels"
                yield error(intent, path, "unknown-topology-key", message, hint)


def _nodes_for_vms(instances: Instances) -> frozenset[str] | None:
    """The nodes on which VMs run or could run; None if no node has the label.

    KubeVirt labels each node on which it runs, with "false" while no VM can start there. Nodes
    without the label (a control plane, for example) never get VMs, so rules may ignore them.
    """
    nodes = instances.domains.nodes.items()
    able = {name for name, node in nodes if SCHEDULABLE in node.labels}
    places = instances.occupancy().values()
    return frozenset(able.union(*places)) if able else None


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
