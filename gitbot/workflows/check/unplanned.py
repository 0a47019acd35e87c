"""Why nothing of a pull request is planned, as findings on it."""

from __future__ import annotations

from gitbot.errors import LimitExceeded, RepositoryError
from gitbot.model.findings import Finding, Severity
from gitbot.ports.forge import PullRequest
from gitbot.workflows.check.run import PATIENCE

_LESS = "ask for less in one pull request, or name fewer VMs or nodes in a selector"
SLOW = Finding(
    code="check/too-slow",
    severity=Severity.ERROR,
    message=f"nothing is planned: planning took more than {PATIENCE} seconds",
    hint=_LESS,
)


def too_large(error: LimitExceeded) -> Finding:
    return Finding(
        code="check/too-large",
        severity=Severity.ERROR,
        message=f"nothing is planned: {error.message}",
        hint=_LESS,
    )


def conflict(pull: PullRequest) -> Finding:
    return Finding(
        code="check/merge-conflict",
        severity=Severity.ERROR,
        message=f"pull request {pull.number} does not merge into {pull.base_branch}",
        hint=f"merge {pull.base_branch} into {pull.branch} and resolve the conflict",
    )


def unreadable(error: RepositoryError) -> Finding:
    return Finding(
        code="check/unreadable",
        severity=Severity.ERROR,
        message=f"the merge result cannot be read: {error.message}",
        hint=error.hint,
    )
