"""Standing rules of intents to rule constraints, and what they mean on the cluster."""

from __future__ import annotations

from collections.abc import Collection
from itertools import chain

from gitbot.constraints.moves.instances import Instances
from gitbot.intents.intent import IntentSet
from gitbot.intents.registry import KINDS
from gitbot.intents.rule_cluster import RuleCluster
from gitbot.model.caches import LastValueCache
from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.model.plan.constraint import RuleConstraint
from gitbot.model.plan.findings import Finding, sort_key


def compile_rules(
    intents: IntentSet,
    snapshot: ClusterSnapshot | Instances,
    *,
    assume_plugins: Collection[str] = (),
) -> tuple[tuple[RuleConstraint, ...], tuple[Finding, ...]]:
    """The rules over the VMs of a snapshot, and findings that need the cluster.

    `assume_plugins` are admission plugins that the cluster is known to run. One intent may give
    several constraints under its ref, as a PlacementRule does for required and preferred terms.
    Findings compare the text with the cluster: topology keys, domains, labels. The planner and the
    report handle breaches.
    """
    instances = snapshot if isinstance(snapshot, Instances) else Instances.of(snapshot)
    rules, findings = _last(instances)(intents)
    if not assume_plugins:
        return rules, findings
    refused = (
        KINDS[intent.ref.kind].refusals(intent, intent.spec, assume_plugins)
        for intent in intents.intents
    )
    return rules, tuple(sorted(chain(findings, *refused), key=sort_key))


_Compiled = tuple[tuple[RuleConstraint, ...], tuple[Finding, ...]]


def _compiled(intents: IntentSet, instances: Instances) -> _Compiled:
    cluster = RuleCluster(instances)
    found = [
        KINDS[intent.ref.kind].rules(intent, intent.spec, cluster) for intent in intents.intents
    ]
    rules = sorted(
        (rule for each in found for rule in each.rules),
        key=lambda rule: (rule.ref, not rule.required),
    )
    findings = (finding for each in found for finding in each.findings)
    return tuple(rules), tuple(sorted(findings, key=sort_key))


# One run asks for goals, for the problem and for previews: the same texts on the same VMs give the
# same rules.
_last = LastValueCache[Instances, LastValueCache[IntentSet, _Compiled]](
    lambda instances, _: LastValueCache(lambda intents, _: _compiled(intents, instances))
)
