"""The whole audit of one snapshot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gitbot.audit.broken_rules import broken_rules
from gitbot.audit.drain_blockers import Departure, evictions, not_migratable, single_points
from gitbot.audit.drift import drifted
from gitbot.audit.finding import AuditFinding
from gitbot.audit.gathered import gathered
from gitbot.audit.lost_nodes import lost_nodes
from gitbot.audit.other_movers import other_movers
from gitbot.audit.pins import differing, pins
from gitbot.audit.rule_conflicts import conflicting
from gitbot.audit.scheduler_profiles import unjudged_profiles
from gitbot.audit.unmet_terms import deprecated_keys, missing_keys, refused_keys, unmet_terms
from gitbot.constraints.audit_placement import placed_pods
from gitbot.constraints.moves.instances import Instances
from gitbot.kubernetes.objects import KubernetesObject
from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.model.plan.constraint import RuleConstraint


def audit_cluster(
    snapshot: ClusterSnapshot,
    rules: Sequence[RuleConstraint] = (),
    *,
    observed: Mapping[str, int] | None = None,
    departures: Sequence[Departure] = (),
    manifests: Sequence[tuple[str, KubernetesObject]] = (),
) -> tuple[AuditFinding, ...]:
    """All findings, sorted. `observed`: since when the ledger has a rule as broken, by its id.

    `manifests` are the VirtualMachines in Git with their files.
    """
    pods, instances = placed_pods(snapshot), Instances.of(snapshot)
    found = [
        *broken_rules(snapshot, rules, pods, observed or {}),
        *unmet_terms(snapshot, pods),
        *missing_keys(snapshot, pods),
        *deprecated_keys(pods),
        *refused_keys(snapshot),
        *conflicting(snapshot, rules, pods),
        *pins(instances, rules, pods),
        *differing(instances),
        *drifted(instances, manifests),
        *not_migratable(instances),
        *evictions(instances, departures),
        *single_points(snapshot, pods, departures),
        *gathered(snapshot, pods),
        *other_movers(snapshot),
        *lost_nodes(snapshot),
        *unjudged_profiles(snapshot),
    ]
    return tuple(sorted(found, key=lambda item: item.order))
