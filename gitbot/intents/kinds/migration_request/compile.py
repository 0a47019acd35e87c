"""MigrationRequests to goals: which VMs, where to, when, and findings about the cluster."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from gitbot.calendar import Occurrence, occurrence_words
from gitbot.constraints.moves.instances import Instances
from gitbot.documents import Path
from gitbot.intents.allowed_times import left, request_time
from gitbot.intents.intent import Intent, IntentSet
from gitbot.intents.intent_findings import error
from gitbot.intents.kinds.kind import CompiledGoals, GoalInputs
from gitbot.intents.kinds.maintenance_window.spec import MaintenanceWindowSpec
from gitbot.intents.kinds.migration_request.selected_vms import choose_vms
from gitbot.intents.kinds.migration_request.spec import MigrationRequestSpec
from gitbot.intents.request_history import NO_PAST, RequestHistory
from gitbot.intents.selected_nodes import already_there, target_errors, target_of
from gitbot.kubernetes.names import NamespacedName
from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.model.ledger.request_id import MigrationRequestId, RequestId
from gitbot.model.plan.findings import Finding, sort_key
from gitbot.model.plan.problem import Balance, MoveVms, Request, Target
from gitbot.model.text.instants import Interval, compact_instant, format_instant


def request_id(intent: Intent) -> MigrationRequestId:
    return MigrationRequestId.of(intent.ref)


def compile_requests(
    intents: IntentSet,
    snapshot: ClusterSnapshot | Instances,
    *,
    now: int,
    zone: str | None = None,
    past: RequestHistory = NO_PAST,
    only: Collection[RequestId] | None = None,
) -> tuple[tuple[MoveVms, ...], tuple[Finding, ...]]:
    """A goal for each MigrationRequest that is not finished, sorted by ledger id.

    `only` names ledger ids; `zone` is the cluster's time zone. Unknown VMs stay in the goal, so
    that the plan holds them by name. A request that is impossible on this cluster (its target does
    not exist, it selects nothing or too much, its time is over) has findings and no goal.
    """
    instances = snapshot if isinstance(snapshot, Instances) else Instances.of(snapshot)
    goals: list[MoveVms] = []
    findings: list[Finding] = []
    for intent, spec in intents.migration_requests:
        request = request_id(intent)
        if only is not None and request not in only:
            continue
        findings += _history(intent, request, past)
        if request in past.finished:
            continue
        allowed = allowed_for(intents, spec, now=now, zone=zone)
        chosen = choose_vms(intent, spec.vms, instances, begun=request in past.started)
        target = target_of(spec.target)
        errors = [
            *target_errors(intent, spec.target, instances),
            *_time_errors(intents, intent, spec, now=now, zone=zone),
        ]
        findings += [*chosen.findings, *errors]
        findings += already_there(intent, chosen.vms, target, instances)
        if chosen.vms and not errors:
            work = Request(
                id=request,
                intent=intent.ref,
                allowed=allowed,
                first_move=past.next_move(request),
                allow_breach=spec.allow_breach,
            )
            goals.append(_goal(work, spec, chosen.vms, target))
    goals.sort(key=lambda each: each.request.id)
    return tuple(goals), tuple(sorted(findings, key=sort_key))


def _goal(
    request: Request, spec: MigrationRequestSpec, vms: tuple[NamespacedName, ...], target: Target
) -> MoveVms:
    even = spec.target is not None and spec.target.balance is not None
    balance = Balance() if even else None
    return MoveVms(request=request, vms=vms, target=target, pin=spec.effective_pin, balance=balance)


def goals(intents: IntentSet, instances: Instances, asked: GoalInputs) -> CompiledGoals:
    wanted = {
        request_id(intent) for intent, _ in intents.migration_requests if asked.wanted(intent.ref)
    }
    return compile_requests(
        intents, instances, now=asked.now, zone=asked.zone, past=asked.past, only=wanted
    )


def allowed_for(
    intents: IntentSet, spec: MigrationRequestSpec, *, now: int, zone: str | None
) -> tuple[Interval, ...]:
    """When a request may run: its own interval inside the openings of its window.

    Empty if it names a window that does not exist.
    """
    window = _window(intents, spec)
    if spec.window is not None and window is None:
        return ()
    return request_time(spec, window, zone=zone, now=now)


def _window(intents: IntentSet, spec: MigrationRequestSpec) -> MaintenanceWindowSpec | None:
    found = intents.window(spec.window or "")
    return found[1] if found is not None else None


def _history(intent: Intent, request: RequestId, past: RequestHistory) -> Iterator[Finding]:
    """A name used again after it finished, or an edit after it started."""
    before = past.started.get(request)
    if not before or before == intent.spec_digest:
        return
    if request in past.finished:
        yield error(
            intent,
            ("metadata", "name"),
            "finished-name",
            f"{request} has run and is finished, under another spec",
            "a request runs once; give this one a new name",
        )
    else:
        yield error(
            intent,
            ("spec",),
            "edited-after-start",
            f"{request} has started under another spec; the edit has no effect",
            "undo the edit, or `gitbot cancel` it and write a new request",
        )


def _time_errors(
    intents: IntentSet,
    intent: Intent,
    spec: MigrationRequestSpec,
    *,
    now: int,
    zone: str | None,
) -> Iterator[Finding]:
    if spec.deadline is not None and spec.deadline <= now:
        passed = f"the deadline {format_instant(spec.deadline)} has passed"
        message = f"{passed} (now {format_instant(now)})"
        yield error(intent, ("spec", "deadline"), "deadline-passed", message, "give a later one")
    elif not left(allowed_for(intents, spec, now=now, zone=zone), now):
        path: Path = ("spec", "window")
        message, hint = _never(spec, now), _next_opening(intents, spec, now, zone)
        yield error(intent, path, "never-open", message, hint)


def _never(spec: MigrationRequestSpec, now: int) -> str:
    limits = [
        f"{word} {format_instant(value)}"
        for word, value in (("after", spec.not_before), ("before", spec.deadline))
        if value is not None
    ]
    span = " and ".join(limits) or f"after {format_instant(now)}"
    return f"window {spec.window} is never open {span}"


def _next_opening(
    intents: IntentSet, spec: MigrationRequestSpec, now: int, zone: str | None
) -> str:
    window = _window(intents, spec)
    if window is None or window.schedule is None:
        return "correct the window"
    unlimited = spec.model_copy(update={"not_before": None, "deadline": None})
    times = left(request_time(unlimited, window, zone=zone, now=now), now)
    if not times:
        return "it never opens again"
    start, end = times[0].start, times[0].end
    opening = Occurrence(start=start, end=end, id=compact_instant(start))
    clock = window.schedule.time_zone or zone or "UTC"
    return "it " + occurrence_words(opening, clock, now=now)
