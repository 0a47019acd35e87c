"""When moves may run: windows, freezes, notBefore and deadline as intervals in seconds UTC."""

from __future__ import annotations

from gitbot.calendar import Occurrence, current_or_next, occurrences
from gitbot.intents.kinds.maintenance_window.spec import MaintenanceWindowSpec
from gitbot.intents.kinds.migration_request.spec import MigrationRequestSpec
from gitbot.intents.schedules import ScheduleSpec
from gitbot.model.plan.problem import ALWAYS
from gitbot.model.text.instants import FOREVER, Interval, intersect

HORIZON = 400 * 86400
"""How far ahead we look for occurrences, in seconds: more than a year."""

MAX_OPENINGS = 100
"""How many openings of one schedule count: enough for any plan, and bounded work."""


def openings(
    schedule: ScheduleSpec | None, *, zone: str | None, now: int, until: int = FOREVER
) -> tuple[Interval, ...]:
    """When a schedule is open from now on; always open without a schedule."""
    if schedule is None:
        return ALWAYS
    before = min(until, now + HORIZON)
    found = occurrences(schedule.schedule(zone), after=now, before=before)
    if not found and until > now:
        following = current_or_next(schedule.schedule(zone), now=now)
        found = (following,) if following is not None and following.start < until else ()
    return tuple(occurrence.interval for occurrence in found[:MAX_OPENINGS])


def drain_occurrence(
    window: MaintenanceWindowSpec, *, zone: str | None, now: int, occurrence: str = ""
) -> Occurrence | None:
    """The occurrence of a scheduled window with that id, else the one that is open or comes next.

    Finds an ended occurrence by its id only if it ended less than HORIZON ago.
    """
    if window.schedule is None:
        return None
    schedule = window.schedule.schedule(zone)
    if not occurrence:
        return current_or_next(schedule, now=now)
    found = occurrences(schedule, after=now - HORIZON, before=now + HORIZON)
    return next((each for each in found if each.id == occurrence), None)


def drain_time(window: MaintenanceWindowSpec, occurrence: Occurrence | None) -> Interval:
    """When moves of one occurrence may run: [start - lead, end); always without a schedule.

    With `lead: Auto` a plan begins later than this, see `EmptyNodes.ready_by`.
    """
    if occurrence is None:
        return ALWAYS[0]
    return Interval(start=occurrence.start - window.drain.longest_lead, end=occurrence.end)


def request_time(
    request: MigrationRequestSpec,
    window: MaintenanceWindowSpec | None,
    *,
    zone: str | None,
    now: int,
) -> tuple[Interval, ...]:
    """[notBefore, deadline) inside the openings of its window; may be empty.

    Openings that ended before `now` are left out.
    """
    start = request.not_before if request.not_before is not None else 0
    end = request.deadline if request.deadline is not None else FOREVER
    if start >= end:
        return ()
    own = (Interval(start=start, end=end),)
    if window is None:
        return own
    return intersect(own, openings(window.schedule, zone=zone, now=max(now, start), until=end))


def left(times: tuple[Interval, ...], now: int) -> tuple[Interval, ...]:
    return intersect(times, (Interval(start=now, end=FOREVER),)) if times else ()
