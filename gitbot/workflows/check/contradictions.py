"""Required rules that a change brings and that cannot all hold, as the audit finds them later."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from gitbot.audit import conflict_finding, contradictions
from gitbot.constraints.audit_placement import placed_pods
from gitbot.model.plan.findings import Finding
from gitbot.model.plan.problem import PlacementProblem
from gitbot.workflows.check.scope import ClusterScope

_CODES = {
    "audit/contradiction": "intents/contradiction",
    "audit/never-holds": "intents/never-holds",
}


def contradiction_findings(scope: ClusterScope, problem: PlacementProblem) -> Iterator[Finding]:
    """One error for each smallest set; on a pull request, for those with an intent of its own."""
    snapshot = scope.evidence.snapshot
    for rules in contradictions(snapshot, problem.rules, placed_pods(snapshot)):
        brought = {rule.ref.id for rule in rules} & scope.changed
        if scope.before is None or brought:
            found = conflict_finding(rules).finding
            yield replace(found, code=_CODES[found.code])
