"""Why nothing of a pull request is planned, as findings on it."""

from __future__ import annotations

from collections.abc import Callable

from gitbot.errors import LimitExceeded, RepositoryError, UserInterrupt
from gitbot.model.plan.findings import Finding, Severity
from gitbot.model.progress import PlanningDeadline, PlanningProgress
from gitbot.ports.forge import PullRequest
from gitbot.workflows.core.context import PLANNING_TIMEOUT
from gitbot.workflows.core.judged_plan import CheckResult

_LESS = "ask for less in one pull request, or name fewer VMs or nodes in a selector"


def _error(code: str, message: str, hint: str) -> Finding:
    return Finding(code=code, severity=Severity.ERROR, message=message, hint=hint)


SLOW = _error(
    "check/too-slow",
    f"nothing is planned: planning took more than {PLANNING_TIMEOUT} seconds",
    _LESS,
)


def too_large(error: LimitExceeded) -> Finding:
    return _error("check/too-large", f"nothing is planned: {error.message}", _LESS)


def in_time(
    judge: Callable[[PlanningProgress], CheckResult],
    onlooker: PlanningProgress,
    seconds: Callable[[], float] | None,
) -> CheckResult:
    """What `judge` finds; a finding if it needs more than a pull request gets."""
    try:
        found = judge(PlanningDeadline(onlooker, seconds, PLANNING_TIMEOUT))
        if found.final or onlooker.stopped():
            return found
    except UserInterrupt:
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
