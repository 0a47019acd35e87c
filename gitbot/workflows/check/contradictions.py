"""Required rules that a change brings and that cannot all hold, as the audit finds them later."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial

from gitbot.audit import AuditFinding, conflict_finding, contradictions, undecided_finding
from gitbot.constraints.audit_placement import placed_pods
from gitbot.model.plan.constraint import RuleConstraint
from gitbot.model.plan.findings import Finding
from gitbot.model.plan.problem import PlacementProblem
from gitbot.workflows.check.scope import ClusterScope

_CODES = {
    "audit/contradiction": "intents/contradiction",
    "audit/never-holds": "intents/never-holds",
    "audit/undecided": "intents/undecided",
}


def contradiction_findings(scope: ClusterScope, problem: PlacementProblem) -> Iterator[Finding]:
    """One error for each smallest set, one note for each rule about which the search gave up.

    On a pull request, only those count that have an intent which it adds or changes.
    """
    snapshot = scope.evidence.snapshot
    undecided: list[RuleConstraint] = []
    pods = partial(placed_pods, snapshot)
    for rules in contradictions(snapshot, problem.rules, pods, undecided):
        if _asked(scope, rules):
            yield _found(conflict_finding(rules))
    for rule in undecided:
        if _asked(scope, [rule]):
            yield _found(undecided_finding(rule))


def _asked(scope: ClusterScope, rules: Iterable[RuleConstraint]) -> bool:
    return scope.before is None or bool({rule.ref.id for rule in rules} & scope.changed)


def _found(item: AuditFinding) -> Finding:
    return replace(item.finding, code=_CODES[item.finding.code])
