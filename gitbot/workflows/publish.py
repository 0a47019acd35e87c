"""Publish: the plan of a person's pull request, said on it and kept in the ledger.

The trusted run: it reads blobs of the merge result, never executes or checks out what a pull
request brings, and takes configuration and policies from the base. What it shows is what a merge
approves.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from gitbot.errors import (
    ConflictError,
    ForgeError,
    RepositoryError,
    UnreachableError,
    UsageError,
)
from gitbot.execution.requests import fold_requests
from gitbot.execution.state import PullRecord, fold_pull
from gitbot.execution.values import Replay
from gitbot.model.cluster import ClusterSnapshot
from gitbot.model.findings import Finding, Severity
from gitbot.model.ledger import Ledger
from gitbot.ports.forge import PullRequest, PullState, is_marked
from gitbot.reports import markdown, marker, refusal
from gitbot.workflows import labels
from gitbot.workflows.approvals import concern_branch, read_approvals
from gitbot.workflows.base import CONFIGURATION
from gitbot.workflows.check import CheckResult, Engine, Evidence, Sources, check
from gitbot.workflows.clocks import forge_skew
from gitbot.workflows.feedback import set_check
from gitbot.workflows.journal import Journal, retried
from gitbot.workflows.labels import set_labels
from gitbot.workflows.past import past_of, reservations
from gitbot.workflows.record import (
    NOT_FETCHED,
    record_of,
    replaces,
    stands,
    write_pause,
    write_record,
)
from gitbot.workflows.reviewed import CHANGED, must_approve_again, superseded
from gitbot.workflows.rewritten import check_history
from gitbot.workflows.shell import Shell
from gitbot.workflows.verdicts import checks_of

OWN = "gitbot/pull/"  # below it are the branches of gitbot's own pull requests


class NotOpen(UsageError):
    """The pull request was closed or merged: there is nothing to plan any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishResult:
    """What was said about one pull request. `wrote` is False where all of it stood already."""

    pull: PullRequest
    check: CheckResult
    digest: str
    wrote: bool
    unread: str = ""  # why its head could not be had now, through no fault of its own


def publish(
    shell: Shell, *, number: int, replay: Replay, snapshot: ClusterSnapshot | None = None
) -> PublishResult:
    """Plan one open pull request on the result of merging it, and say so on it."""
    return retried(lambda: _publish(shell, number=number, replay=replay, snapshot=snapshot))


def _publish(
    shell: Shell, *, number: int, replay: Replay, snapshot: ClusterSnapshot | None
) -> PublishResult:
    journal = Journal(shell.ledger_store, shell.clock)
    ledger = journal.read()
    pull = shell.forge.get_pull(number)
    if pull.state is not PullState.OPEN:
        raise NotOpen(f"pull request {number} is {pull.state}", hint="only open ones are planned")
    if pull.base_branch != shell.base_branch:
        raise UsageError(f"pull request {number} goes to {pull.base_branch}, not the base branch")
    skew = forge_skew(shell)
    if skew:
        raise ForgeError(f"nothing is published: {skew}", hint="let NTP set this machine's clock")
    base = shell.repository.commit(shell.base_branch).id
    outcome = check_pull(shell, ledger, pull, base=base, replay=replay, snapshot=snapshot)
    if is_own_proposal(shell, pull):
        return PublishResult(
            pull=pull, check=outcome, digest="", wrote=_say_beside(shell, pull, outcome)
        )
    return PublishResult(
        pull=pull,
        check=outcome,
        digest=outcome.review.digest if outcome.review else "",
        wrote=_say(shell, journal, pull, outcome, base=base),
    )


def publish_group(
    shell: Shell, *, commit: str, replay: Replay, snapshot: ClusterSnapshot | None = None
) -> CheckResult:
    """Judge a commit that a merge queue put together, and write its checks: no record, no comment.

    What approves stays the plan that was shown on each pull request in it.
    """
    outcome = check_group(shell, commit=commit, replay=replay, snapshot=snapshot)
    for verdict in checks_of(shell, outcome):
        set_check(shell, commit, verdict)
    return outcome


def check_group(
    shell: Shell, *, commit: str, replay: Replay, snapshot: ClusterSnapshot | None = None
) -> CheckResult:
    """Judge a commit on top of the base; UsageError where it is none."""
    base = shell.repository.commit(shell.base_branch).id
    if shell.repository.resolve(commit) is None or not shell.repository.is_ancestor(base, commit):
        raise UsageError(f"{commit[:12]} is no commit on top of {shell.base_branch}")
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
    return check_pull(shell, ledger, group, replay=replay, snapshot=snapshot)


def check_pull(
    shell: Shell,
    ledger: Ledger,
    pull: PullRequest,
    *,
    replay: Replay,
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
    protected = shell.read_base(base_commit)
    approved = read_approvals(shell, protected, ledger).approved
    records = fold_requests(ledger, shell.cluster_name)
    folders = [item.path for item in protected.settings.manifests if item.repository is None]
    before = texts_at(shell, base_commit, folders)
    try:
        merged = shell.repository.merge_trees(base_commit, pull.head)
        after = texts_at(shell, merged, folders) if merged is not None else None
    except RepositoryError as error:  # of its own making: others go on
        return CheckResult(findings=(_unreadable(error),))
    if after is None:
        return CheckResult(findings=(_conflict(pull),))
    return check(
        cluster=shell.cluster_name,
        sources=sources_of(after, commit=pull.head),
        base=sources_of(before, commit=base_commit),
        evidence=Evidence(
            snapshot=snapshot or shell.cluster.snapshot(),
            now=shell.clock.now(),
            past=past_of(ledger, shell.cluster_name),
            reservations=reservations(approved, records),
        ),
        engine=Engine(
            policies=shell.templates.policies(),
            templates=shell.templates.templates(),
            replay=replay,
        ),
        changed=[path for path in {*before, *after} if before.get(path) != after.get(path)],
        pull_request=pull.number,
    )


def texts_at(shell: Shell, rev: str, folders: Iterable[str] = ()) -> Mapping[str, bytes]:
    """What gitbot reads of a commit or tree: configuration, intents, policies, these folders.

    Whatever else a repository holds (scripts, links) is never looked at.
    """
    texts: dict[str, bytes] = {}
    for prefix in ("intents/", "policies/", *(f"{folder.rstrip('/')}/" for folder in folders)):
        texts |= shell.repository.read_tree(rev, prefix)
    configuration = shell.repository.read_blob(rev, CONFIGURATION)
    return {**texts, **({CONFIGURATION: configuration} if configuration is not None else {})}


def sources_of(tree: Mapping[str, bytes], *, commit: str) -> Sources:
    """The texts of a tree that gitbot reads."""
    return Sources(
        configuration=tree.get(CONFIGURATION, b""),
        intents={path: data for path, data in tree.items() if path.startswith("intents/")},
        policies={
            path: data.decode("utf-8", "replace")
            for path, data in tree.items()
            if path.startswith("policies/") and path.endswith(".yaml")
        },
        commit=commit,
    )


def _conflict(pull: PullRequest) -> Finding:
    return Finding(
        code="check/merge-conflict",
        severity=Severity.ERROR,
        message=f"pull request {pull.number} does not merge into {pull.base_branch}",
        hint=f"merge {pull.base_branch} into {pull.branch} and resolve the conflict",
    )


def _fetch_head(shell: Shell, pull: PullRequest) -> tuple[Finding, ...]:
    """Bring the head; what kept it away, where that is of its own making and others go on.

    UnreachableError passes: then nothing can be said about the pull request, so nothing is.
    """
    try:
        shell.repository.fetch_commit(pull.head)
    except UnreachableError:
        raise
    except RepositoryError as error:
        return (_not_fetched(pull, error),)
    return ()


def _not_fetched(pull: PullRequest, error: RepositoryError) -> Finding:
    return Finding(
        code=NOT_FETCHED,
        severity=Severity.ERROR,
        message=f"the head {pull.head[:12]} of pull request {pull.number} could not be fetched: "
        f"{error.message}",
        hint="nothing of it is planned; it is tried again within the hour, and after a push",
    )


def _unreadable(error: RepositoryError) -> Finding:
    return Finding(
        code="check/unreadable",
        severity=Severity.ERROR,
        message=f"the merge result cannot be read: {error.message}",
        hint=error.hint,
    )


def is_own_proposal(shell: Shell, pull: PullRequest) -> bool:
    """Whether a pull request is gitbot's own and shows its plan already, for whatever cluster."""
    own = pull.author == shell.forge.bot and pull.branch.startswith(OWN)
    return own and pull.branch != concern_branch(shell.cluster_name, "tidy")


def _say_beside(shell: Shell, pull: PullRequest, outcome: CheckResult) -> bool:
    """The proposal of another cluster gets this cluster's checks, which may be required."""
    if pull.branch.startswith(concern_branch(shell.cluster_name, "")):
        return False
    wrote = [set_check(shell, pull.head, verdict) for verdict in checks_of(shell, outcome)]
    return any(wrote)


def _say(
    shell: Shell, journal: Journal, pull: PullRequest, outcome: CheckResult, *, base: str
) -> bool:
    """Record first, then comment and checks: nobody can approve what the ledger lacks.

    A plan that takes another one's place is recorded after the comment says it, and the other is
    taken back before: nobody approves what could not be read. What an earlier run that died left
    undone is made up for; what stands is not said again.
    """
    records = fold_pull(journal.ledger, pull.number, cluster=shell.cluster_name)
    record = record_of(shell, pull, outcome, base=base)
    fresh = not stands(records, record)
    replacing = fresh and bool(records) and replaces(records[-1], record)
    if replacing:
        pull = shell.forge.get_pull(pull.number)  # a review may have come while it was planned
        write_pause(shell, journal, pull, records[-1])
    elif fresh:
        write_record(shell, journal, pull, outcome, record)
    shown = (*records, record) if fresh else records
    notice = CHANGED if must_approve_again(shell.forge, pull, shown) else ""
    wrote = fresh or not _is_said(shell, pull, record.digest, notice)
    if wrote:
        body = comment_of(shell, outcome, notice=notice, records=records)
        shell.forge.upsert_comment(pull.number, marker=marker(shell.cluster_name), body=body)
    if replacing:
        now = record_of(shell, pull, outcome, base=base)  # it took a while to say it
        write_record(shell, journal, pull, outcome, now)
        _must_be_seen(shell, journal, pull, notice)
    for verdict in checks_of(shell, outcome, notice=notice):
        wrote = set_check(shell, pull.head, verdict) or wrote
    if wrote:
        _must_be_newest(shell, journal, pull)
    return set_labels(shell, pull, labels_of(outcome, changed=bool(notice))) or wrote


def _must_be_seen(shell: Shell, journal: Journal, pull: PullRequest, notice: str) -> None:
    """ConflictError where somebody approved while one plan took another's place: say it at once."""
    records = fold_pull(journal.ledger, pull.number, cluster=shell.cluster_name)
    if not notice and must_approve_again(shell.forge, shell.forge.get_pull(pull.number), records):
        raise ConflictError(f"pull request {pull.number} was approved while another plan was said")


def _must_be_newest(shell: Shell, journal: Journal, pull: PullRequest) -> None:
    """ConflictError where another run recorded a plan while this one said its own.

    Its comment may then stand below ours, and a reader would approve the plan that is not shown.
    """
    ours = fold_pull(journal.ledger, pull.number, cluster=shell.cluster_name)
    now = fold_pull(shell.ledger_store.read(), pull.number, cluster=shell.cluster_name)
    if now[-1:] != ours[-1:]:
        raise ConflictError(f"another run planned pull request {pull.number} at the same time")


def _is_said(shell: Shell, pull: PullRequest, digest: str, notice: str) -> bool:
    """Whether the comment stands and says this plan."""
    mark, own = marker(shell.cluster_name), shell.forge.bot
    bodies = [
        item.body
        for item in shell.forge.list_comments(pull.number)
        if is_marked(item.body, mark) and item.author == own
    ]
    return bool(bodies) and digest in bodies[0] and (CHANGED in bodies[0]) == bool(notice)


def comment_of(
    shell: Shell,
    outcome: CheckResult,
    *,
    notice: str = "",
    records: tuple[PullRecord, ...] = (),
) -> str:
    """The sticky comment: the diff, or what is wrong with the texts."""
    if outcome.review is None:
        return refusal(shell.cluster_name, outcome.findings)
    return markdown(
        outcome.review.diff, notice=notice, superseded=superseded(records, outcome.review.digest)
    )


def labels_of(outcome: CheckResult, *, changed: bool) -> frozenset[str]:
    """The labels of a pull request that was planned."""
    if outcome.review is None or outcome.fails():
        return frozenset({labels.BLOCKED})
    found = {labels.PLANNED} if outcome.review.plan.moves else set()
    return frozenset(found | ({labels.STALE} if changed else set()))
