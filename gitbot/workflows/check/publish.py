"""Publish: show the plan of a person's pull request on it, and keep it in the ledger.

This is the trusted run. It reads blobs of the merge result, never executes or checks out files of a
pull request, and takes configuration and policies from the base. A merge approves what it shows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from gitbot.errors import ConflictError, ForgeError, RepositoryError, UnreachableError, UsageError
from gitbot.execution.request_records import fold_requests
from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.model.ledger.ledger import Ledger
from gitbot.model.plan.findings import Finding, Severity
from gitbot.ports.forge import PullRequest, PullState
from gitbot.workflows.approval.base_history import check_history
from gitbot.workflows.approval.read_approvals import concern_branch, read_approvals
from gitbot.workflows.approval.stale_reviews import must_approve_again, superseded
from gitbot.workflows.check.not_plannable import conflict, in_time, unreadable
from gitbot.workflows.check.run import Planning, check
from gitbot.workflows.check.scope import PlanningInputs
from gitbot.workflows.core.context import RunContext
from gitbot.workflows.core.judged_plan import CheckResult
from gitbot.workflows.core.own_wording import changed_templates
from gitbot.workflows.core.revision import Texts, read_change, texts_at
from gitbot.workflows.core.rights import rights_checked
from gitbot.workflows.core.stop_conditions import forge_skew
from gitbot.workflows.ledger.kept_plans import no_room, no_room_finding
from gitbot.workflows.ledger.request_history import request_history, reservations
from gitbot.workflows.ledger.writer import Journal, retried
from gitbot.workflows.pulls.labels import set_labels
from gitbot.workflows.pulls.record import (
    NOT_FETCHED,
    is_new_plan,
    is_recorded,
    record_of,
    withdraw_shown_plan,
    write_record,
)
from gitbot.workflows.pulls.show import Showing, is_shown, show_checks, show_comment, with_owners

OWN = "gitbot/pull/"  # prefix of the branches of gitbot's own pull requests


class NotOpen(UsageError):
    """The pull request was closed, merged or sent elsewhere, so there is nothing left to plan."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishResult:
    """What was written on one pull request. `wrote` is False if all of it was there already."""

    pull: PullRequest
    check: CheckResult
    digest: str
    wrote: bool
    unread: str = ""  # why its head could not be fetched, if it is not to blame


def publish(
    shell: RunContext, *, number: int, snapshot: ClusterSnapshot | None = None
) -> PublishResult:
    return retried(lambda: _publish(shell, number=number, snapshot=snapshot))


def _publish(shell: RunContext, *, number: int, snapshot: ClusterSnapshot | None) -> PublishResult:
    journal = Journal(shell.ledger_store, shell.clock)
    ledger = journal.read()
    pull = shell.forge.get_pull(number)
    if pull.state is not PullState.OPEN:
        raise NotOpen(f"pull request {number} is {pull.state}", hint="only open ones are planned")
    if pull.base_branch != shell.base_branch:
        raise NotOpen(f"pull request {number} goes to {pull.base_branch}, not the base branch")
    skew = forge_skew(shell)
    if skew:
        raise ForgeError(f"nothing is published: {skew}", hint="let NTP set this machine's clock")
    base = shell.repository.commit(shell.base_branch).id
    outcome = check_pull(shell, ledger, pull, base=base, snapshot=snapshot)
    outcome = _with_room(shell, ledger, outcome)
    shown = journal.ledger.shown(pull.number, cluster=shell.cluster_name)
    outcome = with_owners(shell, pull, outcome, base, shown)
    if is_own_proposal(shell, pull):
        digest, wrote = "", _write_foreign_checks(shell, pull, outcome)
    else:
        digest = outcome.judged.digest if outcome.judged else ""
        wrote = _write_to_pull(shell, journal, pull, outcome, base=base)
    return PublishResult(pull=pull, check=outcome, digest=digest, wrote=wrote)


def _with_room(shell: RunContext, ledger: Ledger, outcome: CheckResult) -> CheckResult:
    """The outcome, refused if the ledger takes no new plan. Approved plans always find room."""
    judged = outcome.judged
    if judged is None or judged.digest in ledger.plans:
        return outcome
    reason = no_room(ledger, shell.clock.now())
    if not reason:
        return outcome
    return replace(outcome, findings=(*outcome.findings, no_room_finding(reason)))


def check_open(shell: RunContext, pull: PullRequest) -> CheckResult:
    """What `publish` would show, with who has to approve it; nothing is written."""
    ledger, base = shell.ledger_store.read(), shell.repository.commit(shell.base_branch).id
    outcome = check_pull(shell, ledger, pull, base=base)
    shown = ledger.shown(pull.number, cluster=shell.cluster_name)
    return with_owners(shell, pull, outcome, base, shown)


def publish_group(shell: RunContext, *, commit: str) -> CheckResult:
    """Judge a merge queue's commit and write its checks: no record, no comment.

    Approval still comes from the plan shown on each pull request in the group.
    """
    outcome = check_group(shell, commit=commit)
    tip = shell.repository.commit(shell.base_branch).id
    outcome = with_owners(shell, None, outcome, tip, ())
    show_checks(shell, commit, Showing(outcome=outcome))
    return outcome


def check_group(shell: RunContext, *, commit: str) -> CheckResult:
    """Judge a commit on top of the base; raises UsageError if it is not on top."""
    if not on_top(shell, commit):
        raise UsageError(f"{commit[:12]} is not a commit on top of {shell.base_branch}")
    group = PullRequest(
        number=0,
        title="merge group",
        body="",
        author="",
        branch="",
        base_branch=shell.base_branch,
        head=commit,
        state=PullState.OPEN,
    )
    ledger = shell.ledger_store.read()
    return check_pull(shell, ledger, group)


def on_top(shell: RunContext, commit: str) -> bool:
    """Whether a commit can be fetched and contains the whole base branch."""
    try:
        shell.repository.fetch_commit(commit)
    except UnreachableError:
        raise
    except RepositoryError:
        return False  # the queue took its branch back
    base = shell.repository.commit(shell.base_branch).id
    return shell.repository.is_ancestor(base, commit)


def check_pull(
    shell: RunContext,
    ledger: Ledger,
    pull: PullRequest,
    *,
    snapshot: ClusterSnapshot | None = None,
    base: str = "",
) -> CheckResult:
    """Check a pull request on the tree that merging its head into the base would give.

    `base` is the commit of the base branch to plan on, "" for the newest.
    """
    base_commit = base or shell.repository.commit(shell.base_branch).id
    check_history(shell, ledger, base_commit)
    absent = _fetch_head(shell, pull)
    if absent:
        return CheckResult(findings=absent)
    folders = shell.read_base(base_commit).settings.manifest_folders
    before = texts_at(shell.repository, base_commit, commit=base_commit, folders=folders)
    try:
        merged = shell.repository.merge_trees(base_commit, pull.head)
        if merged is None:
            return CheckResult(findings=(conflict(pull),))
        after = texts_at(shell.repository, merged, commit=pull.head, folders=folders)
        of_templates = changed_templates(shell, base_commit, merged)
    except RepositoryError as error:  # caused by this pull request alone: go on with the others
        return CheckResult(findings=(unreadable(error),))
    outcome = check_texts(
        shell,
        ledger,
        before=before,
        after=after,
        snapshot=snapshot,
        pull_request=pull.number,
        planning=shell.planning,
        found=of_templates,
    )
    return rights_checked(outcome, shell.cluster.missing, own=not shell.at_hand)


def check_texts(
    shell: RunContext,
    ledger: Ledger,
    *,
    before: Texts,
    after: Texts,
    snapshot: ClusterSnapshot | None = None,
    pull_request: int = 0,
    planning: Planning | None = None,
    found: tuple[Finding, ...] = (),
) -> CheckResult:
    """Check what these texts would add to those of a base commit, with what is approved there.

    `found` are findings about other files of the change.
    """
    protected = shell.read_base(before.commit)
    approved = read_approvals(shell, protected, ledger).approved
    records = fold_requests(ledger, shell.cluster_name)
    reading = (shell.reading if planning else None) or read_change
    return in_time(
        lambda patience: check(
            reading(after, protected.revision).finding(found).remembering(ledger),
            PlanningInputs(
                snapshot=snapshot or shell.cluster.snapshot(),
                now=shell.clock.now(),
                past=request_history(ledger, shell.cluster_name),
                reservations=reservations(approved, records),
            ),
            before=protected.intents,
            changed=after.changed_since(before),
            pull_request=pull_request,
            onlooker=patience,
            planning=planning,
        ),
        shell.onlooker,
        shell.seconds,
    )


def _fetch_head(shell: RunContext, pull: PullRequest) -> tuple[Finding, ...]:
    """Fetch the head; returns findings if the pull request itself makes that impossible.

    UnreachableError passes through: nothing can be reported about the pull request then.
    """
    try:
        shell.repository.fetch_commit(pull.head)
    except UnreachableError:
        raise
    except RepositoryError as error:
        found = Finding(
            code=NOT_FETCHED,
            severity=Severity.ERROR,
            message=f"the head {pull.head[:12]} of pull request {pull.number} could not be "
            f"fetched: {error.message}",
            hint="nothing of it is planned; it is tried again within the hour, and after a push",
        )
        return (found,)
    return ()


def is_own_proposal(shell: RunContext, pull: PullRequest) -> bool:
    """Whether a pull request is gitbot's own and shows its plan already, for any cluster."""
    own = pull.author == shell.forge.bot and pull.branch.startswith(OWN)
    return own and pull.branch != concern_branch(shell.cluster_name, "tidy")


def shows_own_plan(shell: RunContext, pull: PullRequest) -> bool:
    """Whether a pull request is gitbot's own with a plan for this cluster."""
    mine = pull.branch.startswith(concern_branch(shell.cluster_name, ""))
    return mine and is_own_proposal(shell, pull)


def _write_foreign_checks(shell: RunContext, pull: PullRequest, outcome: CheckResult) -> bool:
    """Write this cluster's checks, which may be required, on another cluster's proposal."""
    if pull.branch.startswith(concern_branch(shell.cluster_name, "")):
        return False
    outcome = with_owners(shell, pull, outcome, shell.repository.commit(shell.base_branch).id, ())
    return show_checks(shell, pull.head, Showing(outcome=outcome))


def _write_to_pull(
    shell: RunContext, journal: Journal, pull: PullRequest, outcome: CheckResult, *, base: str
) -> bool:
    """Record first, then comment and checks: nobody can approve what the ledger lacks.

    If a plan replaces another one, that one is withdrawn before, and the new one is recorded after
    the comment shows it: nobody approves what they could not read. The run also completes
    what an earlier, killed run left undone, and writes nothing twice.
    """
    records = journal.ledger.shown(pull.number, cluster=shell.cluster_name)
    record = record_of(shell, pull, outcome, base=base)
    fresh = not is_recorded(records, record)
    replacing = fresh and bool(records) and is_new_plan(records[-1], record)
    if replacing:
        # a review may have come in during planning; a push too, but this plan is of this head
        pull = replace(pull, reviews=shell.forge.get_pull(pull.number).reviews)
        if records[-1].digest and records[-1].head == pull.head:
            withdraw_shown_plan(shell, journal, pull, records[-1])
    elif fresh:
        write_record(journal, outcome, record)
    shown = (*records, record) if fresh else records
    outcome = with_owners(shell, pull, outcome, base, shown)
    showing = Showing(
        outcome=outcome,
        name=f"pull-{pull.number}",
        earlier=superseded(records, outcome.judged.digest) if outcome.judged else (),
        changed=must_approve_again(shell.forge, pull, shown),
    )
    wrote = fresh or not is_shown(shell, pull, showing)
    if wrote:
        show_comment(shell, pull, showing)
    if replacing:
        # made again: its time must not be before the comment, and writing that took a while
        write_record(journal, outcome, record_of(shell, pull, outcome, base=base))
        _must_be_seen(shell, journal, pull, showing)
    # the checks come last: a check that names this plan says that a run got this far
    wrote = show_checks(shell, pull.head, showing) or wrote
    if wrote:
        _must_be_newest(shell, journal, pull)
    return set_labels(shell, pull, showing.labels) or wrote


def _must_be_seen(shell: RunContext, journal: Journal, pull: PullRequest, now: Showing) -> None:
    """Raises ConflictError if somebody approved between two plans, so that it is reported now."""
    records = journal.ledger.shown(pull.number, cluster=shell.cluster_name)
    current = shell.forge.get_pull(pull.number)
    if not now.changed and must_approve_again(shell.forge, current, records):
        raise ConflictError(f"pull request {pull.number} was approved while its plan changed")


def _must_be_newest(shell: RunContext, journal: Journal, pull: PullRequest) -> None:
    """Raises ConflictError if another run recorded a plan while this one wrote its own.

    The other plan's comment may then be below ours, and a reader would approve a plan that is not
    shown.
    """
    ledgers = (journal.ledger, shell.ledger_store.read())
    shown = (ledger.shown(pull.number, cluster=shell.cluster_name)[-1:] for ledger in ledgers)
    ours, now = ([(item.time, item.digest, item.shown) for item in last] for last in shown)
    if now != ours:
        raise ConflictError(f"another run planned pull request {pull.number} at the same time")
