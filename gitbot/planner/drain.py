"""EmptyNodes: node by node, each node a group that stands or falls together."""

from __future__ import annotations

from gitbot.model.names import NamespacedName
from gitbot.model.plan import Hold
from gitbot.model.problem import EmptyNodes
from gitbot.planner import holds
from gitbot.planner.board import Board
from gitbot.planner.obstacle import Obstacle
from gitbot.planner.requests import Closed, Late
from gitbot.planner.solve import solve
from gitbot.planner.step import Draft, Planned, Task, Wish


def empty_nodes(board: Board, goal: EmptyNodes, closed: Closed, late: Late) -> Draft:
    """Plan the emptying of the nodes in their order; the board is moved along."""
    here = board.fork()
    planned: list[Planned] = []
    found: list[Hold] = []
    for node in goal.nodes:
        steps, against = _one_node(here, goal, node, closed, late)
        for item in steps:
            here.take(item.step)
        planned.extend(steps)
        found.extend(against)
    moved = {item.step.vm for item in planned}
    return Draft(
        planned=tuple(planned),
        holds=tuple(found),
        least=len(moved),
        lanes=goal.max_nodes_at_once,
    )


def _one_node(
    board: Board, goal: EmptyNodes, node: str, closed: Closed, late: Late
) -> tuple[tuple[Planned, ...], tuple[Hold, ...]]:
    facts, request = board.facts, goal.request
    against: dict[NamespacedName, Obstacle] = {}
    free: list[NamespacedName] = []
    for vm in board.on(node):
        obstacle = holds.obstacle(board, request, vm) or holds.too_late(facts, request, vm, late)
        if obstacle is None:
            free.append(vm)
        else:
            against[vm] = obstacle
    blocking = {vm for vm in against if not _leaving(board, vm, node)}
    wish = Wish(closed=closed)
    open_nodes = frozenset(facts.nodes) - closed.keys()
    task = Task(
        content=dict.fromkeys(free, open_nodes), wishes=dict.fromkeys(free, wish), aside=wish
    )
    solved = solve(board, task)
    after = board.after(solved.steps)
    stuck = {vm: holds.stuck(after, request, vm, wish) for vm in solved.left}
    found = [
        holds.hold(facts, request, vm, item, asked=goal.block and vm in blocking)
        for vm, item in against.items()
    ]
    found.extend(stuck.values())
    steps = solved.steps
    if goal.block and (blocking or stuck):
        culprits = {vm: against[vm].code for vm in blocking}
        culprits |= {vm: item.code for vm, item in stuck.items()}
        kept = holds.blocked(node, culprits)
        found.extend(holds.hold(facts, request, vm, kept) for vm in free if vm not in stuck)
        steps = ()
    group = f"{request.id}/{node}"
    planned = tuple(
        Planned(step=step, request=request, group=group, why=f"{node} is emptied") for step in steps
    )
    return planned, tuple(found)


def _leaving(board: Board, vm: NamespacedName, node: str) -> bool:
    """Whether a migration of somebody else takes the VM off the node already."""
    return vm in board.facts.moving and board.facts.moving[vm][1] not in ("", node)
