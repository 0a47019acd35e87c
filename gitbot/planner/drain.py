"""EmptyNodes: node by node, each node a group that stands or falls together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from gitbot.model.names import NamespacedName
from gitbot.model.plan import Hold
from gitbot.model.problem import EmptyNodes
from gitbot.planner import holds
from gitbot.planner.board import Board
from gitbot.planner.obstacle import Obstacle
from gitbot.planner.requests import Closed, Late
from gitbot.planner.search import reachable
from gitbot.planner.solve import SMALL, Solved, effort, solve
from gitbot.planner.step import Draft, Planned, Step, Task, Wish

WIDTH = 48
"""How many ways to have emptied the nodes so far are kept beside each other."""

STATES = 1500
"""How many states are looked at for the nodes of one drain together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Turn:
    """What is done with one node.

    `against` are VMs that nothing can move now, `left` those that find no place after `tried`.
    """

    node: str
    against: Mapping[NamespacedName, Obstacle]
    steps: tuple[Step, ...]
    left: tuple[NamespacedName, ...]
    tried: tuple[Step, ...]


def empty_nodes(board: Board, goal: EmptyNodes, closed: Closed, late: Late) -> Draft:
    """Plan the emptying of the nodes in their order."""
    against = {node: _against(board, goal, node, late) for node in goal.nodes}
    wish = Wish(closed=closed)
    turns = _one_by_one(board, goal, against, wish, wide=False)
    if len(goal.nodes) > 1 and any(turn.left for turn in turns):
        ways = [turns, _one_by_one(board, goal, against, wish, wide=True)]
        if sum(len(board.on(node)) for node in goal.nodes) * len(board.facts.nodes) <= SMALL:
            ways.extend(_together(board, goal, wish, turns))
        turns = min(ways, key=lambda way: _cost(board, goal, way))
    here = board.fork()
    planned: list[Planned] = []
    found: list[Hold] = []
    for turn in turns:
        group = goal.group_of(turn.node)
        why = f"{turn.node} is emptied"
        planned.extend(
            Planned(step=step, request=goal.request, group=group, why=why, leaves=turn.node)
            for step in turn.steps
        )
        found.extend(_holds(here, goal, turn, wish))
        here = here.after(turn.steps)
    return Draft(
        planned=tuple(planned),
        holds=tuple(found),
        least=len({item.step.vm for item in planned}),
        lanes=goal.max_nodes_at_once,
        cordon=goal.cordoned_by_gitbot,
    )


def _against(
    board: Board, goal: EmptyNodes, node: str, late: Late
) -> dict[NamespacedName, Obstacle]:
    facts, request = board.facts, goal.request
    found: dict[NamespacedName, Obstacle] = {}
    for vm in board.on(node):
        item = holds.obstacle(board, request, vm) or holds.too_late(facts, request, vm, late)
        if item is not None:
            found[vm] = item
    return found


def _stays(board: Board, vm: NamespacedName, node: str) -> bool:
    """Whether a VM that cannot be moved will be on the node; not where somebody moves it off."""
    moving = board.facts.moving
    return vm not in moving or moving[vm][1] in ("", node)


def _kept(
    board: Board, goal: EmptyNodes, node: str, against: Mapping[NamespacedName, Obstacle]
) -> bool:
    """Whether the node is not begun, for VMs that nothing can move."""
    return goal.block and any(_stays(board, vm, node) for vm in against)


def _one_by_one(
    board: Board,
    goal: EmptyNodes,
    against: Mapping[str, Mapping[NamespacedName, Obstacle]],
    wish: Wish,
    *,
    wide: bool,
) -> list[_Turn]:
    """Each node in its turn. Wide: where nothing else will do, with the help of later nodes.

    VMs that go to a later node move twice.
    """
    here = board.fork()
    turns: list[_Turn] = []
    for node in goal.nodes:
        if _kept(board, goal, node, against[node]):
            turns.append(_Turn(node=node, against=against[node], steps=(), left=(), tried=()))
            continue
        solved = solve(here, _task(here, node, against[node], wish))
        if solved.left and wide:
            again = solve(here, _task(here, node, against[node], _wider(goal, node, wish)))
            solved = solved if again.left else again
        steps = () if goal.block and solved.left else solved.steps
        turns.append(
            _Turn(
                node=node,
                against=against[node],
                steps=steps,
                left=solved.left,
                tried=solved.steps,
            )
        )
        here = here.after(steps)
    return turns


def _wider(goal: EmptyNodes, node: str, wish: Wish) -> Wish:
    """The wish with the nodes open whose turn comes after that of the node."""
    later = set(goal.nodes[goal.nodes.index(node) + 1 :])
    return replace(
        wish, closed={name: why for name, why in wish.closed.items() if name not in later}
    )


def _task(board: Board, node: str, against: Mapping[NamespacedName, Obstacle], wish: Wish) -> Task:
    free = [vm for vm in board.on(node) if vm not in against]
    open_nodes = frozenset(board.facts.nodes) - wish.closed.keys()
    return Task(
        content=dict.fromkeys(free, open_nodes), wishes=dict.fromkeys(free, wish), aside=wish
    )


def _together(board: Board, goal: EmptyNodes, wish: Wish, turns: list[_Turn]) -> list[list[_Turn]]:
    """Ways to empty more: what one node takes, another may need more.

    A beam over the ways to empty the nodes so far; complete where the problem is small.
    """
    beam: list[list[_Turn]] = [[]]
    for turn in turns:
        beam = _best_ways(
            board, [[*path, item] for path in beam for item in _ways(board, goal, path, turn, wish)]
        )
    return beam


def _ways(
    board: Board, goal: EmptyNodes, path: Sequence[_Turn], turn: _Turn, wish: Wish
) -> list[_Turn]:
    """What may be done with one node after those of the path: nothing, or each way to empty it."""
    here = board.after(step for before in path for step in before.steps)
    task = _task(here, turn.node, turn.against, wish)
    free = sorted(task.content)
    if not free or _kept(board, goal, turn.node, turn.against):
        return [turn]
    patience = STATES // (WIDTH if path else 1)
    wide = _wider(goal, turn.node, wish)
    ways = reachable(here, free, lambda there, vm: there.steps(vm, wide), patience)
    solved = [solve(here, task), *(_solved(here, turn.node, free, steps) for steps in ways)]
    return [replace(turn, steps=(), left=tuple(free), tried=())] + [
        replace(turn, steps=item.steps, left=item.left, tried=item.steps)
        for item in solved
        if item.steps and not (goal.block and item.left)
    ]


def _solved(
    board: Board, node: str, free: Sequence[NamespacedName], steps: tuple[Step, ...]
) -> Solved:
    places = {vm: board.place(vm) for vm in free} | {step.vm: step.node for step in steps}
    return Solved(steps=steps, left=tuple(vm for vm in free if places[vm] == node))


def _best_ways(board: Board, ways: list[list[_Turn]]) -> list[list[_Turn]]:
    """The best ways, each end state once."""
    distinct: dict[tuple[tuple[NamespacedName, str], ...], list[_Turn]] = {}
    for way in sorted(ways, key=lambda item: _effort(board, item)):
        ends = {step.vm: step.node for turn in way for step in turn.steps}
        distinct.setdefault(tuple(sorted(ends.items())), way)
    ranked = sorted(distinct.values(), key=lambda way: (_left(way), *_effort(board, way)))
    return ranked[:WIDTH]


def _left(way: Sequence[_Turn]) -> int:
    return sum(len(turn.left) for turn in way)


def _cost(board: Board, goal: EmptyNodes, way: Sequence[_Turn]) -> tuple[int, int, int, int]:
    """Nodes that are not emptied, then the VMs left there, steps and bytes.

    With LeaveRunning only VMs count that could move.
    """
    after = board.after(step for turn in way for step in turn.steps)
    fixed = set() if goal.block else {vm for turn in way for vm in turn.against}
    rest = [[vm for vm in after.on(node) if vm not in fixed] for node in goal.nodes]
    left = 0 if goal.block else sum(map(len, rest))
    return (sum(1 for vms in rest if vms), left, *_effort(board, way))


def _effort(board: Board, way: Sequence[_Turn]) -> tuple[int, int]:
    return effort(board, [step for turn in way for step in turn.steps])


def _wanted(goal: EmptyNodes, item: Obstacle) -> bool:
    """Whether the drain asks for the move of a VM although nothing can move it now.

    LeaveRunning foresees VMs that cannot migrate; it foresees no lack of time.
    """
    return goal.block or item.code not in ("restart-needed", "not-migratable")


def _holds(board: Board, goal: EmptyNodes, turn: _Turn, wish: Wish) -> list[Hold]:
    """The holds of one node; where it is kept, all of its VMs stay, each with its reason."""
    facts, request, node = board.facts, goal.request, turn.node
    staying = {vm: item for vm, item in turn.against.items() if _stays(board, vm, node)}
    found = [
        holds.hold(facts, request, vm, item, asked=vm in staying and _wanted(goal, item))
        for vm, item in turn.against.items()
    ]
    after = board.after(turn.tried)
    stuck = {vm: holds.stuck(after, request, vm, wish) for vm in turn.left}
    found.extend(stuck.values())
    if goal.block and not turn.steps and (staying or stuck):
        culprits = {vm: item.code for vm, item in staying.items()}
        culprits |= {vm: item.code for vm, item in stuck.items()}
        kept = holds.blocked(node, culprits)
        found.extend(
            holds.hold(facts, request, vm, kept) for vm in board.on(node) if vm not in culprits
        )
    return found
