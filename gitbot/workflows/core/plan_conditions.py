"""The conditions of a plan for its reviewer: windows, freezes, cordons, and the current queue."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from gitbot.calendar import format_duration
from gitbot.constraints.moves.instances import Instances
from gitbot.execution.cluster_facts import is_own, vm_of
from gitbot.intents import IntentSet, MaintenanceWindowSpec, MigrationRequestSpec
from gitbot.intents.compile import opening_of
from gitbot.kubernetes.phases import is_final
from gitbot.kubevirt.limits import blocked_by, is_running, remote_end
from gitbot.kubevirt.names import mover_of
from gitbot.model.ledger.request_id import DrainId, ReturnId
from gitbot.model.plan.findings import Finding, Severity
from gitbot.model.plan.plan import Move, MoveRef, PlacementPlan
from gitbot.model.plan.problem import EmptyNodes, Goal, PlacementProblem
from gitbot.model.text.instants import FOREVER, Interval, format_instant
from gitbot.model.text.names import IntentRef
from gitbot.planner import Copies
from gitbot.reports import Conditions, PlanConditions, QueuedMigration, behind, times_of


def outlook_of(
    intents: IntentSet, problem: PlacementProblem, plan: PlacementPlan, *, zone: str | None
) -> PlanConditions:
    moved = {move.request for move in plan.moves}
    moved |= {drain.request for drain in plan.drains if drain.only_cordoned}
    problem = problem.beginning(plan.begins)
    return PlanConditions(
        conditions=tuple(
            _conditions(intents, problem, plan, goal, zone)
            for goal in problem.goals
            if goal.request.id in moved or plan.does_nothing
        ),
        ahead=_ahead(problem),
        slots=max(1, problem.limits.parallel),
        zone=zone or "UTC",
        unread=problem.snapshot.missing_kinds,
    )


def longer_findings(
    problem: PlacementProblem, plan: PlacementPlan, outlook: PlanConditions
) -> Iterator[Finding]:
    """The moves that may take longer than estimated: of slow VMs, and those that may end late.

    The estimates decide the plan. What the ledger, Prometheus and the queue say changes too often.
    """
    copies, instances = Copies(problem), Instances.of(problem.snapshot)
    ends: dict[MoveRef, int] = {}
    for move in sorted(plan.moves, key=lambda move: move.starts):
        vm = move.vm.namespaced_name
        copy = copies.of(vm, instances.vmis.get(vm, {}))
        if copy.past is not None and copy.took_longer:
            yield _slower_before(move, copy.past.seconds)
        waits = [ends[ref] for ref in move.after or () if ref in ends]
        queue = behind(outlook, starts=move.starts, now=plan.snapshot.taken_at)
        starts = max(move.starts + queue, *waits, 0)
        ends[move.ref] = starts + max(copy.longest, move.estimated_seconds)
        allowed = times_of(outlook.of(move.request), move)
        last = next((span.end for span in allowed if span.contains(move.starts)), FOREVER)
        if last < ends[move.ref] and not outlook.of(move.request).finish:
            waited = last < move.starts + queue + move.estimated_seconds
            yield _may_end_late(move, ends[move.ref], last, waited=waited)


def _slower_before(move: Move, before: int) -> Finding:
    last = f"{move.vm.namespaced_name}: its last migration took {format_duration(before)}"
    return Finding(
        code="plan/slower-before",
        severity=Severity.NOTE,
        message=f"{last}, this move is estimated at {format_duration(move.estimated_seconds)}",
        hint="the estimate ignores what the guest writes meanwhile: allow more time",
    )


def _may_end_late(move: Move, ends: int, last: int, *, waited: bool) -> Finding:
    by = "behind the queue" if waited else "by what migrations took before and guests write"
    return Finding(
        code="plan/may-end-late",
        severity=Severity.WARNING,
        message=f"{move.vm.namespaced_name} may be moving until {format_instant(ends)}, {by}; "
        f"its time ends {format_instant(last)}",
        hint="allow more time, or move fewer VMs in it",
    )


def _conditions(
    intents: IntentSet,
    problem: PlacementProblem,
    plan: PlacementPlan,
    goal: Goal,
    zone: str | None,
) -> Conditions:
    request = goal.request
    window, spec = _window(intents, request.intent)
    vms = {move.vm.namespaced_name for move in plan.moves if move.request == request.id}
    freezes = (replace(item, vms=item.vms & vms) for item in problem.freezes)
    schedule = spec.schedule if spec is not None else None
    known = Conditions(
        request=request.id,
        window=window,
        zone=(schedule.time_zone if schedule is not None else None) or zone or "UTC",
        open=_open(intents, problem, goal, window, zone),
        allowed=request.allowed,
        freezes=tuple(item for item in freezes if item.vms),
    )
    if spec is None or not isinstance(goal, EmptyNodes):
        return known
    kept = plan.in_service()
    return replace(
        known,
        nodes=tuple(node for node in goal.nodes if (request.id, node) not in kept),
        cordon=goal.cordoned_by_gitbot,
        done=spec.drain.done,
        return_home=spec.return_home,
        finish=spec.overrun == "Finish",
    )


def _window(intents: IntentSet, ref: IntentRef) -> tuple[str, MaintenanceWindowSpec | None]:
    """The window that a goal's intent is or refers to."""
    intent = intents.by_id(ref.id)
    spec = intent.spec if intent is not None else None
    name = ref.name
    if isinstance(spec, MigrationRequestSpec) and spec.window:
        name = spec.window
        found = intents.find("MaintenanceWindow", name)
        spec = found.spec if found is not None else None
    return (name, spec) if isinstance(spec, MaintenanceWindowSpec) else ("", None)


def _open(
    intents: IntentSet, problem: PlacementProblem, goal: Goal, window: str, zone: str | None
) -> Interval | None:
    """The opening of the window in which the moves run; None if they need none."""
    known = goal.request.id
    if isinstance(known, DrainId):
        found = opening_of(
            intents, window, now=problem.now, zone=zone, occurrence=known.occurrence.id
        )
        return found.open if found is not None else None
    if not window or isinstance(known, ReturnId):
        return None
    following = (item for item in goal.request.allowed if item.end > problem.now)
    return next(following, None)


def _ahead(problem: PlacementProblem) -> tuple[QueuedMigration, ...]:
    """Unfinished migrations, in the order in which they run, then by name of the VM.

    Those that KubeVirt is about to make wait behind them.
    """
    known, copies = Instances.of(problem.snapshot), Copies(problem)
    instances = known.vmis
    found = [
        QueuedMigration(
            vm=vm,
            runs=False,
            ours=False,
            by=f"KubeVirt's workload updater, as {change}",
            seconds=copies.of(vm, instances[vm]).seconds,
        )
        for vm, change in known.changes_to_come.items()
    ]
    for migration in problem.snapshot.of("VirtualMachineInstanceMigration"):
        if is_final(migration):
            continue
        vm = vm_of(migration)
        found.append(
            QueuedMigration(
                vm=vm,
                runs=is_running(migration),
                ours=is_own(migration),
                by="" if is_own(migration) else mover_of(migration) + remote_end(migration),
                blocked=blocked_by(migration),
                seconds=copies.of(vm, instances.get(vm, {})).seconds,
            )
        )
    return tuple(sorted(found, key=lambda item: (not item.runs, item.vm)))
