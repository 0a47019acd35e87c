"""Propose: one quiet pull request for each concern; merging it approves its plan."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial

from gitbot.errors import LedgerError, LimitExceeded
from gitbot.execution.ledger_folds import ConcernRecord, concerns_of, unknown_events_reason
from gitbot.intents import needs_of
from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.model.ledger.events import ConcernChanged, ConcernState
from gitbot.model.ledger.request_id import DrainId, RequestId, ReturnId
from gitbot.planner import is_answer, unplanned
from gitbot.ports.forge import PullRequest, PullState
from gitbot.workflows.approval.base_history import is_part_of
from gitbot.workflows.approval.owner_approvals import CurrentClusterFacts, owners_at
from gitbot.workflows.approval.read_approvals import concern_branch
from gitbot.workflows.core.context import RunContext
from gitbot.workflows.core.judged_plan import JudgedPlan, fault_findings
from gitbot.workflows.core.rights import asked_once, rights_judged
from gitbot.workflows.core.stop_conditions import LedgerStop
from gitbot.workflows.current_state import CurrentState, missing_nodes, read_current_state
from gitbot.workflows.ledger.anchor import Anchor
from gitbot.workflows.ledger.kept_plans import no_room
from gitbot.workflows.ledger.writer import Journal
from gitbot.workflows.propose.away_from_home import vms_away
from gitbot.workflows.propose.concerns import (
    Concern,
    ConcernSources,
    ended_windows,
    find_concerns,
    unplannable_requests,
)
from gitbot.workflows.propose.damping import cooldown_reason, flapping_reason
from gitbot.workflows.propose.proposal import (
    ConcernReport,
    Did,
    ProposeResult,
    is_unplanned,
    judge_concern,
    no_plan,
)
from gitbot.workflows.propose.proposal_pull import (
    ProposeRun,
    auto_approve,
    can_merge,
    is_own_head,
    open_proposal,
    remove_branch,
    update_proposal,
)
from gitbot.workflows.propose.tidy import TIDY, tidy

__all__ = ["ConcernReport", "PassView", "ProposeResult", "propose"]

GONE_DRAIN = (
    "its window is over, was removed, or has no VM to move; nobody merged it: nothing moved"
)
PLANNED_AGAIN = 3_600  # seconds until a concern is planned again that took too long


@dataclass(frozen=True, slots=True, kw_only=True)
class PassView:
    """What a run of propose saw, and what it said of each request that it may plan."""

    seen: CurrentState
    reasons: Mapping[RequestId, str]


def propose(
    shell: RunContext,
    *,
    snapshot: ClusterSnapshot | None = None,
    anchor: Anchor | None = None,
    on_view: Callable[[PassView], None] | None = None,
) -> ProposeResult:
    """Open, renew and close the bot's pull requests; writes nothing twice.

    `snapshot` and `anchor` were read earlier in the same pass. `on_view` gets what it saw, with the
    ledger that it left behind.
    """
    run = _begin(shell, snapshot, anchor)
    newer = unknown_events_reason(run.sources.ledger, shell.cluster_name)
    if newer:
        shell.say(f"nothing is proposed: {newer}")
        return ProposeResult(concerns=())
    reports = _follow_up(run)
    late = {report.concern for report in reports if report.action is Did.WAITING}
    concerns = find_concerns(run.sources)
    reports += [_process_concern(run, concern) for concern in concerns if concern.name not in late]
    reports += _meaningless(run)
    reports += tidy(run)
    reports += _close_gone(run, {concern.name for concern in concerns})
    run.journal.commit(())
    if on_view is not None:
        said = {report.concern: report.reason for report in reports}
        reasons = {item.goal.request.id: said.get(item.name, "") for item in concerns}
        on_view(PassView(seen=replace(run.state, ledger=run.journal.ledger), reasons=reasons))
    entries, may_start = run.journal.written, run.may_start
    return ProposeResult(
        concerns=tuple(reports),
        entries=entries,
        may_start=may_start,
        away=len(vms_away(run.sources)),
    )


def _meaningless(run: ProposeRun) -> list[ConcernReport]:
    return (
        [
            ConcernReport(
                concern=name, action=Did.NOTHING, reason=f"there is no plan: {why}", unplanned=True
            )
            for name, (_, why) in sorted(unplannable_requests(run.sources).items())
        ]
        + [
            ConcernReport(concern=name, action=Did.NOTHING, reason=f"there is no plan: {why}")
            for name, (_, why) in sorted(ended_windows(run.sources).items())
        ]
        + [
            ConcernReport(
                concern=f"window-{intent.ref.name}",
                action=Did.NOTHING,
                reason=f"{gone}: {intent.ref.where}",
            )
            for intent, _ in run.base.intents.maintenance_windows
            if (gone := missing_nodes(intent, run.sources.problem.snapshot))
            and run.base.opening(intent, now=run.sources.now) is not None
        ]
    )


def _begin(
    shell: RunContext, snapshot: ClusterSnapshot | None, anchor: Anchor | None
) -> ProposeRun:
    journal = Journal(shell.ledger_store, shell.clock)
    ledger = journal.read(again=snapshot is None)  # a caller with a snapshot has just read it
    seen = read_current_state(shell, ledger, snapshot=snapshot, anchor=anchor)
    if isinstance(seen.stop, LedgerStop):  # what it lost would be proposed once more
        raise LedgerError(str(seen.stop))
    sources = ConcernSources.of(seen)
    prefix = concern_branch(shell.cluster_name, "")
    pulls = {
        pull.branch.removeprefix(prefix): pull
        for pull in shell.own_pulls()
        if pull.branch.startswith(prefix)
    }
    return ProposeRun(
        shell=shell,
        base=sources.base,
        journal=journal,
        state=seen,
        sources=sources,
        open_pulls=pulls,
        missing=asked_once(shell.cluster.missing),
        may_start=not seen.stop,
    )


# What became of earlier pull requests


def _follow_up(run: ProposeRun) -> list[ConcernReport]:
    reports = []
    for name in concerns_of(run.journal.seen, run.shell.cluster_name):
        record = run.record(name)
        if not record.opened or not record.pull_request or name in run.open_pulls:
            continue
        pull = run.shell.forge.get_pull(record.pull_request)
        if pull.state is PullState.OPEN and pull.branch == concern_branch(
            run.shell.cluster_name, name
        ):
            run.open_pulls[name] = pull  # the forge does not list it yet
        elif pull.state is PullState.MERGED:
            run.note(name, ConcernState.MERGED, pull, digest=record.opened)
            remove_branch(run.shell, pull.branch, record)
            if not is_part_of(run.shell, pull.merge_commit, run.base.commit):
                why = (
                    f"pull request {pull.number} was merged after {run.shell.base_branch} was read"
                )
                reports.append(ConcernReport(concern=name, action=Did.WAITING, reason=why))
        elif pull.state is PullState.CLOSED:
            run.note(name, ConcernState.CLOSED, pull, digest=record.opened)
            remove_branch(run.shell, pull.branch, record)
            reports.append(
                ConcernReport(
                    concern=name,
                    action=Did.SILENT,
                    reason="its pull request was closed without a merge",
                    pull_request=pull.number,
                    digest=record.opened,
                )
            )
    return reports


def _close_gone(run: ProposeRun, standing: set[str]) -> list[ConcernReport]:
    reports = []
    for name, pull in sorted(run.open_pulls.items()):
        if name not in standing and name != TIDY:
            reports.append(
                _close(
                    run,
                    name,
                    pull,
                    GONE_DRAIN if name.startswith("drain-") else "its concern is gone",
                )
            )
    for name in concerns_of(run.journal.seen, run.shell.cluster_name):
        if name not in standing and name != TIDY and run.record(name).observation:
            run.journal.note(run.event(name, ConcernState.GONE))
    return reports


def _close(run: ProposeRun, name: str, pull: PullRequest, reason: str) -> ConcernReport:
    record = run.record(name)
    if not is_own_head(run.shell, pull.head, record):
        reason = f"{reason}, but somebody pushed to its branch: it is left open"
        return ConcernReport(
            concern=name, action=Did.UNCHANGED, reason=reason, pull_request=pull.number
        )
    run.shell.forge.close_pull(pull.number)
    remove_branch(run.shell, pull.branch, record)
    run.note(name, ConcernState.WITHDRAWN, pull, reason=reason)
    del run.open_pulls[name]
    return ConcernReport(concern=name, action=Did.CLOSED, reason=reason, pull_request=pull.number)


# One concern


def _observed(run: ProposeRun, concern: Concern) -> ConcernChanged:
    seen = concern.observation
    return run.event(concern.name, ConcernState.OBSERVED, digest=seen, reason=concern.why)


def _unplanned(run: ProposeRun, concern: Concern, reason: str) -> ConcernChanged:
    seen = concern.observation
    return run.event(concern.name, ConcernState.UNPLANNED, digest=seen, reason=reason)


def _not_in_time(concern: Concern, reason: str, since: int) -> ConcernReport:
    """A concern without a plan keeps its pull request, and does not delay the others."""
    again = f"{reason}; planned again in {PLANNED_AGAIN - since} s"
    return ConcernReport(concern=concern.name, action=Did.WAITING, reason=again, unsure=True)


def _judged(run: ProposeRun, concern: Concern) -> JudgedPlan | ConcernReport:
    """The plan of a concern; a report if it is too early, or if planning takes too long."""
    record = run.record(concern.name)
    if record.observation != concern.observation:
        run.journal.note(_observed(run, concern))
        record = run.record(concern.name)
    since = run.now - record.observed_since
    if record.no_plan and since < PLANNED_AGAIN:
        return _not_in_time(concern, record.no_plan, since)
    early = not record.no_plan and since < concern.stabilize
    if early and concern.name not in run.open_pulls:
        reason = f"seen for {since} s, proposed after {concern.stabilize} s"
        return ConcernReport(concern=concern.name, action=Did.WAITING, reason=reason)
    try:
        judged = judge_concern(run.base, run.sources, concern, run.shell.plan)
    except LimitExceeded as error:
        run.journal.note(_unplanned(run, concern, error.message))
        return _not_in_time(concern, error.message, 0)
    except Exception as error:
        if is_answer(error):
            raise
        fault = unplanned(run.sources.problem.snapshot, error)
        reason = fault_findings((fault,))[0].message
        return ConcernReport(
            concern=concern.name, action=Did.WAITING, reason=reason, faults=(fault,)
        )
    if record.no_plan:
        run.journal.note(_observed(run, concern))
    return rights_judged(run.missing, run.base.revision, judged)


def _process_concern(run: ProposeRun, concern: Concern) -> ConcernReport:
    stops = run.base.revision.stops(run.sources.problem.snapshot)
    if why := stops.of_intent(concern.intent) if stops is not None else "":
        return ConcernReport(concern=concern.name, action=Did.WAITING, reason=why)
    judged = _judged(run, concern)
    if isinstance(judged, ConcernReport):
        return judged
    return replace(_proposed(run, concern, judged), faults=judged.plan.faults)


def _proposed(run: ProposeRun, concern: Concern, judged: JudgedPlan) -> ConcernReport:
    said = partial(ConcernReport, concern=concern.name)
    pull, record = run.open_pulls.get(concern.name), run.record(concern.name)
    refusal = no_plan(judged) or cooldown_reason(run, concern, judged)
    if refusal and judged.plan.faults:  # says nothing of the concern: a pull request stays open
        return said(action=Did.WAITING, reason=refusal)
    if refusal:
        if pull is not None:
            closed = _close(run, concern.name, pull, refusal)
            return replace(closed, unplanned=is_unplanned(concern, judged))
        return said(action=Did.NOTHING, reason=refusal, unplanned=is_unplanned(concern, judged))
    # what gitbot planned around its own fault, a person looks at
    if concern.auto and not judged.plan.faults and not _owned(run, judged):
        return auto_approve(run, concern, judged)
    if pull is not None and (full := _no_room(run, judged)):
        return said(action=Did.WAITING, reason=full, unplanned=is_unplanned(concern, judged))
    if pull is not None and not can_merge(run, pull):
        closed = _close(run, concern.name, pull, f"it conflicts with {run.shell.base_branch}")
        if concern.name in run.open_pulls:
            return closed  # somebody pushed to it
        pull, record = None, run.record(concern.name)
    if pull is not None:
        return update_proposal(run, concern, judged, pull, record)
    return _why_later(run, concern, judged, record) or open_proposal(run, concern, judged)


def _why_later(
    run: ProposeRun, concern: Concern, judged: JudgedPlan, record: ConcernRecord
) -> ConcernReport | None:
    """Why no pull request opens for a plan now; None if one does."""
    said = partial(ConcernReport, concern=concern.name)
    if judged.digest in record.closed:
        reason = "this very plan was closed without a merge"
        return said(action=Did.SILENT, reason=reason, digest=judged.digest)
    wait = flapping_reason(run, concern, record)
    if wait:
        return said(action=Did.WAITING, reason=wait)
    if len(run.open_pulls) >= run.base.settings.proposals.max_open:
        reason = f"{len(run.open_pulls)} pull requests are open (maxOpen)"
        return said(action=Did.WAITING, reason=reason)
    if full := _no_room(run, judged):
        return said(action=Did.WAITING, reason=full, unplanned=is_unplanned(concern, judged))
    return None


def _no_room(run: ProposeRun, judged: JudgedPlan) -> str:
    known = run.journal.seen
    return "" if judged.digest in known.plans else no_room(known, run.now)


def _owned(run: ProposeRun, judged: JudgedPlan) -> bool:
    """Whether an owner must approve it first; then even what is Auto becomes a pull request.

    A way home, and what an approved drain needs again, rest on the drain's approval.
    """
    owners = owners_at(
        run.shell, run.base.commit, CurrentClusterFacts(shell=run.shell, settings=run.base.settings)
    )
    if owners is None or not owners.asks:
        return owners is None
    requests = {move.request for move in judged.plan.moves}
    return any(
        needs_of(owners, run.base.intents, request, judged.plan.moves)
        for request in requests
        if not isinstance(request, DrainId | ReturnId)
    )
