"""Stop and resume: the stop flag, cancelling one request, and recording that a node is back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from gitbot.errors import ClusterError, ClusterForbidden, GitbotError, UsageError
from gitbot.execution.cluster_facts import is_own
from gitbot.execution.ledger_folds import (
    BUSY,
    fold_homes,
    fold_nodes,
    has_nodes_to_begin,
    has_nodes_to_drain,
    occurrences_of,
    stop_flag,
    window_as_merged,
)
from gitbot.execution.request_records import RequestRecord, fold_requests
from gitbot.kubernetes.names import NamespacedName
from gitbot.kubernetes.objects import name_of, uid_of
from gitbot.kubernetes.phases import is_final, phase_of
from gitbot.model.ledger.events import (
    MoveState,
    NodeChanged,
    NodeFacts,
    NodeState,
    RequestCancelled,
    StopLifted,
    StopSet,
)
from gitbot.model.ledger.ledger import HOLD_FILE, Ledger, node_file, request_file
from gitbot.model.ledger.request_id import OccurrenceId, RequestId, request_called
from gitbot.model.text.instants import format_instant
from gitbot.model.text.wording import first_of, nearest
from gitbot.ports.cluster import Cluster
from gitbot.workflows.apply.pass_state import OnReport
from gitbot.workflows.apply.record_before_delete import RecordCreated, record_created
from gitbot.workflows.apply.run import apply
from gitbot.workflows.approval.known_requests import known_requests
from gitbot.workflows.approval.read_approvals import read_approvals
from gitbot.workflows.core.base_branch import readable_base
from gitbot.workflows.core.context import RunContext
from gitbot.workflows.core.stop_conditions import forge_skew
from gitbot.workflows.ledger.anchor import accept_current_ledger
from gitbot.workflows.ledger.writer import Journal, retried

CLUSTER_PLACE = "in the cluster"
LEDGER_PLACE = "in the ledger"
BY_HAND = "kubectl create configmap gitbot-hold -n gitbot --from-literal=reason=stop"
HOLDER = "deploy/rbac/40-holder.yaml grants taking it back; ask who set it, then resume again"
PAST_RECALL = frozenset({"PreparingTarget", "TargetReady", "Running"})


@dataclass(frozen=True, slots=True, kw_only=True)
class HoldResult:
    """Where the stop flag is set now, and which of gitbot's migrations were deleted.

    The migrations in `past_recall` were copying memory. Deleting them asks KubeVirt to abort,
    perhaps too late. `not_cancelled` says why others were not deleted ("" if none remained).
    """

    in_ledger: bool
    in_cluster: bool
    trouble: tuple[str, ...] = ()
    deleted: tuple[str, ...] = ()
    past_recall: tuple[str, ...] = ()
    not_cancelled: str = ""


def hold(shell: RunContext, *, reason: str, by: str, cancel_running: bool = False) -> HoldResult:
    """Set the stop flag in ledger and cluster. One is enough; raises GitbotError if both fail."""
    trouble: list[str] = []
    cluster = shell.cluster
    in_cluster = _try(CLUSTER_PLACE, lambda: cluster.set_hold_flag(f"{reason} ({by})"), trouble)
    in_ledger = _try(
        LEDGER_PLACE, lambda: _set_in_ledger(shell, StopSet, reason=reason, by=by), trouble
    )
    cancels = partial(record_created, shell) if cancel_running else None
    return _held(cluster, in_ledger, in_cluster, trouble, cancels)


def hold_cluster(
    opener: Callable[[], Cluster], *, unreached: str, reason: str, by: str, cancel_running: bool
) -> HoldResult:
    """Set the stop flag in the cluster alone; `unreached` says why the ledger is out of reach."""
    trouble = [f"{LEDGER_PLACE}: {unreached}"]
    try:
        cluster = opener()
        cluster.set_hold_flag(f"{reason} ({by})")
    except GitbotError as error:
        raise _nowhere([*trouble, f"{CLUSTER_PLACE}: {error}"]) from error
    return _held(cluster, False, True, trouble, (lambda _: None) if cancel_running else None)


def _held(
    cluster: Cluster,
    in_ledger: bool,
    in_cluster: bool,
    trouble: list[str],
    cancels: RecordCreated | None,
) -> HoldResult:
    if not in_cluster and not in_ledger:
        raise _nowhere(trouble)
    deleted: list[str] = []
    past: list[str] = []
    not_cancelled: list[str] = []
    if cancels is not None:
        _try(CLUSTER_PLACE, lambda: _cancel_running(cluster, cancels, deleted, past), not_cancelled)
    return HoldResult(
        in_ledger=in_ledger,
        in_cluster=in_cluster,
        trouble=tuple(trouble),
        deleted=tuple(deleted),
        past_recall=tuple(past),
        not_cancelled="; ".join(not_cancelled),
    )


def _nowhere(trouble: list[str]) -> GitbotError:
    """One line for each place, because its reader is in a hurry."""
    places = (item.replace("\n", "\n    ") for item in trouble)
    lines = ["the stop flag is set nowhere", *places, f"by hand: {BY_HAND}"]
    return GitbotError("\n  ".join(lines))


def resume(shell: RunContext, *, reason: str, by: str, accept_ledger: bool = False) -> bool:
    """Remove the stop flag in both places; True if there was one.

    Removes nothing unless both can be read. An absent flag in the cluster needs no right to remove
    it. Raises GitbotError that names the place where the flag remains. `accept_ledger` accepts a
    ledger that was rolled back.
    """
    if not by:
        raise UsageError("resume needs a name", hint="give your name with --by")
    try:
        in_ledger = bool(stop_flag(shell.ledger_store.read(), shell.cluster_name))
        flag = shell.cluster.hold_flag()
        remains = _remove_flag(shell.cluster) if flag is not None else None
    except GitbotError as error:
        raise GitbotError(f"not resumed, the stop flag stays as it was: {error}") from error
    try:
        _set_in_ledger(shell, StopLifted, reason=reason, by=by)
    except GitbotError as error:
        raise GitbotError(
            f"half resumed: removed {CLUSTER_PLACE}, but a flag {LEDGER_PLACE} remains: {error}",
            hint="it keeps everything stopped; run gitbot resume again",
        ) from error
    if accept_ledger:
        accept_current_ledger(shell, by=by)
    if remains is not None:
        what = f"half resumed: {LEDGER_PLACE} nothing stops any more, but the flag {CLUSTER_PLACE}"
        raise GitbotError(f"{what} remains: {flag or 'no reason'} ({remains.message})", hint=HOLDER)
    return in_ledger or flag is not None


def _remove_flag(cluster: Cluster) -> ClusterForbidden | None:
    """Remove the flag in the cluster; the refusal if other people set it and hold the right."""
    try:
        cluster.set_hold_flag(None)
    except ClusterForbidden as error:
        return error
    return None


def resume_ledger(shell: RunContext, *, reason: str, by: str, said_at: int) -> bool:
    """Remove the flag in the ledger alone, not in the cluster; True if there was one.

    Raises UsageError if the flag was set at or after `said_at` (UTC seconds, the forge's clock):
    the person who resumed cannot have known of it. Raises it too if the clocks do not agree.
    """
    skew = forge_skew(shell)
    if skew:
        raise UsageError(f"it is unknown which came first: {skew}", hint="run gitbot resume")
    return retried(lambda: _resume_once(shell, reason=reason, by=by, said_at=said_at))


def _resume_once(shell: RunContext, *, reason: str, by: str, said_at: int) -> bool:
    """Decide and write on one read of the ledger, so that a flag set in between stays."""
    journal = Journal(shell.ledger_store, shell.clock)
    ledger = journal.read()
    marks = ledger.stops(shell.cluster_name)
    if marks and isinstance(marks[-1], StopSet) and marks[-1].time >= said_at:
        raise UsageError(
            f"the stop flag was set again at {format_instant(marks[-1].time)}: {marks[-1].reason}",
            hint="resume again if everything may go on",
        )
    was_set = bool(stop_flag(ledger, shell.cluster_name))
    if was_set:
        journal.commit((_mark(shell, StopLifted, reason=reason, by=by),))
    return was_set


def _try(place: str, action: Callable[[], None], trouble: list[str]) -> bool:
    try:
        action()
    except GitbotError as error:
        trouble.append(f"{place}: {error}")
        return False
    return True


def _set_in_ledger(
    shell: RunContext, kind: type[StopSet | StopLifted], *, reason: str, by: str
) -> None:
    def once() -> None:
        journal = Journal(shell.ledger_store, shell.clock)
        ledger = journal.read()
        if kind is StopLifted and not stop_flag(ledger, shell.cluster_name):
            return
        # Written even if it is set already: a `resume` that another process decided before must not
        # remove it.
        journal.commit((_mark(shell, kind, reason=reason, by=by),))

    retried(once)  # concurrent writers must not prevent the flag


def _mark(
    shell: RunContext, kind: type[StopSet | StopLifted], *, reason: str, by: str
) -> StopSet | StopLifted:
    return kind(
        file=HOLD_FILE,
        time=shell.clock.now(),
        cluster=shell.cluster_name,
        author=by,
        reason=reason,
    )


def _cancel_running(
    cluster: Cluster, record: RecordCreated, deleted: list[str], past: list[str]
) -> None:
    """Without a ledger (`own` is None), only the label shows which migrations are gitbot's."""
    found = [item for item in cluster.list_migrations() if is_own(item) and not is_final(item)]
    own = record(found)
    for migration in found:
        if own is not None and str(name_of(migration)) not in own:
            continue  # another gitbot's on this cluster
        cluster.delete_migration(name_of(migration), uid=uid_of(migration))
        late = phase_of(migration) in PAST_RECALL
        (past if late else deleted).append(str(name_of(migration)))


@dataclass(frozen=True, slots=True, kw_only=True)
class CancelResult:
    """One request after its cancellation. The migrations in `past_recall` were copying memory.

    `not_read` says why the cluster could not be read, "" if it was: then the cancellation is
    recorded, and the next pass carries it out.
    """

    record: RequestRecord
    past_recall: tuple[str, ...] = ()
    stop: str = ""
    not_read: str = ""


def cancel(
    shell: RunContext, *, request: str, reason: str, by: str, on_report: OnReport | None = None
) -> CancelResult:
    """End one request: withdraw moves that have not started, and delete its own migrations.

    The record's state is `cancelling` if a migration of it may still appear or ends later.
    """
    record = note_cancelled(shell, request=request, reason=reason, by=by)
    past: tuple[str, ...] = ()
    not_read, stop = "", ""
    try:
        past = _past_recall(shell, record)
        stop = apply(shell, start=False, on_report=on_report).stop
    except ClusterError as error:  # an error of the command would say that nothing was cancelled
        not_read = str(error)
    after = fold_requests(shell.ledger_store.read(), shell.cluster_name)[record.id]
    return CancelResult(record=after, past_recall=past, stop=stop, not_read=not_read)


def note_cancelled(shell: RunContext, *, request: str, reason: str, by: str) -> RequestRecord:
    """Record that a request shall end; the next pass ends it. Returns its record as it was.

    Repeats the write if another process writes at the same time.
    """
    return retried(lambda: _note_once(shell, request=request, reason=reason, by=by))


def _note_once(shell: RunContext, *, request: str, reason: str, by: str) -> RequestRecord:
    journal = Journal(shell.ledger_store, shell.clock)
    ledger = journal.read()
    record = _record(shell, ledger, request)
    if record.finished and (record.cancelled or not has_remaining_work(shell, ledger, record)):
        late = _landings(fold_requests(ledger, shell.cluster_name), record)
        too_late = f"too late: {first_of(late, 3)}" if late else ""
        raise UsageError(f"{record.id} is finished: {record.outcome}", hint=too_late)
    if not record.cancelled:
        journal.commit(
            (
                RequestCancelled(
                    file=request_file(shell.cluster_name, record.id),
                    time=shell.clock.now(),
                    cluster=shell.cluster_name,
                    request=record.id,
                    author=by,
                    reason=f"{reason} ({by})" if reason else by,
                ),
            )
        )
    return record


def _landings(records: Mapping[RequestId, RequestRecord], record: RequestRecord) -> tuple[str, ...]:
    """Where each VM landed that the request moved, and where a later move has brought it since."""
    last: dict[NamespacedName, tuple[int, str]] = {}
    for move in (move for item in records.values() for move in item.moves.values()):
        if move.state in (MoveState.SUCCEEDED, MoveState.OBSERVED):
            landing = (move.changed_at, move.landed or move.to)
            last[move.vm] = max(last.get(move.vm, landing), landing)
    return tuple(
        f"{vm} is on {node}"
        if last[vm][1] == node
        else f"{vm} went to {node}, then to {last[vm][1]}"
        for vm, node in record.landed.items()
    )


def _record(shell: RunContext, ledger: Ledger, request: str) -> RequestRecord:
    """The record of a request; an empty one if only base branch or forge know the request."""
    records = fold_requests(ledger, shell.cluster_name)
    open_ones = [name for name, item in records.items() if not item.finished]
    known = request_called(request, open_ones) or request_called(request, records)
    if known is not None:
        return records[known]
    others = known_requests(shell, ledger)
    known = request_called(request, others)
    if known is not None:
        return RequestRecord(id=known)
    near = nearest(request, sorted({*others, *records}))
    hint = f"did you mean {near}?" if near else f"unfinished: {', '.join(open_ones) or 'none'}"
    raise UsageError(f"the ledger knows no request {request}", hint=hint)


def _past_recall(shell: RunContext, record: RequestRecord) -> tuple[str, ...]:
    mine = {move.migration for move in record.moves.values() if move.in_flight}
    return tuple(
        str(name_of(item))
        for item in shell.cluster.list_migrations()
        if str(name_of(item)) in mine and phase_of(item) in PAST_RECALL
    )


def returned(shell: RunContext, *, node: str, by: str, said_at: int | None = None) -> OccurrenceId:
    """Record that a node is back; returns the occurrence that it was away for.

    A draining node returns only if its moves have ended. A report from before the node left
    (`said_at`, UTC seconds) is about an earlier time, and is refused.
    """
    return retried(lambda: _returned(shell, node=node, by=by, said_at=said_at))


def goes_home_by_proposal(shell: RunContext, occurrence: OccurrenceId) -> bool:
    """Whether VMs that the occurrence moved away go home by a pull request of gitbot."""
    ledger, cluster = shell.ledger_store.known(), shell.cluster_name
    window = window_as_merged(ledger, cluster=cluster, occurrence=occurrence)
    if window is None or window.return_home != "Propose":
        return False
    return bool(fold_homes(ledger, cluster=cluster, occurrence=occurrence))


def _returned(shell: RunContext, *, node: str, by: str, said_at: int | None) -> OccurrenceId:
    journal = Journal(shell.ledger_store, shell.clock)
    ledger = journal.read()
    records = fold_requests(ledger, shell.cluster_name)
    busy: list[str] = []
    for occurrence in reversed(occurrences_of(ledger, shell.cluster_name)):
        nodes = fold_nodes(ledger, cluster=shell.cluster_name, occurrence=occurrence)
        busy += (name for name, record in nodes.items() if record.state in BUSY)
        if node not in nodes or nodes[node].state not in BUSY:
            continue
        record, drain = nodes[node], records.get(occurrence.drain)
        if said_at is not None and record.since > said_at:
            went = f"{node} is {record.state} since {format_instant(record.since)}"
            raise UsageError(f"{went}, after this was said", hint="say it again if it is back")
        draining = record.state is NodeState.DRAINING
        if draining and drain is not None and drain.has_moves_to_come(node):
            raise UsageError(
                f"{node} is still draining: {drain.id} is {drain.state}",
                hint=f"end it with `gitbot cancel {drain.id}`",
            )
        journal.commit(
            (
                NodeChanged(
                    file=node_file(shell.cluster_name, occurrence),
                    time=shell.clock.now(),
                    cluster=shell.cluster_name,
                    state=NodeState.RETURNED,
                    request=occurrence.drain,
                    author=by,
                    facts=NodeFacts(node=node),
                ),
            )
        )
        return occurrence
    near = nearest(node, busy)
    raise UsageError(
        f"no maintenance has {node} in state ready or draining",
        hint=f"did you mean {near}?"
        if near
        else "`gitbot status` lists the nodes and their states",
    )


def has_remaining_work(shell: RunContext, ledger: Ledger, record: RequestRecord) -> bool:
    """Whether one of its nodes drains, or a plan has more for it that no pass has started.

    Asks the forge if the ledger has nothing: a later plan may have been merged since the last pass.
    """
    cluster, now = shell.cluster_name, shell.clock.now()
    if has_nodes_to_drain(ledger, record, cluster=cluster, now=now):
        return True
    approved = read_approvals(shell, readable_base(shell).engine, ledger).approved
    return any(
        any(move.id > record.highest_move for move in item.moves)
        or has_nodes_to_begin(ledger, item, cluster=cluster, now=now)
        for item in approved
        if item.id == record.id and not item.terms.void
    )
