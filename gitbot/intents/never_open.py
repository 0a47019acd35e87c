"""Requests that can never run, at any time.

A request may run in [notBefore, deadline], while its window is open, and outside freezes. This file
uses only the intents. Freezes with a selector need a snapshot, which knows the VMs that they
select.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from functools import lru_cache

from gitbot.calendar import (
    Occurrence,
    Schedule,
    current_or_next,
    format_duration,
    occurrences,
)
from gitbot.documents import Path, finding_at
from gitbot.intents.holidays import freeze_times
from gitbot.intents.intent import Intent, IntentSet
from gitbot.intents.kinds.freeze_window.spec import FreezeWindowSpec
from gitbot.intents.kinds.maintenance_window.spec import MaintenanceWindowSpec
from gitbot.intents.kinds.migration_request.spec import MigrationRequestSpec
from gitbot.intents.schedules import ScheduleSpec, is_sound
from gitbot.intents.window_conflicts import TWO_ZONES
from gitbot.model.ledger.request_id import MigrationRequestId
from gitbot.model.plan.findings import Finding, Severity
from gitbot.model.text.instants import FOREVER, Interval, format_instant, intersect, subtract
from gitbot.model.text.wording import counted

NEVER_OPEN = "intents/never-open"
_HORIZON = 400 * 86_400  # no realistic freeze covers more time
_MOST = 500


def never_open(intents: Sequence[Intent], zone: str | None) -> list[Finding]:
    """A finding for every request that its own times, its window and the freezes never let run.

    `zone` is the time zone of the cluster, for schedules that name none.
    """
    windows = {
        intent.ref.name: intent.spec
        for intent in intents
        if isinstance(intent.spec, MaintenanceWindowSpec)
    }
    freezes = _Freezes(
        (intent, intent.spec) for intent in intents if isinstance(intent.spec, FreezeWindowSpec)
    )
    findings: list[Finding] = []
    for intent in intents:
        if isinstance(intent.spec, MigrationRequestSpec):
            findings += _judge(intent, intent.spec, windows, freezes, zone)
    return findings


def without_finished(
    findings: Sequence[Finding], intents: IntentSet, finished: Callable[[], Collection[str]]
) -> tuple[Finding, ...]:
    """The findings without those of `never_open` about requests whose ledger ids are `finished`.

    Today's freeze does not affect last week's requests. The ledger is read only if needed.
    """
    if not any(finding.code == NEVER_OPEN for finding in findings):
        return tuple(findings)
    ended = finished()
    above = _Documents(intents)
    return tuple(
        item for item in findings if item.code != NEVER_OPEN or above.request(item) not in ended
    )


def without_repeated(
    findings: Sequence[Finding], intents: IntentSet, known: Iterable[Finding]
) -> tuple[Finding, ...]:
    """What compiling found, without requests of which `known` says already that they never run."""
    above = _Documents(intents)
    said = {above.request(item) for item in known if item.code == NEVER_OPEN}
    if not said:
        return tuple(findings)
    return tuple(
        item for item in findings if item.code != NEVER_OPEN or above.request(item) not in said
    )


class _Documents:
    """The document that a finding is about: the last one that begins above its line."""

    def __init__(self, intents: IntentSet) -> None:
        self._places = sorted(
            (intent.ref.file, intent.ref.line, MigrationRequestId.of(intent.ref))
            for intent in intents.intents
        )

    def request(self, finding: Finding) -> MigrationRequestId | None:
        above = [
            place for place in self._places if place[0] == finding.file and place[1] <= finding.line
        ]
        return above[-1][2] if above else None


def stops(finding: Finding) -> bool:
    """Whether this finding stops all planning.

    A request that can never run stops only itself; windows of two zones fail the check.
    """
    return finding.severity is Severity.ERROR and finding.code not in (NEVER_OPEN, TWO_ZONES)


def _judge(
    intent: Intent,
    spec: MigrationRequestSpec,
    windows: dict[str, MaintenanceWindowSpec],
    freezes: _Freezes,
    zone: str | None,
) -> list[Finding]:
    bounds = _bounds(spec)
    window = windows.get(spec.window or "")
    schedule = window.schedule if window is not None else None
    if schedule is not None and not _ever_open(schedule, bounds, zone):
        why = f"{spec.window} is never open {_between(spec)}{_opens(schedule, bounds, zone)}"
        return [_finding(intent, spec, why)]
    relevant = freezes.over(intent.ref.namespace)
    if not relevant:
        return []
    allowed = (bounds,) if schedule is None else _openings(schedule, bounds, zone)
    for source, freeze in relevant:
        if allowed is None:
            return []
        frozen = _frozen(source, freeze, bounds, zone)
        allowed = allowed if frozen is None else subtract(allowed, frozen)
        if not allowed:
            known = bounds.end < FOREVER and (schedule is not None or spec.not_before is not None)
            whole = f" ({_sum(schedule, bounds, zone)})" if known else ""
            why = f"FreezeWindow {source.ref.name} covers all its time{whole}"
            return [_finding(intent, spec, why)]
    return []


class _Freezes:
    """Freezes without selector by namespace, each with its name, in the order given."""

    def __init__(self, freezes: Iterable[tuple[Intent, FreezeWindowSpec]]) -> None:
        self._all = [item for item in freezes if item[1].selector is None]
        self._named = {name for _, freeze in self._all for name in freeze.namespaces or ()}
        self._everywhere = any(freeze.namespaces is None for _, freeze in self._all)

    def over(self, namespace: str) -> list[tuple[Intent, FreezeWindowSpec]]:
        """The freezes that certainly apply to every VM of a namespace."""
        if not self._everywhere and namespace not in self._named:
            return []
        return [
            item
            for item in self._all
            if item[1].namespaces is None or namespace in item[1].namespaces
        ]


def _bounds(spec: MigrationRequestSpec) -> Interval:
    begin = spec.not_before
    if begin is None:
        begin = max(0, spec.deadline - _HORIZON) if spec.deadline is not None else 0
    return Interval(start=begin, end=FOREVER if spec.deadline is None else spec.deadline)


def _ever_open(schedule: ScheduleSpec, bounds: Interval, zone: str | None) -> bool:
    plain = schedule.schedule(zone)
    if not is_sound(plain):
        return True  # reported where it is written
    first = _first(plain, bounds.start)
    return first is not None and first.start < bounds.end


@lru_cache(maxsize=4096)
def _first(schedule: Schedule, after: int) -> Occurrence | None:
    """The first occurrence that ends after an instant. Cached: many requests ask the same."""
    return current_or_next(schedule, now=after)


def _frozen(
    intent: Intent, freeze: FreezeWindowSpec, bounds: Interval, zone: str | None
) -> tuple[Interval, ...] | None:
    if freeze.calendar is not None:
        if bounds.end - bounds.start > _HORIZON:
            return None
        return freeze_times(intent, freeze, zone=zone, after=bounds.start, before=bounds.end)
    return (bounds,) if freeze.schedule is None else _openings(freeze.schedule, bounds, zone)


def _openings(
    schedule: ScheduleSpec, bounds: Interval, zone: str | None
) -> tuple[Interval, ...] | None:
    """The openings within short bounds; None if there are too many to conclude "never"."""
    plain = schedule.schedule(zone)
    if bounds.end - bounds.start > _HORIZON or not is_sound(plain):
        return None
    found = occurrences(plain, after=bounds.start, before=bounds.end)
    if len(found) > _MOST:
        return None
    return intersect((bounds,), tuple(occurrence.interval for occurrence in found))


def _opens(schedule: ScheduleSpec, bounds: Interval, zone: str | None) -> str:
    """`: it opens first 3 d after its deadline`; "" if it never opens again."""
    found = _first(schedule.schedule(zone), bounds.start)
    if found is None:
        return ": its last opening is over before"
    return f": it opens {format_duration(found.start - bounds.end)} after its deadline"


def _sum(schedule: ScheduleSpec | None, bounds: Interval, zone: str | None) -> str:
    """`2 h in 1 opening, all of it frozen`."""
    times = (bounds,) if schedule is None else _openings(schedule, bounds, zone) or ()
    total = format_duration(sum(each.end - each.start for each in times))
    inside = f" in {counted(len(times), 'opening')}" if schedule is not None else ""
    return f"{total}{inside}, all of it frozen"


def _between(spec: MigrationRequestSpec) -> str:
    begin = f"after {format_instant(spec.not_before)}" if spec.not_before is not None else ""
    end = f"before {format_instant(spec.deadline)}" if spec.deadline is not None else ""
    return " and ".join(part for part in (begin, end) if part) or "at all"


def _finding(intent: Intent, spec: MigrationRequestSpec, why: str) -> Finding:
    path: Path = ("spec",)
    if spec.deadline is not None:
        path = ("spec", "deadline")
    elif spec.window is not None:
        path = ("spec", "window")
    place = intent.positions.value(path) if len(path) > 1 else intent.positions.key(path)
    message = f"found a request that can never run: {why}, expected some time to run"
    hint = "change its times, its window, or the freeze"
    return finding_at(intent.ref.file, place, NEVER_OPEN, message, path=path, hint=hint)
