"""Status: what runs, what waits and for what, what failed, and the next command to type."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from gitbot.errors import ClusterError, UsageError
from gitbot.execution.admit_plans import can_admit, is_known
from gitbot.execution.executor_types import FORBIDDEN, Approved, Waiting
from gitbot.execution.ledger_folds import (
    begins_nodes_now,
    drains_without_moves,
    fold_nodes,
    window_as_merged,
)
from gitbot.execution.request_records import MoveRecord, RequestRecord, RequestState, fold_requests
from gitbot.kubernetes.names import NamespacedName
from gitbot.model.ledger.events import MoveState, NodeState
from gitbot.model.ledger.request_id import (
    DrainId,
    MigrationRequestId,
    OccurrenceId,
    RequestId,
    parse_request_id,
    request_called,
)
from gitbot.model.text.instants import format_instant
from gitbot.model.text.wording import nearest
from gitbot.ports.forge import PullRequest
from gitbot.workflows.approval.known_requests import NotPlanned
from gitbot.workflows.approval.read_approvals import concern_branch
from gitbot.workflows.ask.foreign_movers import NotedObject, lost_now, movers_beside
from gitbot.workflows.ask.maintenance import NodeStatus, maintenance
from gitbot.workflows.ask.next_openings import EMPTY, NextOpening, is_empty, next_openings
from gitbot.workflows.ask.open_pulls import changing_intents, concern_of, is_own, next_of_pulls
from gitbot.workflows.ask.policy_waivers import PolicyWaiver, exceptions
from gitbot.workflows.ask.stop_lines import stop_lines
from gitbot.workflows.ask.window_outlook import late_requests, unmerged
from gitbot.workflows.core.base_branch import ReadableBase, readable_base
from gitbot.workflows.core.broken_files import BrokenFile
from gitbot.workflows.core.context import RunContext
from gitbot.workflows.core.stop_conditions import (
    ENFORCE,
    LOOK_AT_BASE,
    Standstill,
    observe_mode_reason,
)
from gitbot.workflows.current_state import CurrentState, missing_nodes, read_current_state
from gitbot.workflows.propose import (
    Away,
    away_from_home,
    explain_command,
    not_planned,
    unhealed,
    unproposed,
)
from gitbot.workflows.pulls.next_step import merge_words

_FAILED = (RequestState.FAILED, RequestState.PARTIAL, RequestState.EXPIRED)
RECENT = 86_400  # seconds for which a finished request stays on the list


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveStatus:
    """One move, and what it waits for ("" if it does not wait); `until` in seconds UTC or 0."""

    record: MoveRecord
    waits: str = ""
    until: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestStatus:
    """One request with its moves, and the next command for a person ("" for none)."""

    record: RequestRecord
    moves: tuple[MoveStatus, ...]
    next_command: str = ""

    @property
    def section(self) -> str:
        """Where it stands on the page: running, waiting, held, failed or ended."""
        if self.record.finished:
            return "failed" if self.record.state in _FAILED else "ended"
        if any(move.record.in_flight for move in self.moves):
            return "running"
        if any(move.record.state is MoveState.HELD for move in self.moves):
            return "held"
        return "waiting"


@dataclass(frozen=True, slots=True, kw_only=True)
class NotApplied:
    """An approved request that the ledger does not have yet. Pull request 0: approved by policy."""

    pull_request: int
    request: RequestId
    next_command: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Unconsented:
    """A merged request that waits for the approval of owners: whose, and on which pull request."""

    pull_request: int
    request: RequestId
    waits: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusResult:
    """Everything that `gitbot status` shows. `refused` are merges that approved nothing.

    `pulls` are gitbot's own open pull requests, `people` those of people that change intents,
    `next_of_pulls` what to type or do for each of them next, by number.

    `broken` are the errors of the base branch; if there are any, the rest is shown with the intents
    of `commit`, the newest one without errors. `broken_files` stop only what their folders may act
    in.

    `not_applied` are approved, but no pass has taken them up yet; `not_planned` are requests of the
    base branch without an approved plan, and broken rules without a proposed healing. `at_risk`
    will miss their windows, for want of a merge or of time.

    `not_read` says why the cluster could not be read, or "". If set, it is unknown what waits,
    which VMs are outside a plan, which requests have none, and whether the cluster's stop flag is
    set.
    """

    cluster: str
    now: int
    stop: str
    requests: tuple[RequestStatus, ...]
    nodes: Mapping[OccurrenceId, tuple[NodeStatus, ...]]
    pulls: tuple[PullRequest, ...]
    refused: tuple[str, ...]
    people: tuple[PullRequest, ...] = ()
    next_of_pulls: Mapping[int, str] = field(default_factory=dict)
    commit: str = ""
    broken: tuple[str, ...] = ()
    broken_files: tuple[BrokenFile, ...] = ()
    stops: tuple[Standstill, ...] = ()
    away: tuple[Away, ...] = ()
    openings: tuple[NextOpening, ...] = ()
    at_risk: tuple[NotPlanned, ...] = ()
    owners: tuple[Unconsented, ...] = ()
    exceptions: tuple[PolicyWaiver, ...] = ()
    movers: tuple[NotedObject, ...] = ()
    lost: tuple[NotedObject, ...] = ()
    not_applied: tuple[NotApplied, ...] = ()
    not_planned: tuple[NotPlanned, ...] = ()
    not_read: str = ""
    zone: str = "UTC"
    mode: str = "Enforce"

    @property
    def standstill(self) -> Standstill | None:
        """Why nothing can start, apart from the mode; None if something may."""
        return next((item for item in self.stops if item.next_command != ENFORCE), None)

    @property
    def healthy(self) -> bool:
        """Whether gitbot can do its work; a hold and mode Observe are decisions of people."""
        return not self.broken_files and all(item.healthy for item in self.stops)

    @property
    def unplanned(self) -> Mapping[str, tuple[NamespacedName, ...]]:
        """VMs on draining nodes that no approved plan covers, by node."""
        nodes = (node for each in self.nodes.values() for node in each)
        return {node.record.node: node.unplanned for node in nodes if node.unplanned}


def status(shell: RunContext, *, request: str = "") -> StatusResult:
    """Look at everything, or at one `request`, finished or not.

    If the cluster cannot be read, the result has the rest, and `not_read` says why; if the base
    branch has errors, `broken` has them. Raises UsageError for an unknown request.
    """
    seen, result = look_at_all(shell)
    if not request:
        return result
    return _only(result, request, fold_requests(seen.ledger, shell.cluster_name), seen)


def look_at_all(shell: RunContext) -> tuple[CurrentState, StatusResult]:
    """As `status`, with the look that it is made from."""
    ledger = shell.ledger_store.read()
    readable = readable_base(shell)
    base = readable.engine
    try:
        seen = read_current_state(shell, ledger, base=base)
    except ClusterError as error:
        seen = read_current_state(shell, ledger, base=base, unread=str(error))
    return seen, whole_status(shell, seen, readable, shell.open_pulls())


def whole_status(
    shell: RunContext, seen: CurrentState, readable: ReadableBase, opened: tuple[PullRequest, ...]
) -> StatusResult:
    """The status of a look that was taken already; `opened` are all open pull requests."""
    records = fold_requests(seen.ledger, shell.cluster_name)
    pulls = tuple(pull for pull in opened if is_own(shell, pull))
    wishes = () if seen.unread else not_planned(shell, seen, pulls)
    people = changing_intents(shell, opened)
    away = away_from_home(seen, pulls, shell.plan_soon)
    approved = seen.approvals.approved
    nodes = maintenance(seen, records, away, apply=apply_command(seen))
    ended = {name for name, record in records.items() if record.finished}
    ended |= drains_without_moves(seen.ledger, shell.cluster_name, records).keys()
    openings = tuple(
        _opening(shell, seen, item, wishes, pulls)
        for item in next_openings(seen.base, records, approved, now=seen.now, ended=ended)
    )
    replan = _commands_for_new_plans(shell, seen, pulls, wishes)
    return StatusResult(
        cluster=shell.cluster_name,
        now=seen.now,
        stop=seen.stop or observe_mode_reason(seen.base.settings),
        mode=seen.base.settings.mode,
        commit=readable.commit,
        broken=tuple(str(readable.broken or "").splitlines()),
        broken_files=seen.base.revision.broken,
        stops=stop_lines(seen, broken=readable.broken is not None),
        requests=tuple(
            _request(seen, record, replan.get(name))
            for name, record in records.items()
            if not record.finished or seen.now - record.changed_at <= RECENT
        ),
        nodes=nodes,
        away=away,
        openings=openings,
        at_risk=tuple(_at_risk(shell, seen, records, openings, pulls)),
        pulls=pulls,
        people=people,
        next_of_pulls=next_of_pulls(shell, seen, pulls, people, records.values()),
        refused=_refused(shell, seen, pulls),
        owners=tuple(_unconsented(approved)),
        exceptions=exceptions(seen, opened),
        movers=movers_beside(seen, nodes),
        lost=lost_now(seen, nodes),
        not_applied=not_applied(seen, shell.cluster_name),
        not_planned=wishes if seen.unread else _waiting(wishes, unhealed(shell, seen, pulls)),
        not_read=seen.unread,
        zone=seen.base.revision.zone or "UTC",
    )


def _at_risk(
    shell: RunContext,
    seen: CurrentState,
    records: Mapping[RequestId, RequestRecord],
    openings: Iterable[NextOpening],
    pulls: tuple[PullRequest, ...],
) -> Iterator[NotPlanned]:
    """What will miss its window, for want of a merge or of time, and what to type."""
    approved = seen.approvals.approved
    branches = {pull.branch: pull for pull in pulls}
    known = {item.request: item for item in openings}
    near = (
        () if seen.unread else unmerged(seen.base, known.values(), seen.problem.snapshot, seen.now)
    )
    for name in near:
        pull = branches.get(concern_branch(shell.cluster_name, concern_of(name)))
        merge = merge_words(shell.forge, pull) if pull else ""
        begins = format_instant(known[name].begins or known[name].open.start)
        reason = f"nobody has approved it, and it begins at {begins}"
        yield NotPlanned(
            request=name, reason=reason, next_command=merge or known[name].next_command
        )
    for name, reason in late_requests(records, approved, seen.now).items():
        longer = "lengthen its time, or let it end without the rest"
        yield NotPlanned(
            request=name, reason=f"{reason}: {longer}", next_command=explain_command(name)
        )


def _waiting(wishes: Iterable[NotPlanned], broken: Iterable[NotPlanned]) -> tuple[NotPlanned, ...]:
    """A line a request; of a broken rule the one that also says what is broken."""
    return tuple({item.request: item for item in (*wishes, *broken)}.values())


def _refused(
    shell: RunContext, seen: CurrentState, pulls: tuple[PullRequest, ...]
) -> tuple[str, ...]:
    """Each merge that approved nothing, with the command that proposes again what is still due."""
    refused = seen.approvals.refused
    due = refused and not seen.unread and unproposed(shell, seen, pulls)
    then = "; next: gitbot propose" if due else ""
    return tuple(f"pull request {item.pull_request}: {item.reason}{then}" for item in refused)


def _unconsented(approved: Iterable[Approved]) -> Iterator[Unconsented]:
    for item in approved:
        if item.terms.consent and not item.terms.void:
            number, waits = item.approval.pull_request, item.terms.consent
            yield Unconsented(pull_request=number, request=item.id, waits=waits)


def _opening(
    shell: RunContext,
    seen: CurrentState,
    item: NextOpening,
    wishes: tuple[NotPlanned, ...],
    pulls: tuple[PullRequest, ...],
) -> NextOpening:
    """With what a person types now: nothing to propose where a plan is open, or none exists."""
    if not seen.unread and (gone := missing_nodes(item.intent, seen.problem.snapshot)):
        item = replace(item, state=", ".join(filter(None, (item.state, gone))))
    stuck = [wish.next_command for wish in wishes if wish.request == item.request]
    branch = concern_branch(shell.cluster_name, concern_of(item.request)) if item.request else ""
    if not item.next_command or not (stuck or any(pull.branch == branch for pull in pulls)):
        empty = item.next_command and is_empty(seen, item)
        return replace(item, next_command="", state=EMPTY) if empty else item
    return replace(item, next_command=stuck[0] if stuck else "")


def _only(
    whole: StatusResult,
    request: str,
    records: Mapping[RequestId, RequestRecord],
    seen: CurrentState,
) -> StatusResult:
    """That request alone: its moves, its nodes and VMs, and what keeps it from starting."""
    waiting = [item.request for item in whole.not_applied]
    waiting += [item.request for item in whole.not_planned]
    waiting += [item.request for item in whole.openings if item.request is not None]
    every = dict.fromkeys((*records, *waiting))
    known = request_called(request, every) or parse_request_id(request)
    request = known or request
    record = records.get(known) if known is not None else None
    branch = concern_branch(whole.cluster, concern_of(known) if known is not None else "")
    one = replace(
        whole,
        requests=tuple(item for item in whole.requests if item.record.id == known)
        or ((_request(seen, record),) if record is not None else ()),
        nodes={
            occurrence: nodes
            for occurrence, nodes in whole.nodes.items()
            if request in (occurrence.drain, occurrence.homecoming)
        },
        away=tuple(
            item
            for item in whole.away
            if request in (item.occurrence.drain, item.occurrence.homecoming)
        ),
        openings=tuple(item for item in whole.openings if item.request == request),
        at_risk=tuple(item for item in whole.at_risk if item.request == request),
        pulls=tuple(pull for pull in whole.pulls if pull.branch == branch),
        people=(),
        exceptions=(),
        movers=(),
        lost=(),
        refused=(),
        owners=tuple(item for item in whole.owners if item.request == request),
        not_applied=tuple(item for item in whole.not_applied if item.request == request),
        not_planned=tuple(item for item in whole.not_planned if item.request == request),
    )
    planned = (one.requests, one.nodes, one.openings, one.pulls, one.owners)
    if not any((*planned, one.not_applied, one.not_planned)):
        near = nearest(request, list(records))
        hint = f"did you mean {near}?" if near else f"known: {', '.join(records) or 'none'}"
        raise UsageError(f"the ledger knows no request {request}; {hint}")
    return one


def _commands_for_new_plans(
    shell: RunContext,
    seen: CurrentState,
    pulls: tuple[PullRequest, ...],
    wishes: tuple[NotPlanned, ...],
) -> Mapping[RequestId, str]:
    """What a person types for each request whose plan no longer passes the checks.

    "" while its new plan waits in a pull request, or while its opening is not announced.
    """
    stale = {item.request for item in seen.steps.stale}
    if not stale:
        return {}
    due = unproposed(shell, seen, pulls)
    told = {wish.request.planned: wish.next_command for wish in wishes}
    return {
        name: told.get(name.planned, "gitbot propose" if name.planned in due else "")
        for name in stale
    }


def _request(seen: CurrentState, record: RequestRecord, replan: str | None = None) -> RequestStatus:
    """`replan` is the command for a plan that no longer passes the checks; None for any other."""
    waiting = {item.move: item for item in seen.steps.waiting if item.request == record.id}
    refused = {
        item.group: item.reasons[0] for item in seen.steps.stale if item.request == record.id
    }
    moves = tuple(
        _move(move, waiting.get(number), refused.get(move.group, ""))
        for number, move in sorted(record.moves.items())
    )
    return RequestStatus(record=record, moves=moves, next_command=_next(seen, record, replan))


def _move(record: MoveRecord, waiting: Waiting | None, refused: str) -> MoveStatus:
    """`refused`: why its group no longer passes the checks; "" if it does."""
    if waiting is None:
        return MoveStatus(record=record)
    waits = f"{waiting.reason}: {refused}" if refused else waiting.reason
    return MoveStatus(record=record, waits=waits, until=waiting.until)


def _next(seen: CurrentState, record: RequestRecord, replan: str | None) -> str:
    if seen.stop and not record.finished:
        return seen.standstill.next_command if seen.standstill else ""
    if replan is not None:
        return replan
    if any(_lacks_right(move) for move in record.moves.values()):
        return "gitbot doctor"
    if not record.finished and _is_in_stopped_folder(seen, record):
        return LOOK_AT_BASE
    failed = [move for move in record.moves.values() if move.state is MoveState.FAILED]
    if failed and record.finished and _leaves_together(seen, record):
        return f"gitbot propose, to finish it, or gitbot cancel {record.id}, to send the VMs back"
    if record.outcome == RequestState.EXPIRED:
        return _once_more(seen, record)
    if failed:
        return f"gitbot explain vm/{failed[0].vm.name} -n {failed[0].vm.namespace}"
    return "" if record.finished or _waits_for_time(seen, record) else apply_command(seen)


def _once_more(seen: CurrentState, record: RequestRecord) -> str:
    """What asks again for what has expired; "" if that comes by itself, with the next opening."""
    moves = record.moves.values()
    match record.id:
        case DrainId(occurrence=occurrence):
            known = seen.base.revision.intents.window(occurrence.window)
            schedule = known[1].schedule if known is not None else None
            if schedule is not None and schedule.recurrence:
                return ""
            nodes = " ".join(sorted({move.source for move in moves}))
            return f"gitbot drain {nodes} --start TIME --for DURATION"
        case MigrationRequestId(namespace=namespace):
            vms = " ".join(sorted({f"vm/{move.vm.name}" for move in moves}))
            targets = {move.to for move in moves}
            where = f" --to {targets.pop()}" if len(targets) == 1 else ""
            return f"gitbot move {vms} -n {namespace}{where}"
    return ""


def _is_in_stopped_folder(seen: CurrentState, record: RequestRecord) -> bool:
    """Whether a file with errors keeps a move of the request from starting."""
    stops = seen.base.revision.stops(seen.problem.snapshot)
    if stops is None:
        return False
    mine = (item for item in seen.approvals.approved if item.id == record.id)
    left = {number for number, move in record.moves.items() if not move.final}
    return any(stops.of_move(move) for item in mine for move in item.moves if move.id in left)


def _waits_for_time(seen: CurrentState, record: RequestRecord) -> bool:
    """Whether every move left waits for an opening or the end of a freeze: no command helps."""
    until = {item.move: item.until for item in seen.steps.waiting if item.request == record.id}
    left = [number for number, move in record.moves.items() if not move.final]
    return all(until.get(number, 0) > seen.now for number in left)


def _leaves_together(seen: CurrentState, record: RequestRecord) -> bool:
    """Whether a drain has nodes that are not empty, while others of its nodes wait for them."""
    if not isinstance(record.id, DrainId) or record.cancelled:
        return False
    cluster, occurrence = seen.base.revision.cluster, record.id.occurrence
    begun = window_as_merged(seen.ledger, cluster=cluster, occurrence=occurrence)
    nodes = fold_nodes(seen.ledger, cluster=cluster, occurrence=occurrence)
    draining = any(node.state is NodeState.DRAINING for node in nodes.values())
    return begun is not None and begun.together and draining


def _lacks_right(move: MoveRecord) -> bool:
    return move.state is MoveState.WAITING and move.outcome == FORBIDDEN


def not_applied(seen: CurrentState, cluster: str) -> tuple[NotApplied, ...]:
    """Merged and approved, but no pass of apply has taken it up."""
    records = fold_requests(seen.ledger, cluster)
    return tuple(
        NotApplied(
            pull_request=item.approval.pull_request,
            request=item.id,
            next_command=apply_command(seen),
        )
        for item in seen.approvals.approved
        if _is_new(item, records.get(item.id, RequestRecord(id=item.id)))
        or _cordons_now(seen, item, cluster)
    )


def _cordons_now(seen: CurrentState, item: Approved, cluster: str) -> bool:
    """Whether a drain that moves nothing is open, and no node of it has begun."""
    if item.moves or item.terms.blocked_reason or not isinstance(item.id, DrainId):
        return False
    begun = fold_nodes(seen.ledger, cluster=cluster, occurrence=item.id.occurrence)
    return not begun and begins_nodes_now(seen.ledger, item, cluster=cluster, now=seen.now)


def _is_new(item: Approved, record: RequestRecord) -> bool:
    new = tuple(move for move in item.moves if not is_known(record, item, move))
    return bool(new) and can_admit(record, item, new)


def apply_command(seen: CurrentState) -> str:
    """The command that carries on with approved work."""
    if not seen.base.settings.applies:
        return ENFORCE
    return seen.standstill.next_command if seen.standstill else "gitbot apply"
