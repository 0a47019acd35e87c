"""Windows that freezes leave no time, and windows of two zones that are open together.

Without a clock, the first 400 days of a schedule are judged; with `now`, the 400 days ahead.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations

from gitbot.calendar import (
    Appointment,
    Schedule,
    current_or_next,
    format_duration,
    occurrences,
    span_words,
)
from gitbot.documents import Path, finding_at
from gitbot.intents.holidays import ALWAYS, freeze_times
from gitbot.intents.intent import Intent
from gitbot.intents.kinds.freeze_window.spec import FreezeWindowSpec
from gitbot.intents.kinds.maintenance_window.spec import (
    AUTO,
    MaintenanceWindowSpec,
    NodesSpec,
)
from gitbot.intents.schedules import is_sound
from gitbot.intents.spec_fields import ZONE_KEY
from gitbot.model.plan.findings import Finding, Severity
from gitbot.model.plan.lead import MOST_LEAD
from gitbot.model.text.instants import FOREVER, Interval, intersect
from gitbot.model.text.wording import counted

FROZEN = "intents/wholly-frozen"
TWO_ZONES = "intents/two-zones"
TOO_SHORT = "intents/window-too-short"
_HORIZON = 400 * 86_400
_MOST = 500
_SCHEDULE: Path = ("spec", "schedule")
ZonesOf = Callable[[NodesSpec], frozenset[str]]


def zones_named(nodes: NodesSpec) -> frozenset[str]:
    """The zones that a window's selector names; none if only the cluster knows."""
    plain = nodes.selector.plain() if nodes.selector is not None else {}
    found = {plain.get("matchLabels", {}).get(ZONE_KEY, "")} - {""}
    for term in plain.get("matchExpressions", ()):
        if term["key"] == ZONE_KEY and term["operator"] == "In":
            found |= set(term["values"])
    return frozenset(found)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Window:
    """A window with its openings, each from its longest lead on."""

    intent: Intent
    spec: MaintenanceWindowSpec
    schedule: Schedule | None

    @property
    def name(self) -> str:
        return self.intent.ref.name

    @property
    def lead(self) -> int:
        return self.spec.drain.longest_lead if self.spec.nodes is not None else 0

    def first(self, now: int | None) -> int:
        """Where a year of its openings begins."""
        if now is not None or self.schedule is None:
            return now or 0
        found = current_or_next(self.schedule, now=0)
        return found.start - self.lead if found is not None else 0

    def openings(self, after: int) -> tuple[Interval, ...]:
        if self.schedule is None:
            return (ALWAYS,)
        return _openings(self.schedule, self.lead, after)


@lru_cache(maxsize=1024)
def _openings(schedule: Schedule, lead: int, after: int) -> tuple[Interval, ...]:
    found = occurrences(schedule, after=after, before=after + lead + _HORIZON)[:_MOST]
    return tuple(Interval(start=each.start - lead, end=each.end) for each in found)


def conflicts(
    intents: Sequence[Intent],
    zone: str | None,
    *,
    one_zone: bool,
    now: int | None = None,
    zones: ZonesOf = zones_named,
    changed: Collection[str] | None = None,
) -> list[Finding]:
    """A warning for each window that is wholly frozen, an error for each pair of two zones.

    `one_zone`: the cluster's `oneZoneAtATime`. Freezes with a selector or namespaces are left out:
    only the cluster knows which VMs of a node they leave free. With `changed` (ids), a pair of
    which neither has changed is a warning.
    """
    windows = []
    for intent in intents:
        spec = intent.spec
        if isinstance(spec, MaintenanceWindowSpec):
            plain = spec.schedule.schedule(zone) if spec.schedule is not None else None
            if plain is None or is_sound(plain):
                windows.append(_Window(intent=intent, spec=spec, schedule=plain))
    freezes = [
        (intent, intent.spec)
        for intent in intents
        if isinstance(intent.spec, FreezeWindowSpec)
        and intent.spec.selector is None
        and intent.spec.namespaces is None
    ]
    findings = [found for each in windows for found in _frozen(each, freezes, zone, now)]
    findings += [found for each in windows if now is None for found in _reboots(each)]
    if one_zone:
        drains = [(each, zones(each.spec.nodes)) for each in windows if each.spec.nodes is not None]
        for (one, here), (other, there) in combinations(sorted(drains, key=_name), 2):
            if here and there and len(here | there) > 1:
                ids = {one.intent.ref.id, other.intent.ref.id}
                stood = changed is not None and not ids & set(changed)
                severity = Severity.WARNING if stood else Severity.ERROR
                findings += _together(one, other, (here, there), now, severity)
    return findings


def without_clockless(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Without what lint says of the first year of schedules, for those who judge the year ahead."""
    return tuple(each for each in findings if each.code not in (FROZEN, TWO_ZONES, TOO_SHORT))


def _name(item: tuple[_Window, frozenset[str]]) -> str:
    return item[0].name


def _frozen(
    window: _Window,
    freezes: Sequence[tuple[Intent, FreezeWindowSpec]],
    zone: str | None,
    now: int | None,
) -> Iterator[Finding]:
    every = window.openings(window.first(now))
    if not every or not freezes:
        return
    rest: list[Interval] = []
    names: list[str] = []
    for span in (every[0], Interval(start=every[0].start, end=every[-1].end)):
        rest, names = [], []
        for intent, spec in freezes:
            times = freeze_times(intent, spec, zone=zone, after=span.start, before=span.end) or ()
            if intersect(times, (every[0],)):
                names.append(intent.ref.name)
            rest += times
        if not _covers(_merged(rest), every[:1]):
            return
    if not _covers(_merged(rest), every):
        return
    yield _frozen_finding(window, every, sorted(names))


def _merged(times: Sequence[Interval]) -> list[Interval]:
    """The same time as intervals that do not touch, sorted."""
    found: list[Interval] = []
    for each in sorted(times):
        if found and each.start <= found[-1].end:
            found[-1] = Interval(start=found[-1].start, end=max(found[-1].end, each.end))
        else:
            found.append(each)
    return found


def _covers(times: Sequence[Interval], openings: Sequence[Interval]) -> bool:
    starts = [each.start for each in times]
    for opening in openings:
        place = bisect_right(starts, opening.start) - 1
        if place < 0 or times[place].end < opening.end:
            return False
    return True


def _frozen_finding(window: _Window, every: Sequence[Interval], names: Sequence[str]) -> Finding:
    by = f"FreezeWindow {', '.join(names)}"
    if window.schedule is None:
        how = f"open from its merge on, {by} without an end"
    else:
        total = sum(each.end - each.start for each in every)
        first, last = (
            _words(window, Interval(start=each.start + window.lead, end=each.end))
            for each in (every[0], every[-1])
        )
        which = first if len(every) == 1 else f"{len(every)} openings, {first} to {last}"
        most = "at most " if window.spec.drain.lead == AUTO else ""
        lead = f" with {most}{format_duration(window.lead)} of lead" if window.lead else ""
        length = format_duration(total)
        how = f"{which}: {length} to move{lead}, {length} of it frozen by {by}"
    message = f"found a window that is wholly frozen ({how}), expected some time to move"
    return _finding(window, FROZEN, Severity.WARNING, message, "change its schedule, or the freeze")


def _reboots(window: _Window) -> Iterator[Finding]:
    """Named nodes that are away for longer than the window is open, however fast they are empty."""
    spec = window.spec
    if spec.nodes is None or spec.nodes.names is None or spec.schedule is None:
        return
    nodes, lanes = len(spec.nodes.names), spec.drain.max_nodes_at_once
    before, length = (-(-nodes // lanes) - 1) * spec.drain.reboot, spec.schedule.duration
    if before < length + window.lead:
        return
    lead = f", and {format_duration(window.lead)} of lead" if window.lead else ""
    message = (
        f"found a window of {format_duration(length)}{lead}, expected more than "
        f"{format_duration(before)}: {counted(nodes, 'node')}, {lanes} at once, "
        f"{format_duration(spec.drain.reboot)} away each, before the last can begin"
    )
    hint = "lengthen duration or lead, or drain fewer nodes in it"
    path: Path = (*_SCHEDULE, "duration")
    place = window.intent.positions.value(path)
    file = window.intent.ref.file
    yield finding_at(
        file, place, TOO_SHORT, message, path=path, hint=hint, severity=Severity.WARNING
    )


def _together(
    one: _Window,
    other: _Window,
    zones: tuple[frozenset[str], frozenset[str]],
    now: int | None,
    severity: Severity,
) -> Iterator[Finding]:
    after = max(one.first(now), other.first(now))
    mine, theirs = other.openings(after), one.openings(after)
    pairs = list(_overlaps(mine, theirs))
    if not pairs:
        return
    first, second = pairs[0]
    (both,) = intersect((first,), (second,))
    length = "" if both.end == FOREVER else f" for {format_duration(both.end - both.start)}"
    often = f", {counted(len(pairs), 'time')} in 400 days" if len(pairs) > 1 else ""
    message = (
        f"found {_words(other, first)} in zone {_listed(zones[1])} together with "
        f"{one.name} in zone {_listed(zones[0])} ({_words(one, second)}){length}{often}, "
        "expected one zone at a time (oneZoneAtATime)"
    )
    hint = "move one of the two, or exclude the day"
    if AUTO in (one.spec.drain.lead, other.spec.drain.lead):
        hint = f"{hint}; with lead: Auto moves may begin {format_duration(MOST_LEAD)} before"
    yield _finding(other, TWO_ZONES, severity, message, hint)


def _overlaps(
    mine: Sequence[Interval], theirs: Sequence[Interval]
) -> Iterator[tuple[Interval, Interval]]:
    place = 0
    for each in mine:
        while place < len(theirs) and theirs[place].end <= each.start:
            place += 1
        if place < len(theirs) and theirs[place].start < each.end:
            yield each, theirs[place]


def _listed(zones: frozenset[str]) -> str:
    return " and ".join(sorted(zones))


def _words(window: _Window, time: Interval) -> str:
    """`Sun 6 Dec 2026 20:00-02:00 Europe/Madrid`, from the first move on."""
    zone = window.schedule.time_zone if window.schedule is not None else "UTC"
    event = Appointment(kind="window", name=window.name, time=time, zone=zone)
    return span_words(event, now=0)


def _finding(window: _Window, code: str, severity: Severity, message: str, hint: str) -> Finding:
    path: Path = _SCHEDULE if window.schedule is not None else ("spec",)
    place = window.intent.positions.key(path)
    file = window.intent.ref.file
    return finding_at(file, place, code, message, hint, path=path, severity=severity)
