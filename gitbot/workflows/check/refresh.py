"""Refresh: plans people's open pull requests again when what they show may no longer hold."""

from __future__ import annotations

from collections.abc import Iterable

from gitbot.errors import ForgeRefused, UnreachableError
from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.model.ledger.events import PlanShown
from gitbot.model.ledger.ledger import Ledger
from gitbot.model.plan.findings import Severity
from gitbot.model.text.wording import counted
from gitbot.ports.forge import CheckState, CommitStatus, PullRequest
from gitbot.ports.idempotence import is_up_to_date
from gitbot.workflows.approval.read_approvals import concern_branch
from gitbot.workflows.check.publish import OWN, NotOpen, PublishResult, is_own_proposal, publish
from gitbot.workflows.core.context import RunContext, status_name
from gitbot.workflows.core.judged_plan import CheckResult
from gitbot.workflows.core.stop_conditions import forge_skew
from gitbot.workflows.pulls import labels
from gitbot.workflows.pulls.record import is_due, is_not_fetched
from gitbot.workflows.pulls.statuses import GIVEN, OWNERS
from gitbot.workflows.pulls.verdicts import PLAN, status_shows

MAX_NOT_FETCHED = 3  # heads that one pass fails to fetch before it stops; each may take a minute


def refresh_pulls(
    shell: RunContext,
    *,
    snapshot: ClusterSnapshot | None = None,
    every: bool = False,
) -> tuple[PublishResult, ...]:
    """Plan again the open pull requests of people that were shown before and are due.

    Due: somebody pushed, the base moved on, the plan expires soon, or a move that was asked for
    waits. `every` includes those that were never shown. One that the forge refuses to read or write
    stops nobody: its author may have blocked gitbot's account.
    """
    ledger = shell.ledger_store.known()
    base = shell.repository.commit(shell.base_branch).id
    results: list[PublishResult] = []
    failed = 0
    pulls = shell.open_pulls()
    skew = forge_skew(shell)
    if skew:
        shell.say(f"no pull request is planned: {skew}")
        return ()
    for pull in pulls:
        if not _is_wanted(shell, ledger, pull, base, every=every):
            continue
        if failed == MAX_NOT_FETCHED and shell.repository.resolve(pull.head) is None:
            shell.say(f"pull request {pull.number} is left for the next pass")
            continue
        try:
            results.append(publish(shell, number=pull.number, snapshot=snapshot))
        except NotOpen:  # closed or merged since they were listed
            continue
        except (UnreachableError, ForgeRefused) as error:
            shell.say(f"pull request {pull.number} is not planned now: {error}")
            nothing = CheckResult(findings=(), cluster=shell.cluster_name)
            results.append(
                PublishResult(
                    pull=pull, check=nothing, digest="", wrote=False, unread=error.message
                )
            )
            failed += 1
            continue
        failed += is_not_fetched(results[-1].check)
        _say_errors(shell, results[-1])
    return tuple(results)


def _say_errors(shell: RunContext, result: PublishResult) -> None:
    """Once: a pull request on which nothing new is written is not news in every pass."""
    errors = [each for each in result.check.findings if each.severity is Severity.ERROR]
    if result.wrote and errors:
        shell.say(
            f"pull request {result.pull.number} has {counted(len(errors), 'error')}: {errors[0]}"
        )


def _is_wanted(
    shell: RunContext, ledger: Ledger, pull: PullRequest, base: str, *, every: bool
) -> bool:
    records = ledger.shown(pull.number, cluster=shell.cluster_name)
    if not (bool(records) or every or pull.branch.startswith(OWN)):
        return False
    if pull.base_branch != shell.base_branch or not _wants_a_plan(shell, pull):
        return False
    if not records or not _is_current(records[-1], pull, base, shell.clock.now()):
        return True
    statuses = shell.forge.list_statuses(pull.head)
    return (
        not _has_check(shell, statuses, records[-1])
        or _move_waits(shell, statuses)
        or _waits_for_owners(shell, statuses, base)
    )


def _wants_a_plan(shell: RunContext, pull: PullRequest) -> bool:
    """Not gitbot's own proposals, except other clusters' without this cluster's check."""
    if not is_own_proposal(shell, pull):
        return True
    if not shell.several or pull.branch.startswith(concern_branch(shell.cluster_name, "")):
        return False
    return not _has_check(shell, shell.forge.list_statuses(pull.head))


def _move_waits(shell: RunContext, statuses: Iterable[CommitStatus]) -> bool:
    """Whether the plan left out a move that waited for something: that may be over."""
    name = status_name(shell, PLAN)
    return any(item.context == name and item.state is CheckState.PENDING for item in statuses)


def _waits_for_owners(shell: RunContext, statuses: Iterable[CommitStatus], base: str) -> bool:
    """Whether an owner's approval was missing or given: it may have come, or been dismissed."""
    if not shell.read_base(base).settings.owners:
        return False
    name = status_name(shell, OWNERS)
    return any(
        status.context == name
        and (status.state is CheckState.PENDING or status.description == GIVEN)
        for status in statuses
    )


def _has_check(
    shell: RunContext, statuses: Iterable[CommitStatus], record: PlanShown | None = None
) -> bool:
    """Whether this cluster's check is on the head, and says what the record has.

    It is written after everything else, so an older one is a sign that a run ended before.
    """
    name = status_name(shell, PLAN)
    return any(
        status.context == name and (record is None or status_shows(status, record.digest))
        for status in statuses
    )


def _is_current(record: PlanShown, pull: PullRequest, base: str, now: int) -> bool:
    """Whether the last record is about this head on this base, and lives long enough.

    A plan that changed since its review is shown again: a new review may have come.
    """
    if labels.STALE in pull.labels or is_due(record, now):
        return False
    return is_up_to_date((record.head, record.shown.base), (pull.head, base))
