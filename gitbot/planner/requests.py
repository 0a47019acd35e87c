"""MoveVms and ReturnHome: named VMs go to where they are wanted, once."""

from __future__ import annotations

from collections.abc import Mapping

from gitbot.model.names import NamespacedName
from gitbot.model.plan import Hold
from gitbot.model.problem import MoveVms, Pin, Request, ReturnHome, Target
from gitbot.planner import holds
from gitbot.planner.board import Board
from gitbot.planner.obstacle import Obstacle
from gitbot.planner.solve import Solved, solve
from gitbot.planner.step import Draft, Planned, Task, Wish

Closed = Mapping[str, str]
Late = frozenset[tuple[str, NamespacedName]]


def move_vms(board: Board, goal: MoveVms, closed: Closed, late: Late) -> Draft:
    """Plan a MigrationRequest: all its VMs are one group, those that cannot move are holds."""
    facts, request = board.facts, goal.request
    wanted = facts.matching(goal.target)
    found: list[Hold] = []
    content: dict[NamespacedName, frozenset[str]] = {}
    for vm in sorted(set(goal.vms)):
        here = board.place(vm)
        if here in wanted and not goal.target.anywhere:
            continue
        against = holds.obstacle(board, request, vm) or holds.too_late(facts, request, vm, late)
        if against is not None:
            found.append(holds.hold(facts, request, vm, against))
            continue
        content[vm] = wanted - {here}
    wish = Wish(target=goal.target, pin=goal.pin, closed=closed)
    task = Task(
        content=content,
        wishes=dict.fromkeys(content, wish),
        aside=Wish(closed=closed),
    )
    solved = solve(board, task)
    after = board.after(solved.steps)
    found.extend(holds.stuck(after, request, vm, wish) for vm in solved.left)
    planned = _planned(solved, request, {}, _why(goal.target))
    return Draft(planned=planned, holds=tuple(found), least=len(content) - len(solved.left))


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
    planned = _planned(solved, request, homes, "goes home")
    return Draft(planned=planned, holds=tuple(found), least=len(homes) - len(solved.left))


def _planned(
    solved: Solved, request: Request, homes: Mapping[NamespacedName, str], why: str
) -> tuple[Planned, ...]:
    return tuple(
        Planned(
            step=step,
            request=request,
            group=f"{request.id}/{homes[step.vm]}" if step.vm in homes else request.id,
            why="steps aside for another VM of the request" if step.helper else why,
        )
        for step in solved.steps
    )
