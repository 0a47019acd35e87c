"""The next openings of windows and freezes, in their local time."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from gitbot.calendar import Occurrence, current_or_next, local_text, occurrence_words
from gitbot.execution.cluster_facts import vms_by_node
from gitbot.execution.executor_types import Approved
from gitbot.execution.request_records import RequestRecord, RequestState
from gitbot.intents import (
    AUTO,
    FreezeWindowSpec,
    Intent,
    MaintenanceWindowSpec,
    ScheduleSpec,
    freeze_times,
)
from gitbot.intents.compile import HORIZON, Opening
from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.model.ledger.request_id import DrainId, RequestId
from gitbot.model.text.instants import Interval
from gitbot.reports import further_merges
from gitbot.workflows.core.revision_engine import RevisionEngine
from gitbot.workflows.current_state import CurrentState

CANCELLED = "cancelled"
EMPTY = "nothing to move"


@dataclass(frozen=True, slots=True, kw_only=True)
class NextOpening:
    """One window or freeze. `request` is the drain of the occurrence, None if it drains nothing.

    `words` say when, in local time; `state` is that of the drain, "" if it has none yet. `begins`:
    when its moves may begin, 0 at its start or if no approved plan has decided it; `begin_words`
    say so in local time. `then`: what else needs a merge.
    """

    intent: Intent
    open: Interval
    words: str
    request: RequestId | None = None
    state: str = ""
    next_command: str = ""
    begins: int = 0
    begin_words: str = ""
    then: str = ""


def next_openings(
    base: RevisionEngine,
    records: Mapping[RequestId, RequestRecord],
    approved: tuple[Approved, ...],
    *,
    now: int,
    ended: Collection[RequestId] = (),
) -> tuple[NextOpening, ...]:
    """Of every schedule the occurrence that is open or comes next, the soonest first.

    One whose drain is in `ended` is past, however long it stays open; so is a cancelled one.
    """
    found = [*_windows(base, records, approved, now, ended), *_freezes(base, now)]
    return tuple(sorted(found, key=lambda item: (item.open, item.intent.ref)))


def _windows(
    base: RevisionEngine,
    records: Mapping[RequestId, RequestRecord],
    approved: tuple[Approved, ...],
    now: int,
    ended: Collection[RequestId],
) -> Iterator[NextOpening]:
    for intent, spec in base.intents.maintenance_windows:
        opening = _opening(base, records, intent, now, ended) if spec.schedule is not None else None
        if opening is None or spec.schedule is None:
            continue
        drains = spec.nodes is not None
        begins = _begins(spec, opening, approved) if drains else 0
        named = spec.schedule.time_zone or base.revision.zone or "UTC"
        yield NextOpening(
            intent=intent,
            open=opening.open,
            words=words_of(spec.schedule, opening.open, zone=base.revision.zone, now=now),
            request=opening.drain if drains else None,
            state=drain_state(records, approved, opening.drain) if drains else "",
            next_command=_next(base, records, approved, opening, now=now) if drains else "",
            begins=begins,
            begin_words=f"{local_text(begins, named)} {named}" if begins else "",
            then=_then(base, spec, opening, records, approved, now=now) if drains else "",
        )


def _then(
    base: RevisionEngine,
    spec: MaintenanceWindowSpec,
    opening: Opening,
    records: Mapping[RequestId, RequestRecord],
    approved: tuple[Approved, ...],
    *,
    now: int,
) -> str:
    """What else needs a merge, for a drain that waits for its opening; "" for any other."""
    waits = drain_state(records, approved, opening.drain) in (
        RequestState.APPROVED,
        RequestState.HELD,
    )
    if not waits or spec.schedule is None:
        return ""
    begins = _begins(spec, opening, approved) or opening.open.start
    return further_merges(
        home=spec.return_home == "Propose",
        begins=begins,
        announced=begins - base.settings.proposals.announce,
        now=now,
        zone=spec.schedule.time_zone or base.revision.zone or "UTC",
    )


def _begins(spec: MaintenanceWindowSpec, opening: Opening, approved: tuple[Approved, ...]) -> int:
    """When the moves of an opening may begin, if that is before its start and known."""
    spans = [span for item in approved if item.id == opening.drain for span in item.terms.allowed]
    if spec.drain.lead != AUTO:
        spans = [opening.allowed]
    first = min((span.start for span in spans), default=opening.open.start)
    return first if first < opening.open.start else 0


def is_empty(seen: CurrentState, item: NextOpening) -> bool:
    """Whether its nodes are known to hold no VM now, and gitbot does not cordon them either."""
    return not seen.unread and needs_nothing(seen.base, item, seen.problem.snapshot, now=seen.now)


def needs_nothing(
    base: RevisionEngine, item: NextOpening, snapshot: ClusterSnapshot, *, now: int
) -> bool:
    """Whether the nodes of the opening hold no VM in the snapshot, and gitbot cordons none."""
    if not isinstance(item.request, DrainId):
        return False
    opening = base.opening(item.intent, now=now, occurrence=item.request.occurrence.id)
    if opening is None:
        return False
    goal = base.drain_goal(item.intent, opening, snapshot, now=now)
    if goal is None or goal.cordons_empty:
        return False
    return vms_by_node(snapshot).keys().isdisjoint(goal.nodes)


def _opening(
    base: RevisionEngine,
    records: Mapping[RequestId, RequestRecord],
    intent: Intent,
    now: int,
    ended: Collection[RequestId],
) -> Opening | None:
    """The one that is open or comes next, and whose drain is not over."""

    def is_over(opening: Opening) -> bool:
        past = opening.drain in ended and opening.open.start <= now
        return past or drain_state(records, (), opening.drain) == CANCELLED

    opening = base.opening(intent, now=now)
    while opening is not None and is_over(opening):
        after = base.opening(intent, now=opening.open.end)
        opening = after if after is not None and after.open > opening.open else None
    return opening


def _freezes(base: RevisionEngine, now: int) -> Iterator[NextOpening]:
    zone = base.revision.zone
    for intent, spec in base.intents.freeze_windows:
        if spec.calendar is not None:
            yield from _next_holiday(intent, spec, zone, now)
        if spec.schedule is None:
            continue
        found = current_or_next(spec.schedule.schedule(zone), now=now)
        if found is not None:
            words = words_of(spec.schedule, found.interval, zone=zone, now=now)
            yield NextOpening(intent=intent, open=found.interval, words=words)


def _next_holiday(
    intent: Intent, spec: FreezeWindowSpec, zone: str | None, now: int
) -> Iterator[NextOpening]:
    ahead = freeze_times(intent, spec, zone=zone, after=now, before=now + HORIZON)
    for time in (ahead or ())[:1]:
        occurrence = Occurrence(start=time.start, end=time.end, id="")
        where = (spec.calendar.time_zone if spec.calendar else None) or zone or "UTC"
        yield NextOpening(
            intent=intent, open=time, words=occurrence_words(occurrence, where, now=now)
        )


def words_of(schedule: ScheduleSpec, interval: Interval, *, zone: str | None, now: int) -> str:
    occurrence = Occurrence(start=interval.start, end=interval.end, id="")
    return occurrence_words(occurrence, schedule.time_zone or zone or "UTC", now=now)


def drain_state(
    records: Mapping[RequestId, RequestRecord], approved: tuple[Approved, ...], request: RequestId
) -> str:
    record = records.get(request)
    if record is not None:
        late = record.state is RequestState.SUCCEEDED
        return CANCELLED if record.cancelled and not late else str(record.state)
    return "approved" if any(item.id == request for item in approved) else ""


def _next(
    base: RevisionEngine,
    records: Mapping[RequestId, RequestRecord],
    approved: tuple[Approved, ...],
    opening: Opening,
    *,
    now: int,
) -> str:
    """`gitbot propose` for a drain that is announced and that nobody has planned."""
    announced = opening.allowed.start - base.settings.proposals.announce <= now
    known = drain_state(records, approved, opening.drain)
    return "gitbot propose" if announced and not known else ""
