"""Why nothing of a pull request is planned, as findings on it."""

from __future__ import annotations

from collections.abc import Callable

from gitbot.errors import Interrupted, LimitExceeded, RepositoryError
from gitbot.model.findings import Finding, Severity
from gitbot.model.watch import Onlooker, Patience
from gitbot.ports.forge import PullRequest
from gitbot.workflows.check.run import PATIENCE, CheckResult

_LESS = "ask for less in one pull request, or name fewer VMs or nodes in a selector"


def _error(code: str, message: str, hint: str) -> Finding:
    return Finding(code=code, severity=Severity.ERROR, message=message, hint=hint)


SLOW = _error(
    "check/too-slow", f"nothing is planned: planning took more than {PATIENCE} seconds", _LESS
)


def too_large(error: LimitExceeded) -> Finding:
    return _error("check/too-large", f"nothing is planned: {error.message}", _LESS)


def in_time(
    judge: Callable[[Onlooker], CheckResult],
    onlooker: Onlooker,
    seconds: Callable[[], float] | None,
) -> CheckResult:
    """What `judge` finds; a finding if it needs more than a pull request gets."""
    try:
        found = judge(Patience(onlooker, seconds, PATIENCE))
        if found.final or onlooker.stopped():
            return found
    except Interrupted:
        if onlooker.stopped():
            raise
    except LimitExceeded as error:
        return CheckResult(findings=(too_large(error),))
    return CheckResult(findings=(SLOW,))


def conflict(pull: PullRequest) -> Finding:
    return _error(
        "check/merge-conflict",
        f"pull request {pull.number} does not merge into {pull.base_branch}",
        f"merge {pull.base_branch} into {pull.branch} and resolve the conflict",
    )


def unreadable(error: RepositoryError) -> Finding:
    message = f"the merge result cannot be read: {error.message}"
    return _error("check/unreadable", message, error.hint)
