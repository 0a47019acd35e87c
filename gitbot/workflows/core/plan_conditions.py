"""The conditions of a plan for its reviewer: windows, freezes, cordons, and the current queue."""

from __future__ import annotations

from dataclasses import replace

from gitbot.constraints.moves.instances import Instances
from gitbot.execution.cluster_facts import is_own, vm_of
from gitbot.intents import IntentSet, MaintenanceWindowSpec, MigrationRequestSpec
from gitbot.intents.compile import opening_of
from gitbot.kubernetes.phases import is_final
from gitbot.kubevirt.limits import blocked_by, is_running, remote_end
from gitbot.kubevirt.names import mover_of
from gitbot.model.ledger.request_id import DrainId, ReturnId
from gitbot.model.plan.plan import PlacementPlan
from gitbot.model.plan.problem import EmptyNodes, Goal, PlacementProblem
from gitbot.model.text.instants import Interval
from gitbot.model.text.names import IntentRef
from gitbot.planner import Copies
from gitbot.reports import Conditions, PlanConditions, QueuedMigration


def outlook_of(
    intents: IntentSet, problem: PlacementProblem, plan: PlacementPlan, *, zone: str | None
) -> PlanConditions:
    moved = {move.request for move in plan.moves}
    problem = problem.beginning(plan.begins)
    return PlanConditions(
        conditions=tuple(
            _conditions(intents, problem, plan, goal, zone)
            for goal in problem.goals
            if goal.request.id in moved or not plan.moves
        ),
        ahead=_ahead(problem),
        slots=max(1, problem.limits.parallel),
        zone=zone or "UTC",
        unread=problem.snapshot.missing_kinds,
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
