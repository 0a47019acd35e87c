"""Rules of intents that do not hold now."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from gitbot.audit.finding import AuditFinding
from gitbot.constraints.audit_placement import PlacedPod
from gitbot.constraints.moves.instances import Instances
from gitbot.kubernetes.names import NamespacedName
from gitbot.kubernetes.objects import KubernetesObject, at
from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.model.plan.constraint import Breach, Occupancy, RuleConstraint
from gitbot.model.plan.findings import Finding, Severity
from gitbot.model.text.instants import parse_instant

CODE_OF_REQUIRED, CODE_OF_PREFERRED = "audit/rule-broken", "audit/rule-wish"


def broken_rules(
    snapshot: ClusterSnapshot,
    rules: Iterable[RuleConstraint],
    pods: Sequence[PlacedPod],
    observed: Mapping[str, int],
) -> Iterator[AuditFinding]:
    """Each breach of each rule, with every VM on its current node."""
    started = {item.vm: started_at(item.obj) for item in pods if item.vm is not None}
    homes = Instances.of(snapshot).homes
    occupancy: Occupancy = {vm: frozenset({node}) for vm, node in homes.items()}
    for rule in rules:
        for breach in rule.breaches(occupancy):
            yield _broken(rule, breach, started, observed.get(rule.ref.id, 0))


def _broken(
    rule: RuleConstraint, breach: Breach, started: Mapping[NamespacedName, int], seen: int
) -> AuditFinding:
    starts = [started.get(vm, 0) for vm in breach.vms]
    code, severity = (CODE_OF_REQUIRED, Severity.ERROR)
    if not rule.required:
        code, severity = (CODE_OF_PREFERRED, Severity.WARNING)
    return AuditFinding(
        finding=Finding(
            code=code,
            severity=severity,
            message=breach.message,
            file=rule.ref.file,
            line=rule.ref.line,
            key_path=rule.ref.id,
            hint="gitbot plan shows what would heal it",
        ),
        kind=rule.ref.kind,
        name=NamespacedName(namespace=rule.ref.namespace, name=rule.ref.name),
        rule=rule.ref.id,
        vms=breach.vms,
        since=seen or (max(starts) if starts and all(starts) else 0),
        observed=bool(seen),
    )


def started_at(pod: KubernetesObject) -> int:
    """When a pod started; 0 if unknown."""
    try:
        return parse_instant(str(at(pod, "status", "startTime", default="")))
    except ValueError:
        return 0
