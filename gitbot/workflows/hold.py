"""Stop and go on: the stop flag, cancelling one request, and saying that a node is back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gitbot.errors import GitbotError, UsageError
from gitbot.execution.facts import FINAL_PHASES, is_own, phase_of
from gitbot.execution.requests import CANCELLED, RequestRecord, fold_requests
from gitbot.execution.state import NodeState, fold_nodes, stop_flag
from gitbot.model.instants import format_instant
from gitbot.model.ledger import HOLD_FILE, Entry, node_file, request_file
from gitbot.model.objects import name_of, uid_of
from gitbot.ports.cluster import Cluster
from gitbot.workflows.apply import ApplyResult, apply
from gitbot.workflows.clocks import forge_skew
from gitbot.workflows.journal import Journal, retried
from gitbot.workflows.shell import Shell

CLUSTER_PLACE = "in the cluster"
LEDGER_PLACE = "in the ledger"
BY_HAND = "kubectl create configmap gitbot-hold -n gitbot --from-literal=reason=stop"
PAST_RECALL = frozenset({"PreparingTarget", "TargetReady", "Running"})


@dataclass(frozen=True, slots=True, kw_only=True)
class HoldResult:
    """Where the stop flag is set now, and what became of own unfinished migrations.

    `past_recall` are those that had begun to copy: their deletion asks KubeVirt to abort, which
    may come too late. `not_cancelled` says why others were not deleted ("" where none remained).
    """

    in_ledger: bool
    in_cluster: bool
    trouble: tuple[str, ...] = ()
    deleted: tuple[str, ...] = ()
    past_recall: tuple[str, ...] = ()
    not_cancelled: str = ""
    was_set: bool = True  # of resume: whether there was anything to take away


def hold(shell: Shell, *, reason: str, by: str, cancel_running: bool = False) -> HoldResult:
    """Set the stop flag in both places. One of them suffices; GitbotError where neither holds."""
    trouble: list[str] = []
    cluster = shell.cluster
    in_cluster = _try(CLUSTER_PLACE, lambda: cluster.set_hold_flag(f"{reason} ({by})"), trouble)
    in_ledger = _try(
        LEDGER_PLACE, lambda: _set_in_ledger(shell, state="set", reason=reason, by=by), trouble
    )
    return _held(cluster, in_ledger, in_cluster, trouble, cancel_running=cancel_running)


def hold_cluster(
    opener: Callable[[], Cluster], *, unreached: str, reason: str, by: str, cancel_running: bool
) -> HoldResult:
    """Set the stop flag in the cluster alone; `unreached` says why the ledger cannot be reached."""
    trouble = [f"{LEDGER_PLACE}: {unreached}"]
    try:
        cluster = opener()
        cluster.set_hold_flag(f"{reason} ({by})")
    except GitbotError as error:
        raise _nowhere([*trouble, f"{CLUSTER_PLACE}: {error}"]) from error
    return _held(cluster, False, True, trouble, cancel_running=cancel_running)


def _held(
    cluster: Cluster,
    in_ledger: bool,
    in_cluster: bool,
    trouble: list[str],
    *,
    cancel_running: bool,
) -> HoldResult:
    if not in_cluster and not in_ledger:
        raise _nowhere(trouble)
    deleted: list[str] = []
    past: list[str] = []
    not_cancelled: list[str] = []
    if cancel_running:
        _try(CLUSTER_PLACE, lambda: _cancel_running(cluster, deleted, past), not_cancelled)
    return HoldResult(
        in_ledger=in_ledger,
        in_cluster=in_cluster,
        trouble=tuple(trouble),
        deleted=tuple(deleted),
        past_recall=tuple(past),
        not_cancelled="; ".join(not_cancelled),
    )


def _nowhere(trouble: list[str]) -> GitbotError:
    """One line a place: whoever reads it is in a hurry."""
    places = (item.replace("\n", "\n    ") for item in trouble)
    lines = ["the stop flag is set nowhere", *places, f"by hand: {BY_HAND}"]
    return GitbotError("\n  ".join(lines))


def resume(shell: Shell, *, reason: str, by: str) -> HoldResult:
    """Take the stop flag away in both places; explicit and named.

    Nothing is taken away unless both can be read. GitbotError says in which place it remains.
    """
    if not by:
        raise UsageError("resume needs a name", hint="say who resumes with --by")
    try:
        in_ledger = bool(stop_flag(shell.ledger_store.read(), shell.cluster_name))
        was_set = shell.cluster.hold_flag() is not None or in_ledger
        shell.cluster.set_hold_flag(None)
    except GitbotError as error:
        raise GitbotError(f"not resumed, the stop flag stays as it was: {error}") from error
    try:
        _set_in_ledger(shell, state="resumed", reason=reason, by=by)
    except GitbotError as error:
        raise GitbotError(
            f"half resumed: taken away {CLUSTER_PLACE}, but a flag {LEDGER_PLACE} remains: {error}",
            hint="everything stays stopped by it; run gitbot resume again",
        ) from error
    return HoldResult(in_ledger=False, in_cluster=False, was_set=was_set)


def resume_ledger(shell: Shell, *, reason: str, by: str, said_at: int) -> bool:
    """Take away the flag in the ledger alone; whether there was one. The cluster is not asked.

    Refused (UsageError) where the flag was set after `said_at` (seconds UTC, the forge's), or in
    that very second: who resumed could not know of it. So it is while the clocks do not agree.
    """
    skew = forge_skew(shell)
    if skew:
        raise UsageError(f"what was said first is not known: {skew}", hint="run gitbot resume")
    return retried(lambda: _resume_once(shell, reason=reason, by=by, said_at=said_at))


def _resume_once(shell: Shell, *, reason: str, by: str, said_at: int) -> bool:
    """Judge and write on one ledger: a flag set in between is a race that is lost, not overrun."""
    journal = Journal(shell.ledger_store, shell.clock)
    ledger = journal.read()
    marks = [entry for entry in ledger.of(HOLD_FILE) if entry.cluster in ("", shell.cluster_name)]
    if marks and marks[-1].state == "set" and marks[-1].time >= said_at:
        raise UsageError(
            f"the stop flag was set anew at {format_instant(marks[-1].time)}: {marks[-1].reason}",
            hint="say again that all may go on",
        )
    was_set = bool(stop_flag(ledger, shell.cluster_name))
    if was_set:
        journal.commit((_mark(shell, state="resumed", reason=reason, by=by),))
    return was_set


def _try(place: str, action: Callable[[], None], trouble: list[str]) -> bool:
    try:
        action()
    except GitbotError as error:
        trouble.append(f"{place}: {error}")
        return False
    return True


def _set_in_ledger(shell: Shell, *, state: str, reason: str, by: str) -> None:
    """Nobody who writes more often keeps the flag from being set."""
    retried(lambda: _set_once(shell, state=state, reason=reason, by=by))


def _set_once(shell: Shell, *, state: str, reason: str, by: str) -> None:
    journal = Journal(shell.ledger_store, shell.clock)
    ledger = journal.read()
    if state == "resumed" and not stop_flag(ledger, shell.cluster_name):
        return
    # a flag that stands is set anew: a resume that was said before must not take this one away
    journal.commit((_mark(shell, state=state, reason=reason, by=by),))


def _mark(shell: Shell, *, state: str, reason: str, by: str) -> Entry:
    return Entry(
        file=HOLD_FILE,
        time=shell.clock.now(),
        cluster=shell.cluster_name,
        state=state,
        author=by,
        reason=reason,
    )


def _cancel_running(cluster: Cluster, deleted: list[str], past: list[str]) -> None:
    """Delete gitbot's own unfinished migrations; nobody else's."""
    for migration in cluster.list_migrations():
        if not is_own(migration) or phase_of(migration) in FINAL_PHASES:
            continue
        cluster.delete_migration(name_of(migration), uid=uid_of(migration))
        late = phase_of(migration) in PAST_RECALL
        (past if late else deleted).append(str(name_of(migration)))


@dataclass(frozen=True, slots=True, kw_only=True)
class CancelResult:
    """One request after its cancellation. `past_recall` are migrations that had begun to copy."""

    record: RequestRecord
    applied: ApplyResult
    past_recall: tuple[str, ...]


def cancel(shell: Shell, *, request: str, reason: str, by: str) -> CancelResult:
    """End one request: what has not started is withdrawn, its own migrations are deleted."""
    record = note_cancelled(shell, request=request, reason=reason, by=by)
    past = _past_recall(shell, record)
    applied = apply(shell, start=False)
    after = fold_requests(shell.ledger_store.read(), shell.cluster_name)[request]
    return CancelResult(record=after, applied=applied, past_recall=past)


def note_cancelled(shell: Shell, *, request: str, reason: str, by: str) -> RequestRecord:
    """Write down that a request shall end; the next pass ends it. Its record as it was.

    A pass that writes at the same time does not keep it from being written.
    """
    return retried(lambda: _note_once(shell, request=request, reason=reason, by=by))


def _note_once(shell: Shell, *, request: str, reason: str, by: str) -> RequestRecord:
    journal = Journal(shell.ledger_store, shell.clock)
    records = fold_requests(journal.read(), shell.cluster_name)
    record = records.get(request)
    if record is None:
        known = ", ".join(name for name, item in records.items() if not item.finished) or "none"
        raise UsageError(f"the ledger knows no request {request}; unfinished: {known}")
    if record.finished:
        raise UsageError(f"{request} is finished: {record.state}")
    if not record.cancelled:
        journal.commit(
            (
                Entry(
                    file=request_file(shell.cluster_name, request),
                    time=shell.clock.now(),
                    cluster=shell.cluster_name,
                    state=CANCELLED,
                    request=request,
                    author=by,
                    reason=f"{reason} ({by})" if reason else by,
                ),
            )
        )
    return record


def _past_recall(shell: Shell, record: RequestRecord) -> tuple[str, ...]:
    mine = {move.migration for move in record.moves.values() if move.under_way}
    return tuple(
        str(name_of(item))
        for item in shell.cluster.list_migrations()
        if str(name_of(item)) in mine and phase_of(item) in PAST_RECALL
    )


def returned(shell: Shell, *, node: str, by: str) -> tuple[str, str]:
    """Record that a node is back (done: Command); returns window and occurrence."""
    return retried(lambda: _returned(shell, node=node, by=by))


def _returned(shell: Shell, *, node: str, by: str) -> tuple[str, str]:
    journal = Journal(shell.ledger_store, shell.clock)
    ledger = journal.read()
    prefix = f"nodes/{shell.cluster_name}/"
    files = {entry.file for entry in ledger.entries if entry.file.startswith(prefix)}
    for file in sorted(files, reverse=True):
        window, _, occurrence = file.removeprefix(prefix).removesuffix(".jsonl").partition("/")
        nodes = fold_nodes(ledger, cluster=shell.cluster_name, window=window, occurrence=occurrence)
        if node not in nodes or nodes[node].state is not NodeState.READY:
            continue
        journal.commit(
            (
                Entry(
                    file=node_file(shell.cluster_name, window, occurrence),
                    time=shell.clock.now(),
                    cluster=shell.cluster_name,
                    state=str(NodeState.RETURNED),
                    request=f"drain/{window}/{occurrence}",
                    author=by,
                    data={"node": node},
                ),
            )
        )
        return window, occurrence
    raise UsageError(
        f"no maintenance has {node} in state ready",
        hint="`gitbot status` lists the nodes and their states",
    )
