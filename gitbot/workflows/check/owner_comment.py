"""The owners' approvals of a pull request, and whether its comment says them."""

from __future__ import annotations

from dataclasses import replace

from gitbot.model.ledger.events import PlanShown
from gitbot.ports.forge import PullRequest
from gitbot.reports import marker, refusal, says_owners
from gitbot.workflows.approval.owner_approvals import consented
from gitbot.workflows.approval.stale_reviews import CHANGED
from gitbot.workflows.check.run import CheckResult
from gitbot.workflows.core.context import RunContext
from gitbot.workflows.pulls.statuses import own_comment


def with_owners(
    shell: RunContext,
    pull: PullRequest | None,
    outcome: CheckResult,
    base: str,
    shown: tuple[PlanShown, ...],
) -> CheckResult:
    """With the owners' approvals, of the base that was planned on."""
    if outcome.judged is None or outcome.revision is None:
        return outcome
    judged = consented(
        shell,
        outcome.judged,
        pull,
        base=shell.read_base(base),
        intents=outcome.revision.intents,
        records=shown,
    )
    return replace(outcome, judged=judged)


def is_said(shell: RunContext, pull: PullRequest, notice: str, outcome: CheckResult) -> bool:
    body = own_comment(shell.forge, pull.number, marker(shell.cluster_name))
    if outcome.diff is None:
        return body.strip() == refusal(shell.cluster_name, outcome.findings).strip()
    said = outcome.diff.digest in body and (CHANGED in body) == bool(notice)
    return said and says_owners(body, outcome.diff)
