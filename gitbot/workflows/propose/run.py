"""Propose: one quiet pull request for each concern; merging it approves its plan."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial

from gitbot.calendar import format_duration
from gitbot.errors import LedgerError, LimitExceeded
from gitbot.execution.ledger_folds import (
    ConcernRecord,
    concerns_of,
    fold_concern,
    unknown_events_reason,
)
from gitbot.execution.request_records import RequestRecord, last_moved
from gitbot.intents import (
    Intent,
    MigrationRequestSpec,
    PlacementProposalSpec,
    needs_of,
    proposal_file,
)
from gitbot.intents.compile import request_id
from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.model.ledger.events import ConcernChanged, ConcernState
from gitbot.model.ledger.request_id import (
    DrainId,
    HealId,
    MigrationRequestId,
    RequestId,
    ReturnId,
    parse_request_id,
)
from gitbot.model.plan.findings import Finding, Severity
from gitbot.model.text.canonical import digest
from gitbot.model.text.instants import format_instant
from gitbot.planner import is_answer, unplanned
from gitbot.ports.forge import PullRequest, PullState
from gitbot.workflows.approval.base_history import is_part_of
from gitbot.workflows.approval.known_requests import NotPlanned
from gitbot.workflows.approval.owner_approvals import CurrentClusterFacts, owners_at
from gitbot.workflows.approval.read_approvals import concern_branch, read_proposal
from gitbot.workflows.core.context import RunContext
from gitbot.workflows.core.judged_plan import CheckResult, JudgedPlan, fault_findings
from gitbot.workflows.core.rights import asked_once, rights_judged
from gitbot.workflows.core.stop_conditions import LedgerStop
from gitbot.workflows.current_state import CurrentState, missing_nodes, read_current_state
from gitbot.workflows.ledger.anchor import Anchor
from gitbot.workflows.ledger.kept_plans import no_room
from gitbot.workflows.ledger.writer import Journal
from gitbot.workflows.propose.concerns import (
    Concern,
    ConcernSources,
    breaches_of,
    drains,
    ended_at,
    ended_windows,
    find_concerns,
    heals_of_intents,
    requests,
    unplannable_requests,
)
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
    push_new,
    remove_branch,
    update_proposal,
)

__all__ = ["ConcernReport", "ProposeResult", "propose"]

TIDY = "tidy"
DAY = 86_400
WEEK = 7 * DAY  # seconds for which a finished request keeps its file
GONE_DRAIN = (
    "its window is over, was removed, or has no VM to move; nobody merged it: nothing moved"
)
PLANNED_AGAIN = 3_600  # seconds until a concern is planned again that took too long


def propose(
    shell: RunContext, *, snapshot: ClusterSnapshot | None = None, anchor: Anchor | None = None
) -> ProposeResult:
    """Open, renew and close the bot's pull requests; writes nothing twice.

    `snapshot` and `anchor` were read earlier in the same pass.
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
    reports += _tidy(run)
    reports += _close_gone(run, {concern.name for concern in concerns})
    run.journal.commit(())
    entries, may_start = run.journal.written, run.may_start
    return ProposeResult(concerns=tuple(reports), entries=entries, may_start=may_start)


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


# Tidying away


def _tidy(run: ProposeRun) -> list[ConcernReport]:
    """Once a week, a pull request that removes the files of finished requests."""
    busy = {proposal_file(run.shell.cluster_name, name) for name in run.open_pulls}
    files = [file for file in finished_files(run.sources) if file not in busy]
    identity = digest(files)
    record = run.record(TIDY)
    if TIDY in run.open_pulls or not files or identity in record.closed:
        return []
    shell = run.shell
    branch = concern_branch(shell.cluster_name, TIDY)
    if run.now - record.opened_at < WEEK:
        return []
    title = f"tidy: remove {len(files)} finished files"
    gone = dict.fromkeys(files)
    head, reason = push_new(shell, branch=branch, base=run.base.commit, files=gone, message=title)
    if not head:
        return [ConcernReport(concern=TIDY, action=Did.WAITING, reason=reason)]
    run.journal.note(run.event(TIDY, ConcernState.PROPOSED, digest=identity, commit=head))
    pull = shell.forge.open_pull(
        branch=branch,
        base_branch=shell.base_branch,
        title=title,
        body="What these files asked for is done. Removing them has no effect.\n",
        labels=("gitbot",),
    )
    run.note(TIDY, ConcernState.OPENED, pull, digest=identity)
    return [
        ConcernReport(concern=TIDY, action=Did.OPENED, pull_request=pull.number, digest=identity)
    ]


def finished_files(sources: ConcernSources) -> tuple[str, ...]:
    """Sorted paths of files whose documents have all been finished for at least a week."""
    done: dict[str, bool] = {}
    used = {spec.window for _, spec in sources.base.intents.migration_requests}
    for intent in sources.base.intents.intents:
        ended = ended_at(sources, intent) if intent.ref.name not in used else None
        over = _is_over(intent, sources.records, sources.now)
        over = over or (ended is not None and sources.now - ended >= WEEK)
        over = over and not sources.base.revision.has_broken(intent.ref.file)
        done[intent.ref.file] = done.get(intent.ref.file, True) and over
    return tuple(sorted(file for file, over in done.items() if over and file))


def _is_over(intent: Intent, records: Mapping[RequestId, RequestRecord], now: int) -> bool:
    spec = intent.spec
    if isinstance(spec, MigrationRequestSpec):
        name: RequestId | None = request_id(intent)
    elif isinstance(spec, PlacementProposalSpec):
        planned = parse_request_id(spec.request)
        name = planned.approved(spec.digest) if planned is not None else None
    else:
        return False
    record = records.get(name) if name is not None else None
    if record is None or not record.finished:
        return False
    return now - (record.changed_at or now) >= WEEK


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
    refusal = no_plan(judged) or _cooldown_reason(run, concern, judged)
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
    wait = _flapping_reason(run, concern, record)
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


# Damping


def _flapping_reason(run: ProposeRun, concern: Concern, record: ConcernRecord) -> str:
    """Why no pull request opens for a healing yet: there is one a day. "" if one may.

    A Required rule waits only if its breach went by itself, and so comes and goes.
    """
    went = record.gone and record.ended == ConcernState.WITHDRAWN
    again = record.opened_at + DAY
    flaps = went or (concern.soft and bool(record.ended))
    if not isinstance(concern.goal.request.id, HealId) or not flaps or run.now >= again:
        return ""
    last = f"pull request {record.pull_request} of {format_instant(record.opened_at)} was for it"
    return f"{last}; the next comes after {format_instant(again)}"


def _cooldown_reason(run: ProposeRun, concern: Concern, judged: JudgedPlan) -> str:
    """Which VM gitbot moved within the cooldown; "" if none, or something Required is broken."""
    if not concern.soft:
        return ""
    moved = last_moved(run.sources.records.values())
    since = run.now - run.base.settings.proposals.per_vm_cooldown
    vms = sorted(move.vm.namespaced_name for move in judged.plan.moves)
    found = [vm for vm in vms if vm in moved and moved[vm] > since]
    return f"{found[0]} was moved lately, and nothing Required is broken" if found else ""


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


def not_planned(
    shell: RunContext, seen: CurrentState, pulls: tuple[PullRequest, ...]
) -> tuple[NotPlanned, ...]:
    """Requests and open drains without an approved plan and without an open pull request.

    A drain that can be planned and has a schedule is left to the next openings.
    """
    sources = ConcernSources.of(seen)
    found = [
        NotPlanned(request=request, reason=f"there is no plan: {why}")
        for request, why in (unplannable_requests(sources) | ended_windows(sources)).values()
    ]
    branches = {pull.branch for pull in pulls}
    found += _not_planned_in_time(sources)
    for concern in (*drains(sources), *requests(sources)):
        record = fold_concern(seen.ledger, cluster=shell.cluster_name, concern=concern.name)
        if record.no_plan or concern_branch(shell.cluster_name, concern.name) in branches:
            continue
        try:
            judged = judge_concern(seen.base, sources, concern, shell.plan_soon)
        except LimitExceeded as error:
            found.append(NotPlanned(request=concern.goal.request.id, reason=error.message))
            continue
        reason = no_plan(judged)
        command = _explain(concern.goal.request.id) if reason else ""
        if not reason and judged.digest in record.closed:
            reason = "its plan was closed without a merge"
        elif not reason and concern.opening:
            continue
        elif not reason:
            reason, command = "no plan for it is approved", "gitbot propose"
        still = seen.standstill
        if still is not None and not still.healthy:  # a plan made now would say nothing
            command = still.next_command
        found.append(
            NotPlanned(request=concern.goal.request.id, reason=reason, next_command=command)
        )
    return tuple(sorted(found, key=lambda item: item.request))


def unhealed(
    shell: RunContext, seen: CurrentState, pulls: tuple[PullRequest, ...]
) -> tuple[NotPlanned, ...]:
    """Broken rules that gitbot heals and whose healing nobody can merge yet, and why."""
    sources, branches = ConcernSources.of(seen), {pull.branch for pull in pulls}
    found = []
    for concern in heals_of_intents(sources):
        if concern_branch(shell.cluster_name, concern.name) in branches:
            continue
        record = fold_concern(seen.ledger, cluster=shell.cluster_name, concern=concern.name)
        same = record.observation == concern.observation
        left = concern.stabilize - (seen.now - record.observed_since if same else 0)
        then, command = "gitbot proposes its healing in the next pass", "gitbot propose"
        if record.opened:
            then = f"pull request {record.pull_request}, which heals it, is no longer open"
        elif record.closed and record.ended == "closed":
            then, command = "its healing was closed without a merge", "gitbot plan"
        elif record.no_plan:
            then, command = f"there is no plan: {record.no_plan}", "gitbot plan"
        elif left > 0:
            told = format_duration(left)
            then, command = f"gitbot proposes its healing if that lasts {told} more", "gitbot plan"
        elif why := _why_no_plan(shell, seen, sources, concern):
            then, command = why, "gitbot plan"
        broken = breaches_of(sources, concern.intent, required=not concern.soft)[0].message
        found.append(
            NotPlanned(
                request=concern.goal.request.id, reason=f"{broken}; {then}", next_command=command
            )
        )
    return tuple(found)


def _why_no_plan(
    shell: RunContext, seen: CurrentState, sources: ConcernSources, concern: Concern
) -> str:
    """Why `gitbot propose` finds no plan now; "" if it finds one."""
    try:
        return no_plan(judge_concern(seen.base, sources, concern, shell.plan_soon))
    except LimitExceeded as error:
        return error.message


def unproposed(
    shell: RunContext, seen: CurrentState, pulls: tuple[PullRequest, ...]
) -> frozenset[RequestId]:
    """Planned ids of the concerns that have no open pull request, and that time was no limit for.

    `gitbot propose` plans them.
    """
    branches, cluster = {pull.branch for pull in pulls}, shell.cluster_name
    return frozenset(
        item.goal.request.id.planned
        for item in find_concerns(ConcernSources.of(seen))
        if concern_branch(cluster, item.name) not in branches
        and not fold_concern(seen.ledger, cluster=cluster, concern=item.name).no_plan
    )


def check_proposal(shell: RunContext, pull: PullRequest) -> CheckResult:
    """The check of gitbot's own open pull request: its plan as gitbot would make it now."""
    ledger = shell.ledger_store.read()
    sources = ConcernSources.of(read_current_state(shell, ledger))
    name = pull.branch.removeprefix(concern_branch(shell.cluster_name, ""))
    file = proposal_file(shell.cluster_name, name)
    concern = next((item for item in find_concerns(sources) if item.name == name), None)
    if concern is None:
        return CheckResult(findings=(_outdated("nothing calls for it any more", file),))
    judged = judge_concern(sources.base, sources, concern, shell.plan)
    shell.repository.fetch_commit(pull.head)
    shown = read_proposal(shell, ledger, pull.head, name)
    if shown is None or shown.digest != judged.digest:
        found = _outdated("the plan below differs from its file", file)
        diff = replace(judged.diff, findings=(found, *judged.diff.findings))
        judged = replace(judged, findings=(found, *judged.findings), diff=diff)
    return CheckResult(
        findings=judged.findings,
        judged=judged,
        problem=sources.problem,
        revision=sources.base.revision,
        cluster=shell.cluster_name,
    )


def _outdated(message: str, file: str) -> Finding:
    return Finding(
        code="check/proposal-outdated",
        severity=Severity.WARNING,
        message=f"this pull request of gitbot is outdated: {message}",
        file=file,
        hint="gitbot propose renews or closes it",
    )


def _not_planned_in_time(sources: ConcernSources) -> Iterator[NotPlanned]:
    """The concerns that the last pass could not plan in time, whatever they are about."""
    ledger, cluster = sources.ledger, sources.cluster
    late = {
        name: record.no_plan
        for name in concerns_of(ledger, cluster)
        if (record := fold_concern(ledger, cluster=cluster, concern=name)).no_plan
    }
    for concern in find_concerns(sources) if late else ():
        if concern.name in late:
            yield NotPlanned(request=concern.goal.request.id, reason=late[concern.name])


def _explain(request: RequestId) -> str:
    """The command that shows why a request or drain cannot be planned."""
    match request:
        case MigrationRequestId():
            return f"gitbot explain --request {request.namespace}/{request.name}"
        case DrainId(occurrence=occurrence):
            return f"gitbot explain --window {occurrence.window}"
        case _:
            return ""
