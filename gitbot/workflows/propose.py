"""Propose: one quiet pull request for each concern, with the plan that merging it approves."""

from __future__ import annotations

from dataclasses import replace

from gitbot.errors import Bug
from gitbot.execution.requests import fold_requests
from gitbot.execution.state import concerns_of
from gitbot.model.canonical import digest
from gitbot.model.cluster import ClusterSnapshot
from gitbot.ports.forge import PullRequest, PullState
from gitbot.workflows.approvals import concern_branch
from gitbot.workflows.base import GitBase
from gitbot.workflows.branches import is_own_head, push_files, remove_branch
from gitbot.workflows.concerns import (
    Concern,
    Scene,
    find_concerns,
    in_cooldown,
    meaningless,
)
from gitbot.workflows.journal import Journal
from gitbot.workflows.look import look
from gitbot.workflows.proposal import (
    ConcernReport,
    ProposeResult,
    is_unplanned,
    no_plan,
    review_concern,
)
from gitbot.workflows.proposing import Run, approve_alone, open_proposal, update_proposal
from gitbot.workflows.review import Review
from gitbot.workflows.shell import Shell
from gitbot.workflows.tidy import WEEK, finished_files

__all__ = ["ConcernReport", "ProposeResult", "propose"]

TIDY = "tidy"


def propose(shell: Shell, *, snapshot: ClusterSnapshot | None = None) -> ProposeResult:
    """Open, renew and close the bot's pull requests; nothing is said twice."""
    run = _begin(shell, snapshot)
    reports = _follow_up(run)
    concerns = find_concerns(run.scene)
    reports += [_handle(run, concern) for concern in concerns]
    reports += _meaningless(run)
    reports += _tidy(run)
    reports += _close_gone(run, {concern.name for concern in concerns})
    run.journal.commit(())
    return ProposeResult(concerns=tuple(reports), entries=run.journal.written)


def _meaningless(run: Run) -> list[ConcernReport]:
    records = dict(fold_requests(run.scene.ledger, run.scene.cluster))
    return [
        ConcernReport(
            concern=name, action="nothing", reason=f"there is no plan: {why}", unplanned=True
        )
        for name, (_, why) in sorted(meaningless(run.scene, records).items())
    ]


def _begin(shell: Shell, snapshot: ClusterSnapshot | None) -> Run:
    journal = Journal(shell.ledger_store, shell.clock)
    ledger = journal.read()
    seen = look(shell, ledger, snapshot=snapshot)
    if not isinstance(seen.base, GitBase):
        raise Bug("BUG: proposals need the whole base branch")
    scene = Scene(
        base=seen.base,
        ledger=ledger,
        approved=seen.approvals.approved,
        stale=seen.steps.stale,
        problem=seen.problem,
        now=seen.now,
    )
    prefix = concern_branch(shell.cluster_name, "")
    pulls = {
        pull.branch.removeprefix(prefix): pull
        for pull in shell.forge.list_pulls(state=PullState.OPEN)
        if pull.author == shell.forge.bot and pull.branch.startswith(prefix)
    }
    return Run(shell=shell, base=seen.base, journal=journal, scene=scene, open_pulls=pulls)


# What became of earlier pull requests


def _follow_up(run: Run) -> list[ConcernReport]:
    reports = []
    for name in concerns_of(run.journal.seen, run.shell.cluster_name):
        record = run.record(name)
        if not record.opened or not record.pull_request or name in run.open_pulls:
            continue
        pull = run.shell.forge.get_pull(record.pull_request)
        if pull.state is PullState.MERGED:
            run.note(name, "merged", digest=record.opened, pull_request=pull.number)
            remove_branch(run.shell, pull.branch, record)
        elif pull.state is PullState.CLOSED:
            run.note(name, "closed", digest=record.opened, pull_request=pull.number)
            remove_branch(run.shell, pull.branch, record)
            reports.append(
                ConcernReport(
                    concern=name,
                    action="silent",
                    reason="its pull request was closed without a merge",
                    pull_request=pull.number,
                    digest=record.opened,
                )
            )
    return reports


def _close_gone(run: Run, standing: set[str]) -> list[ConcernReport]:
    reports = []
    for name, pull in sorted(run.open_pulls.items()):
        if name not in standing and name != TIDY:
            reports.append(_close(run, name, pull, "its concern is gone"))
    for name in concerns_of(run.journal.seen, run.shell.cluster_name):
        if name not in standing and name != TIDY and run.record(name).observation:
            run.note(name, "gone")
    return reports


def _close(run: Run, name: str, pull: PullRequest, reason: str) -> ConcernReport:
    record = run.record(name)
    if not is_own_head(run.shell, pull.head, record):
        reason = f"{reason}, but somebody pushed to its branch: it is left open"
        return ConcernReport(
            concern=name, action="unchanged", reason=reason, pull_request=pull.number
        )
    run.shell.forge.close_pull(pull.number)
    remove_branch(run.shell, pull.branch, record)
    run.note(name, "withdrawn", pull_request=pull.number, reason=reason)
    del run.open_pulls[name]
    return ConcernReport(concern=name, action="closed", reason=reason, pull_request=pull.number)


# Tidying away


def _tidy(run: Run) -> list[ConcernReport]:
    """Once a week a pull request that removes files of which nothing is left to do."""
    files = finished_files(run.scene)
    identity = digest(list(files))
    record = run.record(TIDY)
    if TIDY in run.open_pulls or not files or identity in record.closed:
        return []
    if run.now - record.opened_at < WEEK:
        return []
    shell = run.shell
    title = f"tidy: remove {len(files)} finished files"
    head = push_files(
        shell,
        branch=concern_branch(shell.cluster_name, TIDY),
        base=run.base.commit,
        files=dict.fromkeys(files),
        message=title,
    )
    run.note(TIDY, "proposed", digest=identity, commit=head)
    pull = shell.forge.open_pull(
        branch=concern_branch(shell.cluster_name, TIDY),
        base_branch=shell.base_branch,
        title=title,
        body="What these files asked for is done for ever. Removing them has no effect.\n",
        labels=("gitbot",),
    )
    run.note(TIDY, "opened", digest=identity, pull_request=pull.number)
    return [ConcernReport(concern=TIDY, action="opened", pull_request=pull.number, digest=identity)]


# One concern


def _handle(run: Run, concern: Concern) -> ConcernReport:
    record = run.record(concern.name)
    if record.observation != concern.observation:
        run.note(concern.name, "observed", digest=concern.observation, reason=concern.why)
        record = run.record(concern.name)
    pull = run.open_pulls.get(concern.name)
    since = run.now - record.observed_since
    if pull is None and since < concern.stabilize:
        reason = f"seen for {since} s, proposed after {concern.stabilize} s"
        return ConcernReport(concern=concern.name, action="waiting", reason=reason)
    review = review_concern(run.base, run.scene, concern)
    refusal = _refusal(run, concern, review)
    if refusal:
        if pull is not None:
            closed = _close(run, concern.name, pull, refusal)
            return replace(closed, unplanned=is_unplanned(concern, review))
        return ConcernReport(
            concern=concern.name,
            action="nothing",
            reason=refusal,
            unplanned=is_unplanned(concern, review),
        )
    if concern.auto:
        return approve_alone(run, concern, review)
    if pull is not None:
        return update_proposal(run, concern, review, pull, record)
    if review.digest in record.closed:
        reason = "this very plan was closed without a merge"
        return ConcernReport(
            concern=concern.name, action="silent", reason=reason, digest=review.digest
        )
    if len(run.open_pulls) >= run.base.settings.proposals.max_open:
        reason = f"{len(run.open_pulls)} pull requests are open (maxOpen)"
        return ConcernReport(concern=concern.name, action="waiting", reason=reason)
    return open_proposal(run, concern, review)


def _refusal(run: Run, concern: Concern, review: Review) -> str:
    refused = no_plan(review)
    if refused:
        return refused
    if concern.soft:
        records = dict(fold_requests(run.scene.ledger, run.scene.cluster))
        cooling = in_cooldown(
            records,
            [move.vm.namespaced_name for move in review.plan.moves],
            now=run.now,
            seconds=run.base.settings.proposals.per_vm_cooldown,
        )
        if cooling:
            return f"{cooling[0]} was moved lately, and nothing Required is broken"
    return ""
