"""A run of propose, and one concern's branch and pull request: opened, renewed, repaired, shown.

A branch has one file; a person's commit is never overwritten.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from gitbot.errors import ConflictError, RepositoryError, UnreachableError
from gitbot.execution.approval import ProposalFact
from gitbot.execution.ledger_folds import ConcernRecord, fold_concern
from gitbot.intents import proposal_file
from gitbot.model.ledger.event_parts import ProposalFile
from gitbot.model.ledger.events import ConcernChanged, ConcernState
from gitbot.model.ledger.ledger import concern_file
from gitbot.model.text.names import OWN_AUTHOR
from gitbot.ports.forge import PullRequest
from gitbot.ports.idempotence import is_up_to_date, needs_renewal
from gitbot.reports.own_templates import PULL_REQUEST
from gitbot.workflows.approval.owner_approvals import consented
from gitbot.workflows.approval.read_approvals import (
    concern_branch,
    file_digest,
    is_unmodified_proposal,
    read_proposal,
)
from gitbot.workflows.approval.stale_reviews import changed_since_review, proposed, superseded
from gitbot.workflows.core.context import RunContext
from gitbot.workflows.core.judged_plan import CheckResult, JudgedPlan
from gitbot.workflows.core.own_wording import own_wording
from gitbot.workflows.core.revision_engine import RevisionEngine
from gitbot.workflows.core.rights import Missing
from gitbot.workflows.current_state import CurrentState
from gitbot.workflows.ledger.writer import Journal
from gitbot.workflows.propose.concerns import Concern, ConcernSources
from gitbot.workflows.propose.proposal import (
    ConcernReport,
    Did,
    body_of,
    body_values,
    file_of,
    title_of,
)
from gitbot.workflows.pulls.labels import STALE, set_labels
from gitbot.workflows.pulls.show import Showing, is_shown, show_checks, show_comment


@dataclass(slots=True, kw_only=True)
class ProposeRun:
    """The state of one run of propose: the journal grows, pull requests open and close.

    `missing` says which rights the account lacks, as `Cluster.missing`.
    """

    shell: RunContext
    base: RevisionEngine
    journal: Journal
    state: CurrentState
    sources: ConcernSources
    open_pulls: dict[str, PullRequest]
    missing: Missing
    may_start: bool

    @property
    def now(self) -> int:
        """The moment of the look, in seconds UTC."""
        return self.sources.now

    def record(self, concern: str) -> ConcernRecord:
        cluster = self.shell.cluster_name
        return fold_concern(self.journal.seen, cluster=cluster, concern=concern)

    def event(
        self,
        concern: str,
        state: ConcernState,
        *,
        digest: str = "",
        commit: str = "",
        pull_request: int = 0,
        reason: str = "",
        proposal: ProposalFile | None = None,
    ) -> ConcernChanged:
        return ConcernChanged(
            file=concern_file(self.shell.cluster_name, concern),
            time=self.now,
            cluster=self.shell.cluster_name,
            state=state,
            digest=digest,
            commit=commit,
            pull_request=pull_request,
            reason=reason,
            proposal=proposal,
        )

    def note(
        self,
        concern: str,
        state: ConcernState,
        pull: PullRequest,
        *,
        digest: str = "",
        reason: str = "",
    ) -> None:
        """Record the outcome of a concern's pull request, for the next commit of the ledger."""
        self.journal.note(
            self.event(concern, state, digest=digest, pull_request=pull.number, reason=reason)
        )


def auto_approve(run: ProposeRun, concern: Concern, judged: JudgedPlan) -> ConcernReport:
    """For heal: Auto, returnHome: Auto, reapprove: WithinPolicy and approval: Intent."""
    approved = run.event(
        concern.name,
        ConcernState.AUTO,
        digest=judged.digest,
        commit=run.base.commit,
        reason=concern.why,
    )
    run.journal.commit((approved,), {judged.digest: judged.file})
    return ConcernReport(concern=concern.name, action=Did.AUTO, digest=judged.digest)


def open_proposal(run: ProposeRun, concern: Concern, judged: JudgedPlan) -> ConcernReport:
    shell = run.shell
    text = file_of(concern, judged)
    branch = concern_branch(shell.cluster_name, concern.name)
    head, reason = push_new(
        shell,
        branch=branch,
        base=run.base.commit,
        files={proposal_file(shell.cluster_name, concern.name): text},
        message=title_of(concern, judged),
    )
    if not head:
        return ConcernReport(
            concern=concern.name, action=Did.WAITING, reason=reason, unplanned=True
        )
    _record_proposal(run, concern, judged, head, text)
    pull = shell.forge.open_pull(
        branch=branch,
        base_branch=shell.base_branch,
        title=title_of(concern, judged),
        body=_body(shell, concern),
        labels=("gitbot", *sorted(_showing(run, None, judged, concern.name).labels)),
    )
    run.note(concern.name, ConcernState.OPENED, pull, digest=judged.digest)
    run.open_pulls[concern.name] = pull
    _show(run, concern.name, pull, head, judged)
    shell.say(f"pull request {pull.number} opened: {title_of(concern, judged)}")
    return ConcernReport(
        concern=concern.name,
        action=Did.OPENED,
        pull_request=pull.number,
        digest=judged.digest,
    )


def _body(shell: RunContext, concern: Concern) -> str:
    values = body_values(concern, shell.cluster_name)
    own = own_wording(shell, PULL_REQUEST, lambda _: values)
    if own.fault:
        shell.say(f"{own.where}: {own.fault}; a pull request has gitbot's own text")
    return own.text or body_of(values)


def _record_proposal(
    run: ProposeRun, concern: Concern, judged: JudgedPlan, head: str, text: bytes
) -> None:
    """Record plan, pushed head and file before anybody can merge what the ledger lacks."""
    proposed = run.event(
        concern.name,
        ConcernState.PROPOSED,
        digest=judged.digest,
        commit=head,
        reason=concern.why,
        proposal=ProposalFile(file=file_digest(text), base=run.base.commit),
    )
    run.journal.commit((proposed,), {judged.digest: judged.file})


def update_proposal(
    run: ProposeRun, concern: Concern, judged: JudgedPlan, pull: PullRequest, record: ConcernRecord
) -> ConcernReport:
    """Renew an open pull request if its plan changed or expires; else leave it alone."""
    known = ConcernReport(
        concern=concern.name,
        action=Did.UNCHANGED,
        pull_request=pull.number,
        digest=judged.digest,
    )
    ledger = run.journal.seen
    shown = read_proposal(run.shell, ledger, pull.head, concern.name)
    same = shown is not None and is_up_to_date(shown.digest, judged.digest)
    expires_at = shown.expires_at if shown is not None else 0
    due = needs_renewal(left=expires_at - run.now, life=run.base.settings.plan_expiry)
    if same and not due and is_unmodified_proposal(run.shell, ledger, pull.head, concern.name):
        return replace(known, reason=_repair(run, pull, judged, record))
    if not is_own_head(run.shell, pull.head, record):
        return replace(known, reason="somebody pushed to its branch: gitbot leaves it alone")
    text = file_of(concern, judged)
    head = run.shell.repository.write_commit(
        branch=pull.branch,
        expected=pull.head,
        files={proposal_file(run.shell.cluster_name, concern.name): text},
        message=title_of(concern, judged),
        time=run.shell.clock.now(),
    )
    _record_proposal(run, concern, judged, head, text)
    if record.pull_request != pull.number:
        run.note(concern.name, ConcernState.OPENED, pull, digest=judged.digest)
    run.shell.forge.edit_pull(
        pull.number, title=title_of(concern, judged), body=_body(run.shell, concern)
    )
    _show(run, concern.name, pull, head, judged)
    return replace(known, action=Did.RENEWED if same else Did.UPDATED)


def _repair(run: ProposeRun, pull: PullRequest, judged: JudgedPlan, record: ConcernRecord) -> str:
    """Complete what an earlier, killed run may have left undone: the number, the comment."""
    if record.pull_request != pull.number:
        run.note(record.concern, ConcernState.OPENED, pull, digest=judged.digest)
    if run.base.settings.owners:  # the list of pull requests lacks reviews
        pull = replace(pull, reviews=run.shell.forge.get_pull(pull.number).reviews)
    showing = _showing(run, pull, judged, record.concern)
    # the label asks for another review, which may have come in
    if STALE not in pull.labels and is_shown(run.shell, pull, showing):
        show_checks(run.shell, pull.head, showing)
    else:
        _show(run, record.concern, pull, pull.head, judged)
    return ""


def _show(run: ProposeRun, concern: str, pull: PullRequest, head: str, judged: JudgedPlan) -> None:
    """Show the plan that merging `head` approves, and whether it changed since a review."""
    shell = run.shell
    pull = shell.forge.get_pull(pull.number)
    shown = proposed(run.journal.seen, shell.cluster_name, concern)
    times = [(item.time, item.digest) for item in shown]
    showing = replace(
        _showing(run, replace(pull, head=head), judged, concern),
        earlier=superseded(shown, judged.digest),
        changed=changed_since_review(shell.forge, pull, times, judged.digest),
    )
    show_comment(shell, pull, showing)
    show_checks(shell, head, showing)
    set_labels(shell, pull, showing.labels)


def _showing(
    run: ProposeRun, pull: PullRequest | None, judged: JudgedPlan, concern: str
) -> Showing:
    """What a proposal shows; with who approved what, once there is a pull request."""
    shell, cluster = run.shell, run.shell.cluster_name
    if pull is not None:
        fact = ProposalFact(concern=concern, digest=judged.digest, expires_at=judged.expires_at)
        intents = run.base.intents
        judged = consented(shell, judged, pull, base=run.base, intents=intents, proposal=fact)
    return Showing(
        outcome=CheckResult(findings=judged.findings, judged=judged, cluster=cluster),
        name=concern,
        of_bot=True,
        returns=concern.startswith("return-"),
    )


def can_merge(run: ProposeRun, pull: PullRequest) -> bool:
    """Whether a proposal merges into the base branch: its file may have been removed there."""
    repository = run.shell.repository
    try:
        return repository.merge_trees(run.base.commit, pull.head) is not None
    except RepositoryError:
        return True  # unknown; who merges it is told


def is_own_head(shell: RunContext, head: str, record: ConcernRecord) -> bool:
    """Whether the head of a branch is a commit of gitbot's own.

    If the ledger does not know the head (a run died between push and ledger), its author decides,
    who is another one than gitbot's account on the forge.
    """
    if head in record.commits:
        return True
    try:
        return shell.repository.commit(head).author == OWN_AUTHOR
    except RepositoryError:
        return False  # Git refuses what somebody pushed


def push_new(
    shell: RunContext, *, branch: str, base: str, files: Mapping[str, bytes | None], message: str
) -> tuple[str, str]:
    """Put files onto a new branch from `base`: its head; else "" and what is in its way.

    Anybody who may push can be in the way of one branch: the others, and what is approved, go on.
    What an earlier run left over is replaced.
    """
    try:
        left = shell.repository.resolve(branch)
        if left is not None and not is_own_head(shell, left, ConcernRecord(concern="")):
            return "", f"branch {branch} holds somebody's commits: remove it"
        if left is not None:
            shell.repository.delete_branch(branch, expected=left)
        head = shell.repository.write_commit(
            branch=branch,
            expected=None,
            files=files,
            message=message,
            time=shell.clock.now(),
            parents=(base,),
        )
    except (ConflictError, UnreachableError):
        raise
    except RepositoryError as error:
        return "", str(error)
    return head, ""


def remove_branch(shell: RunContext, branch: str, record: ConcernRecord) -> None:
    """Remove a finished branch, unless somebody else pushed to it."""
    try:
        head = shell.repository.resolve(branch)
    except RepositoryError:
        return
    if head is not None and is_own_head(shell, head, record):
        shell.repository.delete_branch(branch, expected=head)
