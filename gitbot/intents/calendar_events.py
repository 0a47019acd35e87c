"""The events of a calendar: what windows, freezes and requests say about a span of time."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field, replace

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
from gitbot.intents.kinds.freeze_window.spec import FreezeWindowSpec
from gitbot.intents.kinds.maintenance_window.spec import MaintenanceWindowSpec, NodesSpec
from gitbot.intents.kinds.migration_request.spec import MigrationRequestSpec
from gitbot.intents.schedules import ScheduleSpec, is_sound
from gitbot.kubernetes.selectors import Scope
from gitbot.model.ledger.request_id import MigrationRequestId, OccurrenceId
from gitbot.model.text.instants import FOREVER, Interval, compact_instant, intersect, subtract


def nodes_words(nodes: NodesSpec) -> str:
    """`4 nodes`, or the labels that select them."""
    if nodes.names is not None:
        return _counted(len(nodes.names))
    plain = nodes.selector.plain() if nodes.selector is not None else {}
    labels = [f"{key}={value}" for key, value in plain.get("matchLabels", {}).items()]
    more = len(plain.get("matchExpressions", ()))
    labels += [f"{more} expression{'s' if more > 1 else ''}"] if more else []
    return f"nodes with {', '.join(labels)}"


def _counted(count: int) -> str:
    return f"{count} node{'' if count == 1 else 's'}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Agenda:
    """Asks a cluster's intents what happens when.

    `zone` is the cluster's, `announce` how long before its first moves a drain is proposed.
    `cancelled` are ledger ids of drains that a person cancelled. `count` says how many nodes a
    window has, None if nobody knows. `finished` are ledger ids of requests that never run again.
    `scope` chooses by the namespaces whose VMs an intent concerns, and by its labels.
    """

    intents: IntentSet
    zone: str | None
    announce: int = 0
    scope: Scope = field(default_factory=Scope)
    cancelled: Collection[str] = ()
    finished: Collection[str] = ()
    count: Callable[[NodesSpec], int | None] = field(default=lambda _nodes: None)

    def events(self, *, after: int, before: int) -> tuple[Appointment, ...]:
        """Everything that touches [after, before), cancelled occurrences included, by time."""
        found = [event for one in self._sources() for event in self._within(one, after, before)]
        return tuple(sorted(found, key=_order))

    def upcoming(self, *, now: int) -> tuple[Appointment, ...]:
        """Of each intent what is open or comes next, however far ahead."""
        found = []
        for intent, spec, schedule in self._sources():
            if isinstance(spec, MigrationRequestSpec) or schedule is None:
                dated = isinstance(spec, FreezeWindowSpec) and spec.calendar is not None
                until = now + _AHEAD if dated else FOREVER
                found += self._within((intent, spec, schedule), now, until)[:1]
                continue
            plain = schedule.schedule(self.zone)
            following = current_or_next(plain, now=now) if is_sound(plain) else None
            if following is not None:
                found.append(self._event(intent, spec, plain, following))
        return tuple(sorted(found, key=_order))

    def _sources(self) -> Iterator[_Source]:
        for intent in self.intents.intents:
            spec = intent.spec
            if not self.scope.holds("", intent.labels):
                continue
            match spec:
                case MaintenanceWindowSpec():
                    yield intent, spec, spec.schedule
                case FreezeWindowSpec(namespaces=only):
                    if only is None or any(map(self._own, only)):
                        yield intent, spec, spec.schedule
                case MigrationRequestSpec() if self._own(intent.ref.namespace) and (
                    MigrationRequestId.of(intent.ref) not in self.finished
                ):
                    yield intent, spec, None

    def _own(self, namespace: str) -> bool:
        return self.scope.namespace in ("", namespace)

    def _within(self, source: _Source, after: int, before: int) -> list[Appointment]:
        intent, spec, schedule = source
        if isinstance(spec, MigrationRequestSpec):
            return list(self._request(intent, spec, after, before))
        if isinstance(spec, FreezeWindowSpec) and spec.calendar is not None:
            return self._holidays(intent, spec, after, before)
        if schedule is None:
            return [self._event(intent, spec, None, None)]
        plain = schedule.schedule(self.zone)
        if not is_sound(plain):
            return []
        kept = occurrences(plain, after=after, before=before)
        found = [self._event(intent, spec, plain, each) for each in kept]
        ids = {each.id for each in kept}
        if not plain.exclude and not plain.holidays:
            return found
        for each in occurrences(
            replace(plain, exclude=(), holidays=()), after=after, before=before
        ):
            if each.id not in ids:
                event = self._event(intent, spec, plain, each)
                why = plain.left_out(clock_time(each.start, plain.time_zone).date())
                found.append(replace(event, cancelled=why, frozen=""))
        return found

    def _holidays(
        self, intent: Intent, spec: FreezeWindowSpec, after: int, before: int
    ) -> list[Appointment]:
        event = self._event(intent, spec, None, None)
        zone = (spec.calendar.time_zone if spec.calendar else None) or event.zone
        found = [
            replace(
                event,
                time=time,
                zone=zone,
                id=compact_instant(time.start),
                what=f"{event.what}: {each.summary}" if each.summary else event.what,
            )
            for each in intent.holidays
            for time in each.times(zone, after=after, before=before)
        ]
        return sorted(found, key=_order)[:_MOST]

    def _event(
        self,
        intent: Intent,
        spec: MaintenanceWindowSpec | FreezeWindowSpec,
        schedule: Schedule | None,
        occurrence: Occurrence | None,
    ) -> Appointment:
        event = Appointment(
            kind="freeze",
            name=intent.ref.name,
            time=occurrence.interval if occurrence is not None else ALWAYS,
            zone=schedule.time_zone if schedule is not None else self.zone or "UTC",
            id=occurrence.id if occurrence is not None else "",
            file=intent.ref.where,
        )
        if isinstance(spec, FreezeWindowSpec):
            return replace(event, what=_frozen_words(spec))
        event = replace(event, kind="window", frozen=self._frozen(event.time, ""))
        if spec.nodes is None:
            return replace(event, what="change window")
        count = self.count(spec.nodes)
        what = nodes_words(spec.nodes) if count is None else _counted(count)
        if occurrence is None:
            return replace(event, what=what)
        drain = OccurrenceId(window=intent.ref.name, id=occurrence.id).drain
        first = occurrence.start - spec.drain.lead
        return replace(
            event,
            what=what,
            lead=spec.drain.lead,
            announced=first - self.announce,
            cancelled="by a person" if drain in self.cancelled else "",
        )

    def _request(
        self, intent: Intent, spec: MigrationRequestSpec, after: int, before: int
    ) -> Iterator[Appointment]:
        """[notBefore, deadline) inside the openings of its window."""
        start = spec.not_before if spec.not_before is not None else 0
        end = spec.deadline if spec.deadline is not None else FOREVER
        if start >= min(end, before) or end <= after:
            return
        times: tuple[Interval, ...] = (Interval(start=start, end=end),)
        zone = self.zone or "UTC"
        window = self.intents.find("MaintenanceWindow", spec.window or "")
        if window is not None and isinstance(window.spec, MaintenanceWindowSpec):
            schedule = window.spec.schedule
            if schedule is not None and is_sound(plain := schedule.schedule(self.zone)):
                times = intersect(times, _openings(plain, max(after, start), min(before, end)))
                zone = plain.time_zone
        for time in times:
            yield Appointment(
                kind="request",
                name=f"{intent.ref.namespace}/{intent.ref.name}",
                time=time,
                zone=zone,
                what=f"in window {spec.window}" if spec.window else "",
                frozen=self._frozen(time, intent.ref.namespace),
                file=intent.ref.where,
            )

    def _frozen(self, time: Interval, namespace: str) -> str:
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
                over = _openings(plain, time.start, time.end) if is_sound(plain) else ()
            elif freeze.calendar is not None:
                until = min(time.end, time.start + _AHEAD)
                over = freeze_times(intent, freeze, zone=self.zone, after=time.start, before=until)
            rest = subtract(left, over or ())
            if rest != left:
                left, names = rest, [*names, intent.ref.name]
        if not names:
            return ""
        return f"{'partly' if left else 'wholly'} frozen by {', '.join(names)}"


_Source = tuple[
    Intent, MaintenanceWindowSpec | FreezeWindowSpec | MigrationRequestSpec, ScheduleSpec | None
]
_MOST = 500
_AHEAD = 400 * 86_400


def _openings(schedule: Schedule, after: int, before: int) -> tuple[Interval, ...]:
    if before >= FOREVER:
        following = current_or_next(schedule, now=after)
        return () if following is None else (following.interval,)
    found = occurrences(schedule, after=after, before=before)
    return tuple(each.interval for each in found[:_MOST])


def _frozen_words(spec: FreezeWindowSpec) -> str:
    where = f"in {', '.join(spec.namespaces)}" if spec.namespaces is not None else "everywhere"
    some = "some VMs " if spec.selector is not None else ""
    return f"{some}{where}" + (f": {spec.reason}" if spec.reason else "")


def _order(event: Appointment) -> tuple[int, int, str, str]:
    return event.time.start, event.time.end, event.kind, event.name
