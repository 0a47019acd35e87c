"""The last check before a migration is created: whether the decision still holds.

Between the decision and the request there are a push and reads, each as slow as its server.
Meanwhile another executor or a person may have ended the move, the VM may have restarted, and the
allowed time may be over. Pure: the workflow reads, and calls this right before it sends.
"""

from __future__ import annotations

from gitbot.execution.claims import TOO_LATE
from gitbot.execution.executor_types import CreateMigration, ExecutorInput
from gitbot.execution.request_records import fold_requests
from gitbot.execution.terminate import next_start
from gitbot.kubernetes.objects import KubernetesObject, at, uid_of
from gitbot.model.ledger.events import MoveState
from gitbot.model.ledger.ledger import Ledger


def reason_not_to_send(
    view: ExecutorInput,
    ledger: Ledger,
    effect: CreateMigration,
    instance: KubernetesObject | None,
    now: int,
) -> str:
    """Why the migration must not be created now; "" if it may.

    `view` is the basis of the decision; `ledger` and `instance` (the VMI) were read later.
    """
    event = effect.event
    request = fold_requests(ledger, view.cluster).get(effect.approved.id)
    record = request.moves.get(effect.move.id) if request is not None else None
    if request is None or record is None or request.cancelled:
        return "the request was cancelled"
    if record.state is not MoveState.INTENDED or record.migration != event.migration:
        return f"the move is {record.state} by now"
    if record.claim != event.claim or event.claim is None:
        return "another executor claimed it"
    if instance is None or uid_of(instance) != effect.move.vm.uid:
        return "the VM is gone or was restarted"
    node = str(at(instance, "status", "nodeName", default=""))
    if node != event.source:
        return f"the VM left {event.source} for {node or 'no known node'}"
    if now >= event.claim.until:
        return TOO_LATE
    starts = next_start(view.replace(now=now), effect.approved, effect.move, request)
    return "" if starts is not None and starts <= now else "its allowed time is over"
