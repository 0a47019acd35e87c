"""Whether a node or a request has reached the state that another program waits for.

The ledger alone decides: nothing is asked of the cluster or the forge's API.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from gitbot.execution.ledger_folds import fold_nodes, occurrences_of
from gitbot.execution.request_records import fold_requests
from gitbot.model.ledger.events import NodeState
from gitbot.model.ledger.ledger import Ledger
from gitbot.model.ledger.request_id import RequestId
from gitbot.model.text.instants import format_instant


class WaitProgress(StrEnum):
    """`NEVER`: it ended in another way while it was waited for."""

    REACHED = "reached"
    NOT_YET = "not yet"
    NEVER = "never"


@dataclass(frozen=True, slots=True, kw_only=True)
class Awaited:
    """What the ledger says of the subject; `words` for people."""

    progress: WaitProgress
    words: str


def node_awaited(
    ledger: Ledger, cluster: str, node: str, *, wanted: NodeState, begun: int
) -> Awaited:
    """The node's newest maintenance; one that ended before `begun` (seconds UTC) does not count."""
    found = [
        (record, occurrence)
        for occurrence in occurrences_of(ledger, cluster)
        for record in [fold_nodes(ledger, cluster=cluster, occurrence=occurrence).get(node)]
        if record is not None
    ]
    if not found:
        return Awaited(progress=WaitProgress.NOT_YET, words="in no maintenance yet")
    record, occurrence = max(found, key=lambda item: item[0].since)
    words = f"{record.state} for {occurrence}, since {format_instant(record.since)}"
    if record.state is wanted:
        progress = WaitProgress.REACHED
    elif record.state in (NodeState.RETURNED, NodeState.CLOSED) and record.since >= begun:
        progress = WaitProgress.NEVER
    else:
        progress = WaitProgress.NOT_YET
    return Awaited(progress=progress, words=words)


def request_awaited(ledger: Ledger, cluster: str, request: RequestId) -> Awaited:
    """Whether all moves of a request have succeeded."""
    record = fold_requests(ledger, cluster).get(request)
    if record is None:
        words = "not in the ledger yet; gitbot apply records what is merged"
        return Awaited(progress=WaitProgress.NOT_YET, words=words)
    if record.outcome == "succeeded":
        progress = WaitProgress.REACHED
    else:
        progress = WaitProgress.NEVER if record.spent else WaitProgress.NOT_YET
    return Awaited(progress=progress, words=record.outcome)
