"""The events of a calendar: what windows, freezes and requests say about a span of time."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from gitbot.calendar import (
    Appointment,
    Occurrence,
    Schedule,
    clock_time,
    current_or_next,
    occurrences,
)
from gitbot.intents.holidays import ALWAYS, freeze_times
from gitbot.intents.intent import Intent, IntentSet
from gitbot.intents.kinds.kind import CalendarEntries, DatedEntries
from gitbot.intents.kinds.maintenance_window.spec import NodesSpec
from gitbot.intents.registry import KINDS
from gitbot.intents.schedules import ScheduleSpec, is_sound
from gitbot.kubernetes.selectors import Scope
from gitbot.model.ledger.request_id import RequestId
from gitbot.model.text.instants import FOREVER, Interval, subtract


@dataclass(frozen=True, slots=True, kw_only=True)
class Agenda:
    """Asks a cluster's intents what happens when.

    `zone` is the cluster's, `announce` how long before its first moves a drain is proposed.
    `cancelled` are ledger ids of drains that a person cancelled. `count` says how many nodes a
    window has, None if nobody knows. `finished` are ledger ids of requests that never run again.
    `begins` is when approved drains may begin, by ledger id. `standings` are words about windows
    whose drain has begun or is over, by their names.
    `scope` chooses by the namespaces whose VMs an intent concerns, and by its labels.
    """

    intents: IntentSet
    zone: str | None
    announce: int = 0
    scope: Scope = field(default_factory=Scope)
    cancelled: Collection[str] = ()
    finished: Collection[str] = ()
    begins: Mapping[RequestId, int] = field(default_factory=dict)
    standings: Mapping[str, str] = field(default_factory=dict)
    count: Callable[[NodesSpec], int | None] = field(default=lambda _nodes: None)

    def events(self, *, after: int, before: int) -> tuple[Appointment, ...]:
        """Everything that touches [after, before), cancelled occurrences included, by time."""
        found = [event for one in self._sources() for event in self._within(one, after, before)]
        return tuple(sorted(found, key=lambda event: (event.time, *event.key)))

    def upcoming(self, *, now: int) -> tuple[Appointment, ...]:
        """Of each intent what is open or comes next, however far ahead.

        After a cancelled opening comes also the next one that is not cancelled.
        """
        found: list[Appointment] = []
        for one in self._sources():
            if isinstance(one, DatedEntries):
                found += one.between(now, min(FOREVER, now + one.ahead))[:1]
                continue
            if one.schedule is None:
                found.append(one.entry(None))
                continue
            plain = one.schedule.schedule(self.zone)
            following = current_or_next(plain, now=now) if is_sound(plain) else None
            for _ in range(_MOST_CANCELLED):
                if following is None:
                    break
                found.append(one.entry(following))
                if not found[-1].cancelled:
                    break
                following = current_or_next(plain, now=following.interval.end)
        return tuple(sorted(found, key=lambda event: (event.time, *event.key)))

    def _sources(self) -> Iterator[CalendarEntries]:
        for intent in self.intents.intents:
            if self.scope.holds("", intent.labels):
                entries = KINDS[intent.ref.kind].entries(self, intent, intent.spec)
                if entries is not None:
                    yield entries

    def concerns(self, namespace: str) -> bool:
        """Whether VMs of the namespace are asked about."""
        return self.scope.namespace in ("", namespace)

    def _within(self, source: CalendarEntries, after: int, before: int) -> list[Appointment]:
        if isinstance(source, DatedEntries):
            return source.between(after, before)
        if source.schedule is None:
            return [source.entry(None)]
        plain = source.schedule.schedule(self.zone)
        if not is_sound(plain):
            return []
        kept = occurrences(plain, after=after, before=before)
        found = [source.entry(each) for each in kept]
        ids = {each.id for each in kept}
        if not plain.exclude and not plain.holidays:
            return found
        for each in occurrences(
            replace(plain, exclude=(), holidays=()), after=after, before=before
        ):
            if each.id not in ids:
                why = plain.left_out(clock_time(each.start, plain.time_zone).date())
                found.append(replace(source.entry(each), cancelled=why, frozen=""))
        return found

    def event(
        self,
        intent: Intent,
        kind: Literal["window", "freeze"],
        schedule: ScheduleSpec | None,
        occurrence: Occurrence | None,
    ) -> Appointment:
        """An occurrence of an intent's schedule; with None, the time without end."""
        own = self.zone or ("" if schedule is not None else "UTC")
        return Appointment(
            kind=kind,
            name=intent.ref.name,
            time=occurrence.interval if occurrence is not None else ALWAYS,
            zone=(schedule.time_zone if schedule is not None else None) or own,
            id=occurrence.id if occurrence is not None else "",
            file=intent.ref.where,
        )

    def openings(self, schedule: Schedule, after: int, before: int) -> tuple[Interval, ...]:
        """The openings within a span; without an end, only the one that is open or comes next."""
        if before >= FOREVER:
            following = current_or_next(schedule, now=after)
            return () if following is None else (following.interval,)
        found = occurrences(schedule, after=after, before=before)
        return tuple(each.interval for each in found[:_MOST])

    def frozen(self, time: Interval, namespace: str) -> str:
        """Which freezes lie over a time. Those with a selector need a cluster and are left out."""
        left: tuple[Interval, ...] = (time,)
        names: list[str] = []
        for intent, freeze in self.intents.freeze_windows:
            limited = freeze.namespaces is not None and namespace not in freeze.namespaces
            if freeze.selector is not None or limited:
                continue
            over: tuple[Interval, ...] | None = (ALWAYS,)
            if freeze.schedule is not None:
                plain = freeze.schedule.schedule(self.zone)
                over = self.openings(plain, time.start, time.end) if is_sound(plain) else ()
            elif freeze.calendar is not None:
                until = min(time.end, time.start + _AHEAD)
                over = freeze_times(intent, freeze, zone=self.zone, after=time.start, before=until)
            rest = subtract(left, over or ())
            if rest != left:
                left, names = rest, [*names, intent.ref.name]
        if not names:
            return ""
        return f"{'partly' if left else 'wholly'} frozen by {', '.join(names)}"


_MOST = 500
_MOST_CANCELLED = 10  # in a row; beyond, a table would show little else
_AHEAD = 400 * 86_400
