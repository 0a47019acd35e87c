"""A run of propose, and the pull request of one concern: opened, renewed, repaired."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from gitbot.execution.state import ConcernRecord, fold_concern
from gitbot.intents import proposal_file
from gitbot.model.ledger import Entry, concern_file
from gitbot.ports.forge import PullRequest
from gitbot.workflows.approvals import concern_branch, file_digest, is_as_written
from gitbot.workflows.base import GitBase
from gitbot.workflows.branches import is_own_head, push_files
from gitbot.workflows.concerns import Concern, Scene
from gitbot.workflows.journal import Journal
from gitbot.workflows.proposal import ConcernReport, body_of, file_of, proposal_in, title_of
from gitbot.workflows.review import Review
from gitbot.workflows.shell import Shell
from gitbot.workflows.shown import is_shown, labels_of, show_checks, show_proposal

RENEW = 4  # a proposal is renewed when less than this share (1/4) of its life is left


@dataclass(slots=True, kw_only=True)
class Run:
    """What one run of propose knows: the journal grows, pull requests open and close."""

    shell: Shell
    base: GitBase
    journal: Journal
    scene: Scene
    open_pulls: dict[str, PullRequest]

    @property
    def now(self) -> int:
        """The moment of the look, in seconds UTC."""
        return self.scene.now

    def record(self, concern: str) -> ConcernRecord:
        """What the ledger knows of a concern by now."""
        cluster = self.shell.cluster_name
        return fold_concern(self.journal.seen, cluster=cluster, concern=concern)

    def note(self, concern: str, state: str, **fields: object) -> None:
        """Say something of a concern in the ledger."""
        cluster = self.shell.cluster_name
        known: dict[str, object] = {
            "file": concern_file(cluster, concern),
            "time": self.now,
            "cluster": cluster,
            "state": state,
        }
        self.journal.note(Entry(**{**known, **fields}))  # type: ignore[arg-type]


def approve_alone(run: Run, concern: Concern, review: Review) -> ConcernReport:
    """heal: Auto, returnHome: Auto, reapprove: WithinPolicy, approval: Intent."""
    run.journal.commit(
        (
            Entry(
                file=concern_file(run.shell.cluster_name, concern.name),
                time=run.now,
                cluster=run.shell.cluster_name,
                state="auto",
                digest=review.digest,
                commit=run.base.commit,
                reason=concern.why,
            ),
        ),
        {review.digest: review.file},
    )
    return ConcernReport(concern=concern.name, action="auto", digest=review.digest)


def open_proposal(run: Run, concern: Concern, review: Review) -> ConcernReport:
    """Open the pull request of a concern, with the plan that merging it approves."""
    shell = run.shell
    text = file_of(concern, review)
    head = push_files(
        shell,
        branch=concern_branch(shell.cluster_name, concern.name),
        base=run.base.commit,
        files={proposal_file(shell.cluster_name, concern.name): text},
        message=title_of(concern, review),
    )
    _remember(run, concern, review, head, text)
    pull = shell.forge.open_pull(
        branch=concern_branch(shell.cluster_name, concern.name),
        base_branch=shell.base_branch,
        title=title_of(concern, review),
        body=body_of(concern),
        labels=("gitbot", *sorted(labels_of(concern.name, changed=False))),
    )
    run.note(concern.name, "opened", digest=review.digest, pull_request=pull.number)
    run.open_pulls[concern.name] = pull
    _show(run, concern.name, pull, head, review)
    shell.say(f"pull request {pull.number} opened: {title_of(concern, review)}")
    return ConcernReport(
        concern=concern.name, action="opened", pull_request=pull.number, digest=review.digest
    )


def _remember(run: Run, concern: Concern, review: Review, head: str, text: bytes) -> None:
    """The plan, pushed head and file, before anybody can merge what is not in the ledger."""
    entry = Entry(
        file=concern_file(run.shell.cluster_name, concern.name),
        time=run.now,
        cluster=run.shell.cluster_name,
        state="proposed",
        digest=review.digest,
        commit=head,
        reason=concern.why,
        data={"file": file_digest(text)},
    )
    run.journal.commit((entry,), {review.digest: review.file})


def update_proposal(
    run: Run, concern: Concern, review: Review, pull: PullRequest, record: ConcernRecord
) -> ConcernReport:
    """Renew an open pull request where its plan changed or runs out; else leave it quiet."""
    known = ConcernReport(
        concern=concern.name,
        action="unchanged",
        pull_request=pull.number,
        digest=review.digest,
    )
    shown = proposal_in(run.shell, pull.head, concern.name)
    due = _is_due(run, shown)
    written = is_as_written(run.shell, run.journal.seen, pull.head, concern.name)
    if shown.get("digest") == review.digest and not due and written:
        return replace(known, reason=_repair(run, pull, review, record))
    if not is_own_head(run.shell, pull.head, record):
        return replace(known, reason="somebody pushed to its branch: gitbot leaves it alone")
    text = file_of(concern, review)
    head = push_files(
        run.shell,
        branch=pull.branch,
        base=run.base.commit,
        files={proposal_file(run.shell.cluster_name, concern.name): text},
        message=title_of(concern, review),
        expected=pull.head,
    )
    _remember(run, concern, review, head, text)
    if not record.pull_request or record.pull_request != pull.number:
        run.note(concern.name, "opened", digest=review.digest, pull_request=pull.number)
    run.shell.forge.edit_pull(pull.number, title=title_of(concern, review), body=body_of(concern))
    _show(run, concern.name, pull, head, review)
    return replace(known, action="renewed" if shown.get("digest") == review.digest else "updated")


def _repair(run: Run, pull: PullRequest, review: Review, record: ConcernRecord) -> str:
    """What an earlier run that died may have left undone: the number, the comment."""
    if record.pull_request != pull.number:
        run.note(_concern_of(run, pull), "opened", digest=review.digest, pull_request=pull.number)
    if is_shown(run.shell, pull):
        show_checks(run.shell, pull.head, review)
    else:
        _show(run, _concern_of(run, pull), pull, pull.head, review)
    return ""


def _show(run: Run, concern: str, pull: PullRequest, head: str, review: Review) -> None:
    ledger = run.journal.seen
    show_proposal(run.shell, ledger, concern=concern, pull=pull, head=head, review=review)


def _concern_of(run: Run, pull: PullRequest) -> str:
    """The concern of a pull request of the bot."""
    return pull.branch.removeprefix(concern_branch(run.shell.cluster_name, ""))


def _is_due(run: Run, shown: Mapping[str, str]) -> bool:
    """Whether the file's time to be merged runs out soon."""
    expires = int(shown.get("expires", "0"))
    return expires - run.now < run.base.settings.plan_expiry // RENEW
