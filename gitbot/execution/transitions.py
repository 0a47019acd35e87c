"""Every change of a move's state, with its cause. gitbot never writes one that is missing here.

docs/reference/ledger.md has a table that is generated from this file.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from gitbot.errors import Bug
from gitbot.execution.request_records import MoveRecord, fold_move, fold_requests
from gitbot.model.ledger.events import KnownEvent, MoveApproved, MoveChanged, MoveState
from gitbot.model.ledger.ledger import Ledger
from gitbot.model.ledger.request_id import RequestId

_A, _H, _W, _I = MoveState.APPROVED, MoveState.HELD, MoveState.WAITING, MoveState.INTENDED
_C, _R, _F = MoveState.CREATED, MoveState.RUNNING, MoveState.FAILED
_OPEN = (_A, _H, _W, _F, _I)
_SEEN = (_I, _C, _R)
ROWS: tuple[tuple[tuple[MoveState, ...], MoveState, str], ...] = (
    ((), _A, "a merge approved its plan, or gitbot did within policy"),
    ((_A, _H, _W), _I, "it may start now: one executor claims it"),
    ((_F,), _I, "another attempt is left, and the pause is over"),
    ((_I,), _I, "its claim was given back or has settled, and it is claimed again"),
    (
        (_A, _W, _F, _I),
        _H,
        "it would break a rule now, or a policy denies it",
    ),
    ((_I,), _W, "it was not sent and cannot start now, or the server refused it for now"),
    ((_I,), _C, "its migration exists"),
    ((_C,), _C, "gitbot deletes it: cancelled, late, frozen, void, or stored with another spec"),
    ((_I, _C), _R, "its migration has begun"),
    ((_R,), _R, "gitbot deletes it: its request was cancelled"),
    (_SEEN, MoveState.SUCCEEDED, "it landed where it may"),
    (_SEEN, _F, "KubeVirt says so, the server refused it, or it landed elsewhere"),
    (_OPEN, MoveState.OBSOLETE, "the VM is gone, was restarted, or is there already"),
    ((_C, _R), MoveState.OBSOLETE, "the VM is gone, was restarted, or somebody else moved it"),
    (_OPEN, MoveState.EXPIRED, "it could not start within its allowed time"),
    ((_C, _R), MoveState.EXPIRED, "it had not begun when its time was over, and was deleted"),
    (_OPEN, MoveState.WITHDRAWN, "cancelled, void, replaced, or its group or node is over"),
    ((_C, _R), MoveState.WITHDRAWN, "gitbot deleted it as it was told to, or somebody else did"),
)
"""From which states, to which state, and why. `()`: the ledger does not know the move yet."""


def _transitions() -> Mapping[tuple[MoveState | None, MoveState], str]:
    return {(before, to): why for froms, to, why in ROWS for before in froms or (None,)}


TRANSITIONS = _transitions()


def check_transitions(ledger: Ledger, events: Iterable[KnownEvent]) -> None:
    """Raises Bug if the table lacks a change. A move in a final state never changes."""
    changed: dict[tuple[str, RequestId, int], MoveRecord] = {}
    for event in events:
        if not isinstance(event, MoveApproved | MoveChanged):
            continue
        key = (event.cluster, event.request, event.move)
        record = changed.get(key)
        if record is None:
            request = fold_requests(ledger, event.cluster).get(event.request)
            record = request.moves.get(event.move) if request is not None else None
        before = record.state if record is not None else None
        over = record is not None and record.final
        if over or (before, event.state) not in TRANSITIONS:
            what = f"from {before or 'nothing'} to {event.state}"
            raise Bug(
                f"BUG: move {event.move} of {event.request} would go {what}"
                f"{', and it is over' if over else ''}: {event.reason or 'no reason'}",
                hint="nothing was written; report it with `gitbot ledger show -o json`",
            )
        changed[key] = fold_move(record, event)
