"""MoveVms: move named VMs to a target, once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from gitbot.kubernetes.names import NamespacedName
from gitbot.model.plan.plan import Hold
from gitbot.model.plan.problem import MoveVms, Pin, Request, Target
from gitbot.model.text.instants import intersect
from gitbot.model.text.wording import first_of
from gitbot.planner import holds
from gitbot.planner.bounds import proved
from gitbot.planner.goals.balance import balance
from gitbot.planner.goals.goal_planner import GoalPlanner, PullTitle
from gitbot.planner.holds import Late
from gitbot.planner.plan_types import Closed, Draft, Planned, Step, TargetPolicy, Task
from gitbot.planner.search.greedy import Solved, solve
from gitbot.planner.search.prune_steps import beneficiaries, why_aside
from gitbot.planner.state.plan_state import PlanState


def move_vms(board: PlanState, goals: Sequence[MoveVms], closed: Closed, late: Late) -> Draft:
    """Plan MigrationRequests together. Each is one group; VMs that cannot move become holds.

    If several requests name a VM, it belongs to the first of them; the others hold it.
    """
    found: list[Hold] = []
    owners: dict[NamespacedName, MoveVms] = {}
    for goal in goals:
        found.extend(_claim(board, goal, owners, closed, late))
    content = {vm: _content(board, vm, goal.target) for vm, goal in owners.items()}
    asked = sum(board.place(vm) not in nodes for vm, nodes in content.items())
    wishes = {
        vm: TargetPolicy(target=goal.target, pin=goal.pin, closed=closed)
        for vm, goal in owners.items()
    }
    others = holds.bystanders(board, [goal.request for goal in owners.values()], late)
    task = Task(
        content=content,
        wishes=wishes,
        aside=TargetPolicy(closed=closed),
        others=others,
        departed=holds.departed(board),
    )
    solved = _solved(board, task)
    with board.trial(solved.steps):
        found.extend(
            holds.hold_without_node(board, owners[vm].request, vm, wishes[vm]) for vm in solved.left
        )
    planned = tuple(
        planned_step(step, owners[vm].request, _why(owners[vm].target))
        for vm, step in zip(beneficiaries(solved.steps), solved.steps, strict=True)
    )
    done = not solved.left
    least, proof = proved(board, asked, planned, search=solved.proven and done, counted=done)
    return Draft(planned=planned, holds=tuple(found), least=least, proof=proof)


def _solved(board: PlanState, task: Task) -> Solved:
    """The best steps of which none takes a VM for good from where its request wants it."""
    solved = solve(board, task)
    while lost := {vm for vm in solved.left if board.place(vm) in task.content[vm]}:
        rest = {vm: nodes for vm, nodes in task.content.items() if vm not in lost}
        task = replace(task, content=rest)  # so that the lost ones are not moved at all
        solved = solve(board, task)
    return solved


def _content(board: PlanState, vm: NamespacedName, target: Target) -> frozenset[str]:
    """The nodes on which a request is done with a VM.

    A VM that shall leave its node leaves the one of the snapshot: another goal of the plan may have
    moved it already.
    """
    nodes = board.facts.matching(target)
    return nodes - {board.facts.homes.get(vm, "")} if target.anywhere else nodes


def _claim(
    board: PlanState,
    goal: MoveVms,
    owners: dict[NamespacedName, MoveVms],
    closed: Closed,
    late: Late,
) -> Iterator[Hold]:
    """Record the VMs of a goal that may move, and hold the rest.

    VMs that are in place need nothing, and stay content if they step aside.
    """
    facts, request = board.facts, goal.request
    wish = TargetPolicy(target=goal.target, pin=goal.pin, closed=closed)
    for vm in sorted(set(goal.vms)):
        content = _content(board, vm, goal.target)
        settled = board.place(vm) in content
        if not settled and facts.homes.get(vm) in content:
            continue  # it was in place, and another goal took it away: it does not go back
        against = holds.obstacle(board, request, vm, late)
        if settled and (against is not None or vm in owners):
            continue
        first = owners.get(vm) or (None if settled else _brought_by(board, vm, goal))
        if against is None and first is not None:
            against = holds.hold_for_reservation(first.request)
        if against is not None:
            yield holds.hold(facts, request, vm, against)
        elif not settled and _needs_a_pin(board, vm, wish):
            yield holds.hold_without_node(board, request, vm, wish)
        else:
            owners[vm] = goal


def _brought_by(board: PlanState, vm: NamespacedName, goal: MoveVms) -> MoveVms | None:
    """The earlier request of this plan that brought a VM to where it is, and may run with this one.

    A request for another time moves the VM again.
    """
    facts, here = board.facts, board.place(vm)
    if facts.homes.get(vm) == here:
        return None
    for other in facts.problem.goals:
        if not isinstance(other, MoveVms) or other.balance or other is goal or vm not in other.vms:
            continue
        together = intersect(goal.request.allowed, other.request.allowed)
        if together and here in _content(board, vm, other.target):
            return other
    return None


def _needs_a_pin(board: PlanState, vm: NamespacedName, wish: TargetPolicy) -> bool:
    """Whether only a landing elsewhere keeps the VM back: no second migration is worth that."""
    pinned = replace(wish, pin=Pin.NODE)
    return wish != pinned and not board.best(vm, wish) and board.best(vm, pinned) is not None


def _why(target: Target) -> str:
    if target.anywhere:
        return "asked to leave its node"
    if target.nodes:
        return f"asked to go to {', '.join(target.nodes)}"
    labels = ", ".join(f"{key}={value}" for key, value in sorted(target.node_selector.items()))
    return f"asked to go to a node with {labels}"


def planned_step(step: Step, request: Request, why: str, group: str = "") -> Planned:
    return Planned(
        step=step,
        request=request,
        group=group or request.id,
        why=why_aside(step) or why,
    )


def _draft(
    board: PlanState, goals: Sequence[MoveVms], closed: Closed, late: Late, _wide: bool
) -> Draft:
    if goals[0].balance:
        return balance(board, goals[0], closed, late)
    return move_vms(board, goals, closed, late)


def _title(goal: MoveVms, pull: PullTitle) -> str:
    if goal.balance:
        return f"Even out nodes: move {pull.amount}{pull.where}"
    return f"Move {first_of(pull.vms, 2)}{pull.where}"


PLANNER = GoalPlanner(
    goal=MoveVms,
    draft=_draft,
    title=_title,
    stage=lambda goal: 2 if goal.balance else 0,
    joins=lambda goal: not goal.balance,
    avoids_drains=True,
)
