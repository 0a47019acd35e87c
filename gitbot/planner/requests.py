"""MoveVms and ReturnHome: named VMs go to where they are wanted, once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from gitbot.model.names import NamespacedName
from gitbot.model.plan import Hold
from gitbot.model.problem import MoveVms, Pin, Request, ReturnHome, Target
from gitbot.planner import holds
from gitbot.planner.board import Board
from gitbot.planner.obstacle import Obstacle
from gitbot.planner.solve import solve
from gitbot.planner.step import Draft, Planned, Step, Task, Wish

Closed = Mapping[str, str]
Late = frozenset[tuple[str, NamespacedName]]


def move_vms(board: Board, goals: Sequence[MoveVms], closed: Closed, late: Late) -> Draft:
    """Plan MigrationRequests together: each is one group, VMs that cannot move are holds.

    A VM that several requests name goes with the first of them; the others find it held.
    """
    found: list[Hold] = []
    owners: dict[NamespacedName, MoveVms] = {}
    for goal in goals:
        found.extend(_claim(board, goal, owners, late))
    content = {
        vm: board.facts.matching(goal.target) - {board.place(vm)} for vm, goal in owners.items()
    }
    wishes = {
        vm: Wish(target=goal.target, pin=goal.pin, closed=closed) for vm, goal in owners.items()
    }
    solved = solve(board, Task(content=content, wishes=wishes, aside=Wish(closed=closed)))
    after = board.after(solved.steps)
    found.extend(holds.stuck(after, owners[vm].request, vm, wishes[vm]) for vm in solved.left)
    planned = tuple(
        _planned(step, owners[step.vm].request, _why(owners[step.vm].target))
        for step in solved.steps
    )
    return Draft(planned=planned, holds=tuple(found), least=len(content) - len(solved.left))


def _claim(
    board: Board, goal: MoveVms, owners: dict[NamespacedName, MoveVms], late: Late
) -> Iterator[Hold]:
    """Note the VMs of a goal that may move; the holds of the others. VMs in place need nothing."""
    facts, request = board.facts, goal.request
    wanted = facts.matching(goal.target)
    for vm in sorted(set(goal.vms)):
        if board.place(vm) in wanted and not goal.target.anywhere:
            continue
        against = holds.obstacle(board, request, vm) or holds.too_late(facts, request, vm, late)
        if against is None and vm in owners:
            against = holds.claimed(owners[vm].request)
        if against is not None:
            yield holds.hold(facts, request, vm, against)
        else:
            owners[vm] = goal


def _why(target: Target) -> str:
    if target.anywhere:
        return "asked to leave its node"
    if target.nodes:
        return f"asked to go to {', '.join(target.nodes)}"
    labels = ", ".join(f"{key}={value}" for key, value in sorted(target.node_selector.items()))
    return f"asked to go to a node with {labels}"


def return_home(board: Board, goal: ReturnHome, closed: Closed, late: Late) -> Draft:
    """Plan the way home: a group for each home node; a VM that cannot go home stays."""
    facts, request = board.facts, goal.request
    found: list[Hold] = []
    homes: dict[NamespacedName, str] = {}
    for vm, home in sorted(goal.homes.items()):
        if board.place(vm) == home:
            continue
        against = holds.obstacle(board, request, vm) or holds.too_late(facts, request, vm, late)
        if against is None and home not in facts.nodes:
            against = Obstacle(code="no-such-node", reason=f"its home {home} is gone")
        if against is not None:
            found.append(holds.hold(facts, request, vm, against, asked=False))
            continue
        homes[vm] = home
    wishes = {
        vm: Wish(target=Target(nodes=(home,)), pin=Pin.NODE, closed=closed)
        for vm, home in homes.items()
    }
    task = Task(
        content={vm: frozenset({home}) for vm, home in homes.items()},
        wishes=wishes,
        aside=Wish(closed=closed),
    )
    solved = solve(board, task)
    after = board.after(solved.steps)
    found.extend(holds.stuck(after, request, vm, wishes[vm], asked=False) for vm in solved.left)
    planned = tuple(
        _planned(step, request, "goes home", group=f"{request.id}/{homes[step.vm]}")
        for step in solved.steps
    )
    return Draft(planned=planned, holds=tuple(found), least=len(homes) - len(solved.left))


def _planned(step: Step, request: Request, why: str, group: str = "") -> Planned:
    return Planned(
        step=step,
        request=request,
        group=group or request.id,
        why="steps aside to make room" if step.helper else why,
    )
