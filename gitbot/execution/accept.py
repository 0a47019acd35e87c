"""Approved plans enter the ledger: new moves once, older plans for the same VMs make room."""

from __future__ import annotations

from collections.abc import Mapping

from gitbot.execution.observe import move_entry
from gitbot.execution.requests import MoveRecord, RequestRecord
from gitbot.execution.values import Approved, View
from gitbot.model.ledger import Entry, MoveState
from gitbot.model.plan import Move

SUPERSEDED = "superseded"


def accept(
    view: View, records: Mapping[str, RequestRecord], approved: Approved
) -> tuple[Entry, ...]:
    """Entries that make the moves of an approved request known; empty where they are."""
    record = records.get(approved.id, RequestRecord(id=approved.id))
    new = tuple(move for move in approved.moves if not is_known(record, approved, move))
    if not new or not may_enter(record, approved, new):
        return ()
    older = tuple(move for move in record.moves.values() if _makes_room(move, approved, new))
    superseded = tuple(_superseded(view, approved, move) for move in older)
    return (*superseded, *(_accepted(view, approved, move) for move in new))


def is_known(record: RequestRecord, approved: Approved, move: Move) -> bool:
    """Whether the ledger has this very move of this very plan."""
    known = record.moves.get(move.id)
    return (
        known is not None
        and known.digest == approved.approval.digest
        and known.vm_uid == move.vm.uid
        and known.vm == move.vm.namespaced_name
    )


def may_enter(record: RequestRecord, approved: Approved, new: tuple[Move, ...]) -> bool:
    """Whether new moves may become part of a request.

    A finished request never fires again: only a later proposal of the bot, whose moves count on
    after the highest known number, may add to it (the rest of a request that ended half-way). One
    of which nothing ever began may be approved anew.
    """
    if record.cancelled or approved.terms.void:
        return False
    if any(move.id <= record.highest_move for move in new):
        return False
    began = any(move.effects for move in record.moves.values())
    fresh = not record.spent and not began
    return fresh or bool(approved.approval.concern)


def _makes_room(older: MoveRecord, approved: Approved, new: tuple[Move, ...]) -> bool:
    same = {move.vm.namespaced_name for move in new}
    groups = {move.group for move in new}
    waiting = older.state in (MoveState.APPROVED, MoveState.HELD, MoveState.WAITING)
    other_plan = older.digest != approved.approval.digest
    return waiting and other_plan and (older.vm in same or older.group in groups)


def _accepted(view: View, approved: Approved, move: Move) -> Entry:
    return move_entry(
        view,
        approved,
        move,
        MoveState.APPROVED,
        reason=approved.terms.reason,
        note=approved.terms.note,
        data={
            "group": move.group,
            "wave": move.wave,
            "attempts": approved.terms.attempts,
            "intent": move.intent.id,
            "planned": move.request,
            "allowed": [[span.start, span.end] for span in approved.terms.allowed],
            "finish": approved.terms.finish,
        },
    )


def _superseded(view: View, approved: Approved, older: MoveRecord) -> Entry:
    return record_entry(
        view,
        older,
        MoveState.WITHDRAWN,
        outcome=SUPERSEDED,
        reason=f"plan {approved.approval.digest} took its place",
    )


def record_entry(
    view: View, record: MoveRecord, state: MoveState, *, reason: str, outcome: str = ""
) -> Entry:
    """A ledger line about a move that is known from the ledger alone."""
    return Entry(
        file=f"requests/{view.cluster}/{record.request}.jsonl",
        time=view.now,
        cluster=view.cluster,
        state=str(state),
        request=record.request,
        vm=str(record.vm),
        vm_uid=record.vm_uid,
        move=record.number,
        source=record.source,
        to=record.to,
        pull_request=record.pull_request,
        digest=record.digest,
        reason=reason,
        outcome=outcome,
    )
