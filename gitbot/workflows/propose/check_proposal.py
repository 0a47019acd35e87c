"""Checks gitbot's own open pull request."""

from __future__ import annotations

from dataclasses import replace

from gitbot.intents import proposal_file
from gitbot.model.plan.findings import Finding, Severity
from gitbot.ports.forge import PullRequest
from gitbot.workflows.approval.owner_approvals import consented
from gitbot.workflows.approval.read_approvals import concern_branch, read_proposal
from gitbot.workflows.core.context import RunContext
from gitbot.workflows.core.judged_plan import CheckResult
from gitbot.workflows.current_state import read_current_state
from gitbot.workflows.propose.concerns import ConcernSources, find_concerns
from gitbot.workflows.propose.proposal import judge_concern


def check_proposal(shell: RunContext, pull: PullRequest) -> CheckResult:
    """The check of gitbot's own open pull request: its plan as gitbot would make it now."""
    ledger = shell.ledger_store.read()
    sources = ConcernSources.of(read_current_state(shell, ledger))
    name = pull.branch.removeprefix(concern_branch(shell.cluster_name, ""))
    file = proposal_file(shell.cluster_name, name)
    concern = next((item for item in find_concerns(sources) if item.name == name), None)
    if concern is None:
        return CheckResult(findings=(_outdated("nothing calls for it any more", file),))
    judged = judge_concern(sources.base, sources, concern, shell.plan)
    shell.repository.fetch_commit(pull.head)
    shown = read_proposal(shell, ledger, pull.head, name)
    if shown is None or shown.digest != judged.digest:
        found = _outdated("the plan below differs from its file", file)
        diff = replace(judged.diff, findings=(found, *judged.diff.findings))
        judged = replace(judged, findings=(found, *judged.findings), diff=diff)
    base = sources.base
    judged = consented(shell, judged, pull, base=base, intents=base.intents, proposal=shown)
    return CheckResult(
        findings=judged.findings,
        judged=judged,
        problem=sources.problem,
        revision=sources.base.revision,
        cluster=shell.cluster_name,
    )


def _outdated(message: str, file: str) -> Finding:
    return Finding(
        code="check/proposal-outdated",
        severity=Severity.WARNING,
        message=f"this pull request of gitbot is outdated: {message}",
        file=file,
        hint="gitbot propose renews or closes it",
    )
