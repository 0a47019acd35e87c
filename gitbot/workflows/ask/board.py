"""The maintenance board: of each node what is planned, what happened, and what stays behind."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from gitbot.calendar import local_text
from gitbot.execution.cluster_facts import vms_by_node
from gitbot.execution.ledger_folds import occurrences_of, window_as_merged
from gitbot.execution.request_records import RequestRecord, fold_requests
from gitbot.intents import MaintenanceWindowSpec
from gitbot.model.ledger.events import MoveState, NodeChanged, NodeState
from gitbot.model.ledger.request_id import DrainId, OccurrenceId
from gitbot.model.text.instants import FOREVER
from gitbot.published import PublishedBoard, published
from gitbot.workflows.ask.maintenance import NodeStatus
from gitbot.workflows.ask.next_openings import NextOpening
from gitbot.workflows.ask.status import RECENT, MoveStatus, StatusResult
from gitbot.workflows.current_state import CurrentState

_Line = Mapping[str, object]


def board(seen: CurrentState, page: StatusResult) -> PublishedBoard:
    """What began or ended within a day, then what opens next."""
    begun: list[_Line] = []
    for occurrence in sorted(occurrences_of(seen.ledger, page.cluster), key=lambda it: it.id):
        times = _times(seen, occurrence)
        if occurrence in page.nodes or _last(times) >= page.now - RECENT:
            begun.append(_begun(seen, page, occurrence, times))
    known = {line["request"] for line in begun}
    ahead = (item for item in page.openings if item.request not in known)
    lines = [*begun, *(line for item in ahead for line in _ahead(seen, page, item))]
    fields = {"cluster": page.cluster, "time": page.now, "notRead": page.not_read, "windows": lines}
    return published(fields, PublishedBoard)


_Times = Mapping[str, Mapping[NodeState, int]]


def _times(seen: CurrentState, occurrence: OccurrenceId) -> _Times:
    """When each node entered each state last."""
    found: dict[str, dict[NodeState, int]] = {}
    for event in seen.ledger.nodes(seen.problem.cluster, occurrence):
        if isinstance(event, NodeChanged):
            found.setdefault(event.facts.node, {})[event.state] = event.time
    return found


def _last(times: _Times) -> int:
    return max((time for states in times.values() for time in states.values()), default=0)


def _begun(
    seen: CurrentState, page: StatusResult, occurrence: OccurrenceId, times: _Times
) -> _Line:
    drain = _drain(seen, page, occurrence.drain)
    merged = window_as_merged(seen.ledger, cluster=page.cluster, occurrence=occurrence)
    spans = merged.allowed if merged is not None else ()
    states = {node.record.node: node for node in page.nodes.get(occurrence, ())}
    names = sorted({*times, *(merged.nodes if merged is not None else ())})
    return {
        "window": occurrence.window,
        "occurrence": occurrence.id,
        "request": occurrence.drain,
        "starts": min((start for start, _ in spans), default=0),
        "ends": _end(max((end for _, end in spans), default=0)),
        "words": _span(spans, page.zone),
        "nodes": [_node(name, times.get(name, {}), states.get(name), drain) for name in names],
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class _DrainSoFar:
    """The drain of an occurrence. `late` are its moves that wait for no time; `then`: to type."""

    record: RequestRecord
    late: tuple[MoveStatus, ...]
    then: str


def _drain(seen: CurrentState, page: StatusResult, drain: DrainId) -> _DrainSoFar:
    record = fold_requests(seen.ledger, page.cluster).get(drain, RequestRecord(id=drain))
    mine = [item for item in page.requests if item.record.id == drain]
    commands = [item.next_command for item in mine]
    commands += [item.next_command for item in page.not_planned if item.request == drain]
    return _DrainSoFar(
        record=record,
        late=tuple(move for item in mine for move in item.moves if move.until <= seen.now),
        then=next(filter(None, commands), ""),
    )


def _end(end: int) -> int:
    return end if end < FOREVER else 0


def _span(spans: tuple[tuple[int, int], ...], zone: str) -> str:
    if not spans:
        return ""
    start, end = min(spans)[0], _end(max(end for _, end in spans))
    until = f" until {local_text(end, zone)}" if end else ""
    return f"from {local_text(start, zone)}{until} {zone}" if start > 0 else f"now{until}"


def _node(
    name: str,
    times: Mapping[NodeState, int],
    status: NodeStatus | None,
    drain: _DrainSoFar,
) -> _Line:
    moves = [move for move in drain.record.moves.values() if move.source == name]
    moves = [move for move in moves if move.outcome != "superseded"]
    stays = [*_stays(name, status, drain.late)]
    then = status.next_command if status is not None else ""
    state = max(times, key=lambda each: times[each], default=NodeState.WAITING)
    return {
        "node": name,
        "state": status.record.state if status is not None else state,
        "began": times.get(NodeState.DRAINING, 0),
        "empty": times.get(NodeState.READY, 0),
        "back": times.get(NodeState.RETURNED, 0),
        "cordon": status.cordon if status is not None else "",
        "planned": len(moves),
        "moved": sum(move.state is MoveState.SUCCEEDED for move in moves),
        "stays": stays,
        "next": then or (drain.then if stays else ""),
    }


def _stays(
    name: str, status: NodeStatus | None, waits: Iterable[MoveStatus]
) -> Iterator[Mapping[str, str]]:
    for vm in status.unplanned if status is not None else ():
        yield {"vm": str(vm), "why": "no approved plan has a move for it"}
    for move in waits:
        record = move.record
        failed = record.state in (MoveState.FAILED, MoveState.EXPIRED)
        if record.source == name and (failed or not (record.final or record.in_flight)):
            why = move.waits or record.reason or str(record.state)
            yield {"vm": str(record.vm), "why": why}


def _ahead(seen: CurrentState, page: StatusResult, item: NextOpening) -> Iterator[_Line]:
    """What opens next, with the nodes that it would empty now."""
    drain = item.request
    if not isinstance(drain, DrainId) or not isinstance(item.intent.spec, MaintenanceWindowSpec):
        return
    opening = None if page.not_read else seen.base.opening(item.intent, now=page.now)
    snapshot = seen.problem.snapshot
    goal = opening and seen.base.drain_goal(item.intent, opening, snapshot, now=page.now)
    vms, planned = vms_by_node(snapshot), _drain(seen, page, drain)
    yield {
        "window": drain.occurrence.window,
        "occurrence": drain.occurrence.id,
        "request": drain,
        "starts": item.begins or item.open.start,
        "ends": _end(item.open.end),
        "words": f"moves from {item.begin_words}; {item.words}" if item.begin_words else item.words,
        "nodes": [
            {
                **_node(name, {}, None, planned),
                "planned": len(vms.get(name, ())),
                "next": item.next_command or planned.then,
            }
            for name in (goal.nodes if goal else ())
        ],
    }
