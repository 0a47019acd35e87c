"""Entry of approved plans into the ledger: each new move once. It replaces older plans."""

from __future__ import annotations

from collections.abc import Mapping

from gitbot.execution.executor_types import Approved, ExecutorInput
from gitbot.execution.observe import move_fields
from gitbot.execution.request_records import MoveRecord, RequestRecord
from gitbot.model.ledger.event_parts import MoveTerms
from gitbot.model.ledger.events import MoveApproved, MoveEvent, MoveState
from gitbot.model.ledger.request_id import RequestId
from gitbot.model.plan.plan import Move

SUPERSEDED = "superseded"


def deduplicate(approved: tuple[Approved, ...]) -> tuple[Approved, ...]:
    """The approvals, one for each plan of a request.

    Two merged pull requests may have shown the same plan. The first counts, or the first that may
    start.
    """
    found: dict[tuple[RequestId, str], Approved] = {}
    for item in approved:
        known = found.setdefault((item.id, item.approval.digest), item)
        if known.terms.blocked_reason and not item.terms.blocked_reason:
            found[item.id, item.approval.digest] = item
    return tuple(found.values())


def admit_plan(
    view: ExecutorInput, records: Mapping[RequestId, RequestRecord], approved: Approved
) -> tuple[MoveEvent, ...]:
    record = records.get(approved.id) or RequestRecord(id=approved.id)
    new = tuple(move for move in approved.moves if not is_known(record, approved, move))
    if not new or not can_admit(record, approved, new):
        return ()
    why = f"plan {approved.approval.digest} replaced it"
    superseded = tuple(
        move.event(view.cluster, view.now, MoveState.WITHDRAWN, reason=why, outcome=SUPERSEDED)
        for move in record.moves.values()
        if _is_superseded(move, approved, new)
    )
    return (*superseded, *(_accepted(view, approved, move) for move in new))


def is_known(record: RequestRecord, approved: Approved, move: Move) -> bool:
    known = record.moves.get(move.id)
    return (
        known is not None
        and known.digest == approved.approval.digest
        and known.vm_uid == move.vm.uid
        and known.vm == move.vm.namespaced_name
    )


def can_admit(record: RequestRecord, approved: Approved, new: tuple[Move, ...]) -> bool:
    """Whether new moves may join a request.

    A finished request never runs again. Only a later proposal of the bot, whose moves are numbered
    after the highest known one, may add to it (the remaining moves of a request that ended partly
    done). A request that never started may be approved again.
    """
    if record.cancelled or approved.terms.blocked_reason:
        return False
    if any(move.id <= record.highest_move for move in new):
        return False
    began = any(move.effects for move in record.moves.values())
    fresh = not record.spent and not began
    return fresh or bool(approved.approval.concern)


def _is_superseded(older: MoveRecord, approved: Approved, new: tuple[Move, ...]) -> bool:
    same = {move.vm.namespaced_name for move in new}
    groups = {move.group for move in new}
    waiting = older.state in (MoveState.APPROVED, MoveState.HELD, MoveState.WAITING)
    other_plan = older.digest != approved.approval.digest
    return waiting and other_plan and (older.vm in same or older.group in groups)


def _accepted(view: ExecutorInput, approved: Approved, move: Move) -> MoveApproved:
    terms = approved.terms
    return MoveApproved(
        **move_fields(view, approved, move),
        source=move.source.node,
        reason=terms.reason,
        note=terms.note,
        terms=MoveTerms(
            group=move.group,
            wave=move.wave,
            attempts=terms.attempts,
            intent=move.intent.id,
            planned=move.request,
            allowed=tuple((span.start, span.end) for span in terms.allowed),
            finish=terms.finish,
        ),
    )
