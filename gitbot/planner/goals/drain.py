"""EmptyNodes: node by node, or all together.

Each node is a group, carried out as a whole or not at all; nodes that go together are one group.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from gitbot.kubernetes.names import NamespacedName
from gitbot.model.plan.constraint import Occupancy
from gitbot.model.plan.plan import Drained, Hold
from gitbot.model.plan.problem import EmptyNodes
from gitbot.model.text.wording import first_of
from gitbot.planner import holds
from gitbot.planner.bounds import must_step_aside, proved, room_for
from gitbot.planner.drain.bulk import calm
from gitbot.planner.drain.largest_set import largest_set
from gitbot.planner.drain.rolling import rolling
from gitbot.planner.goals.goal_planner import GoalPlanner, PullTitle
from gitbot.planner.holds import Late
from gitbot.planner.plan_types import Blocker, Closed, Draft, Planned, Step, TargetPolicy, Task
from gitbot.planner.search.exact import Cost, SearchPhase, shortest
from gitbot.planner.search.greedy import SMALL, Solved, effort, movers_of, solve, solve_greedily
from gitbot.planner.search.prune_steps import attribute_steps, why_aside
from gitbot.planner.state.plan_state import PlanState
from gitbot.planner.state.residents import beside, residents

Against = Mapping[str, Mapping[NamespacedName, Blocker]]
"""By node: the VMs that nothing can move now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _NodeTurn:
    """What happens to one node. `left` are VMs without a place after the steps `tried`."""

    node: str
    steps: tuple[Step, ...] = ()
    left: tuple[NamespacedName, ...] = ()
    tried: tuple[Step, ...] = ()
    proven: bool = False  # nothing is better for this node alone
    any_order: bool = False  # as in Solved


Turns = Sequence[_NodeTurn]

FEW = 200  # up to so many VMs, a drain is planned in two ways if room is scarce


@dataclass(frozen=True, slots=True, kw_only=True)
class _Drain:
    """One drain, with the board before it. `wish` closes all nodes that are emptied."""

    board: PlanState
    goal: EmptyNodes
    against: Against
    wish: TargetPolicy
    others: Callable[[NamespacedName], bool]

    def blocked(self, node: str) -> bool:
        """Whether the node is left alone because some of its VMs cannot move."""
        goal, stays = self.goal, self.board.facts.stays
        against = self.against[node].items() if goal.block or goal.together else ()
        return any(_wanted(goal, item) and stays(vm, node) for vm, item in against)

    def wider(self, node: str) -> TargetPolicy:
        """The wish, with the nodes open that are emptied after this node."""
        if self.goal.together:
            return self.wish
        later = {*self.goal.nodes[self.goal.nodes.index(node) + 1 :], *self.goal.later}
        closed = {name: why for name, why in self.wish.closed.items() if name not in later}
        return replace(self.wish, closed=closed)

    def free(self, node: str) -> list[NamespacedName]:
        """The VMs that are on a node now and have to leave it."""
        return [vm for vm in residents(self.board, node) if vm not in self.against[node]]

    def task(self, node: str, wish: TargetPolicy) -> Task:
        return self.task_of((node,), wish)

    def task_of(self, nodes: Iterable[str], wish: TargetPolicy) -> Task:
        free = [vm for node in nodes for vm in self.free(node)]
        wishes = {vm: holds.not_home(self.board, self.goal, vm, wish) for vm in free}
        return Task(
            content={vm: self.board.open_nodes(mine.closed) for vm, mine in wishes.items()},
            wishes=wishes,
            aside=wish,
            others=self.others,
            departed=holds.departed(self.board),
        )

    def cost(self, turns: Turns) -> Cost:
        """Nodes that are not emptied, steps and bytes."""
        failed = sum(1 for turn in turns if turn.left)
        return failed, *effort(self.board, [step for turn in turns for step in turn.steps])


def empty_nodes(board: PlanState, goal: EmptyNodes, closed: Closed, late: Late) -> Draft:
    request, on = goal.request, {node: residents(board, node) for node in goal.nodes}
    against = {node: holds.obstacles(board, request, vms, late) for node, vms in on.items()}
    others = holds.bystanders(board, [request], late)
    drain = _Drain(
        board=board, goal=goal, against=against, wish=TargetPolicy(closed=closed), others=others
    )
    planned: list[Planned] = []
    found: list[Hold] = []
    back: set[str] = set()
    turns, searched = _turns(drain)
    none = _none_begins(drain, turns)
    begun = () if none else (node for node in goal.nodes if not drain.blocked(node))
    leaving = [vm for node in begun for vm in drain.free(node)]
    must = len(leaving)
    could = _could(drain) if none else ()
    if any(turn.left or against[turn.node] for turn in turns):
        with board.trial():
            for turn in turns:
                found.extend(_holds(drain, turn))
                board.advance(turn.steps)
            found.extend(_held_together(drain, found, could) if none else ())
    for turn in turns:
        planned.extend(_planned(drain, turn, back))
        back.add(turn.node)
    for vms in board.facts.problem.as_one if not goal.together else ():
        planned = _in_one_turn(planned, vms, [turn.node for turn in turns])
    done = not any(turn.left for turn in turns)
    if done and len(planned) > must and goal.away is None and not board.facts.problem.goals[1:]:
        must += must_step_aside(board, leaving, drain.wish)
    least, proof = proved(board, must, planned, search=searched and done, counted=done)
    return Draft(
        planned=tuple(planned),
        holds=tuple(found),
        least=least,
        proof=proof,
        lanes=goal.max_nodes_at_once,
        cordon=goal.cordoned_by_gitbot,
        away=goal.away,
        at_once=goal.nodes if goal.together else (),
        drained=_drained(drain, turns, could, none=none, moves=bool(planned)),
        any_order=all(turn.any_order for turn in turns if turn.steps),
    )


def _drained(
    drain: _Drain, turns: Turns, could: tuple[str, ...], *, none: bool, moves: bool
) -> Drained:
    """Which nodes have no VM left, in the order in which they are emptied; `none` begins."""
    goal = drain.goal
    if none:
        kept = goal.nodes
        return Drained(request=goal.request.id, emptied=(), kept=kept, together=True, could=could)
    stays, against = drain.board.facts.stays, drain.against
    full = {t.node for t in turns if t.left or any(stays(vm, t.node) for vm in against[t.node])}
    emptied = tuple(turn.node for turn in turns if turn.node not in full)
    cordoned = emptied if goal.cordons_empty and not moves else ()
    return Drained(
        request=goal.request.id,
        emptied=emptied,
        kept=tuple(turn.node for turn in turns if turn.node in full),
        together=goal.together,
        only_cordoned=cordoned,
        file=goal.request.intent.file if cordoned else "",
    )


def _planned(drain: _Drain, turn: _NodeTurn, back: Container[str]) -> list[Planned]:
    """`back` are the nodes that are emptied before."""
    goal = drain.goal
    found = []
    for step in turn.steps:
        node = step.source if goal.together and step.source in goal.nodes else turn.node
        found.append(
            Planned(
                step=step,
                request=goal.request,
                group=goal.group_of(node),
                why=why_aside(step) or f"{node} is emptied",
                leaves=node,
                returned=step.node in back and not goal.together,
            )
        )
    return found


def _in_one_turn(
    planned: list[Planned], vms: frozenset[NamespacedName], order: Sequence[str]
) -> list[Planned]:
    """The moves, those of these VMs in the turn of the first of their nodes.

    Unless one goes to a node that has not had its turn by then: it would be in the way there.
    """
    mine = [item for item in planned if item.step.vm in vms]
    turns = dict.fromkeys(item.leaves for item in mine)
    if len(turns) < 2 or {item.step.source for item in mine} != turns.keys():
        return planned
    first = mine[0]
    if not {item.step.node for item in mine}.isdisjoint(order[order.index(first.leaves) :]):
        return planned
    last = max(place for place, item in enumerate(planned) if item.group == first.group)
    joined = [
        replace(item, group=first.group, leaves=first.leaves)
        for item in planned[last + 1 :]
        if item.step.vm in vms
    ]
    rest = [item for item in planned[last + 1 :] if item.step.vm not in vms]
    return [*planned[: last + 1], *joined, *rest]


def _turns(drain: _Drain) -> tuple[Turns, bool]:
    """What to do with each node: empty as many as possible, with the fewest steps.

    Also returns whether a complete search found nothing better.
    """
    if drain.goal.together:
        return _together(drain)
    rolls = drain.goal.away is not None and len(drain.goal.nodes) > 1
    calm = _calm(drain) if not rolls or _room_outside(drain) else None
    if calm is not None:
        return calm, False
    if not rolls:
        return _scarce(drain)
    rolled = _rolled(drain)
    many = sum(len(turn.steps) + len(turn.left) for turn in rolled) > FEW
    if many and any(turn.steps for turn in rolled):
        return rolled, False  # nodes that do not come back would hold fewer
    if drain.board.onlooker.stopped() or not any(turn.left for turn in rolled):
        return rolled, False
    return min(rolled, _scarce(drain)[0], key=drain.cost), False


def _together(drain: _Drain) -> tuple[Turns, bool]:
    """All nodes at once: every VM that has to leave finds a place, or no turn has a step."""
    nodes = drain.goal.nodes
    if any(map(drain.blocked, nodes)):
        return [_NodeTurn(node=node) for node in nodes], False
    if (calm := _calm(drain)) is not None:
        return calm, False
    solved = _solve_all(drain, nodes, drain.wish)
    if not solved.left:
        rest = (_NodeTurn(node=node) for node in nodes[1:])
        return [_NodeTurn(node=nodes[0], steps=solved.steps), *rest], solved.proven
    turns = []
    for node in nodes:
        left = tuple(vm for vm in drain.free(node) if vm in solved.left)
        turns.append(_NodeTurn(node=node, left=left, tried=solved.steps))
    return turns, False


def _solve_all(drain: _Drain, nodes: Sequence[str], wish: TargetPolicy) -> Solved:
    """The steps that empty these nodes at once; some VMs are left if that is not possible."""
    task = drain.task_of(nodes, wish)
    if not room_for(drain.board, list(task.content), wish):
        return solve_greedily(drain.board, task)
    return solve(drain.board, task, tight=len(task.content) > FEW)


def _none_begins(drain: _Drain, turns: Turns) -> bool:
    """Whether no node is emptied because they cannot all be empty at the same time."""
    return drain.goal.together and any(turn.left or drain.blocked(turn.node) for turn in turns)


def _could(drain: _Drain) -> tuple[str, ...]:
    """The largest set found of nodes that can be empty together; least memory first."""
    goal, board = drain.goal, drain.board
    nodes = [node for node in goal.nodes if not drain.blocked(node)]
    weight = {node: sum(map(board.memory, drain.free(node))) for node in nodes}

    def can(some: Sequence[str]) -> bool:
        closed = {
            name: why
            for name, why in drain.wish.closed.items()
            if name not in goal.nodes or name in some
        }
        wish = replace(drain.wish, closed=closed)
        task = drain.task_of(some, wish)
        if board.onlooker.stopped() or not room_for(board, list(task.content), wish):
            return False
        # a complete search of each of up to 62 sets would be too much for a hint
        return not (solve_greedily(board, task).left and solve(board, task, tight=True).left)

    if len(nodes) < len(goal.nodes) and can(nodes):
        return tuple(nodes)
    found = largest_set(sorted(nodes, key=lambda node: (weight[node], node)), can)
    return tuple(node for node in goal.nodes if node in found)


def _room_outside(drain: _Drain) -> bool:
    leaving = [vm for node in drain.goal.nodes for vm in drain.free(node)]
    return room_for(drain.board, leaving, drain.wish)


def _scarce(drain: _Drain) -> tuple[Turns, bool]:
    """The turns if later nodes help and VMs step aside; some nodes may stay in service."""
    nodes, onlooker = drain.goal.nodes, drain.board.onlooker
    turns: Turns = _one_by_one(drain, nodes, tight=len(nodes) > 1)
    if onlooker.stopped():
        return turns, False
    many = sum(len(drain.free(node)) for node in nodes) > FEW
    short = [turn for turn in turns if turn.left]
    counted = bool(short) and not any(turn.tried for turn in short)  # not enough bytes
    if len(nodes) > 1 and not counted and (short or not many):
        turns = min(turns, _one_by_one(drain, nodes), key=drain.cost)
    failed = {turn.node for turn in turns if turn.left}
    if failed and len(failed) < len(nodes):
        first = sorted(nodes, key=lambda node: (node not in failed, len(drain.free(node)), node))
        can = {turn.node for turn in _one_by_one(drain, first, tight=True) if not turn.left}
        turns = min(turns, _one_by_one(drain, nodes, only=can, tight=True), key=drain.cost)
    return _exact(drain, turns)


def _calm(drain: _Drain) -> Turns | None:
    """The turns in which each VM moves once and none steps aside; None if that is not enough."""
    nodes = [node for node in drain.goal.nodes if not drain.blocked(node)]
    found = calm(drain.board, {node: drain.task(node, drain.wish) for node in nodes}, drain.wish)
    if found is None:
        return None
    turns = []
    for node in drain.goal.nodes:
        solved = found.get(node, Solved(steps=(), left=()))
        free = solved.any_order
        turns.append(_NodeTurn(node=node, steps=solved.steps, left=solved.left, any_order=free))
    return turns


def _rolled(drain: _Drain) -> Turns:
    """The turns if nodes take VMs again once they are back."""
    goal = drain.goal
    nodes = [node for node in goal.nodes if not drain.blocked(node)]
    free = {node: drain.free(node) for node in nodes}
    closed = {name: why for name, why in drain.wish.closed.items() if name not in goal.nodes}
    known = dict(rolling(drain.board, goal, free, TargetPolicy(closed=closed), drain.others))
    turns = [_NodeTurn(node=node, steps=steps) for node, steps in known.items()]
    with drain.board.trial([step for turn in turns for step in turn.steps]):
        for node in goal.nodes:
            if node not in known:  # those that went there stay, too
                left = () if drain.blocked(node) else tuple(drain.free(node))
                turns.append(_NodeTurn(node=node, left=left))
    return turns


def _one_by_one(
    drain: _Drain, order: Sequence[str], *, only: set[str] | None = None, tight: bool = False
) -> list[_NodeTurn]:
    """Each node in its turn."""
    turns: list[_NodeTurn] = []
    with drain.board.trial():
        for node in order:
            if only is None or node in only:
                turn = _turn(drain, node, tight=tight)
            else:
                turn = _NodeTurn(node=node, left=tuple(drain.free(node)))
            turns.append(turn)
            drain.board.advance(turn.steps)
            drain.board.onlooker.planned(sum(len(each.steps) for each in turns))
    return turns


def _turn(drain: _Drain, node: str, *, tight: bool = False) -> _NodeTurn:
    """One node's turn. If nothing else works, later nodes are used too.

    VMs that go to a later node move twice.
    """
    free = drain.free(node)
    if drain.blocked(node) or not free:
        return _NodeTurn(node=node)
    board, wider = drain.board, drain.wider(node)
    short = _NodeTurn(node=node, left=tuple(free))
    if not room_for(board, free, wider):
        return short
    wishes = [drain.wish, wider] if wider != drain.wish else [drain.wish]
    if not room_for(board, free, drain.wish):
        wishes.reverse()  # the impossible is searched last, only for the words of the holds
    for wish in wishes:
        solved = solve(board, drain.task(node, wish), tight=tight)
        if not solved.left:
            return _NodeTurn(node=node, steps=solved.steps, proven=solved.proven)
        if wish is drain.wish:
            short = replace(short, left=solved.left, tried=solved.steps)
    return short


def _exact(drain: _Drain, turns: Turns) -> tuple[Turns, bool]:
    """The best turns of a small drain; the known turns if the search finds nothing better.

    Also returns whether the search was complete.
    """
    if len(turns) == 1 and turns[0].steps:
        return turns, turns[0].proven  # its own search was the same
    board = drain.board
    nodes = [node for node in drain.goal.nodes if not drain.blocked(node)]
    asked = sorted({vm for node in nodes for vm in drain.free(node)})
    movers, every = movers_of(board, asked, drain.others)
    if len(movers) * len(board.nodes) > SMALL:
        return turns, False
    found = shortest(
        board,
        movers,
        [_leg(drain, node, movers) for node in nodes],
        scope=movers,
        below=drain.cost(turns),
    )
    proven = found.proven and every
    if found.path is None:
        return turns, proven
    steps = dict(zip(nodes, found.path, strict=True))
    result = []
    with board.trial():
        for node in drain.goal.nodes:
            turn = _done(drain, node, steps.get(node, ()))
            result.append(turn)
            board.advance(turn.steps)
    return result, proven


def _leg(drain: _Drain, node: str, movers: Sequence[NamespacedName]) -> SearchPhase:
    wish, leaving = drain.wider(node), [vm for vm in movers if node not in beside(drain.board, vm)]

    def undone(places: Occupancy) -> int:
        return sum(1 for vm in leaving if node in places[vm])

    return SearchPhase(
        offers=lambda _: ((wish, frozenset()),), undone=undone, at_least=undone, whole=True
    )


def _done(drain: _Drain, node: str, steps: tuple[Step, ...]) -> _NodeTurn:
    """The turn with these steps; without steps, the reason why the node is not emptied."""
    if steps:
        task = drain.task(node, drain.wider(node))
        return _NodeTurn(node=node, steps=attribute_steps(task.content, steps))
    turn = _turn(drain, node)
    return turn if turn.left else replace(turn, steps=(), left=tuple(drain.free(node)), tried=())


def _wanted(goal: EmptyNodes, item: Blocker) -> bool:
    """Whether the drain asks for a VM's move although the VM cannot move now.

    LeaveRunning covers VMs that cannot migrate; it does not cover lack of time.
    """
    return goal.block or item.code not in ("restart-needed", "not-migratable")


def _holds(drain: _Drain, turn: _NodeTurn) -> list[Hold]:
    """The holds of one node. If the node is left alone, all of its VMs are held with a reason."""
    board, request, node = drain.board, drain.goal.request, turn.node
    against = drain.against[node]
    staying = {vm: item for vm, item in against.items() if board.facts.stays(vm, node)}
    found = [
        holds.hold(
            board.facts, request, vm, item, asked=vm in staying and _wanted(drain.goal, item)
        )
        for vm, item in against.items()
    ]
    stuck: dict[NamespacedName, Hold] = {}
    if turn.left and not turn.tried and not drain.goal.together:
        solved = solve_greedily(board, drain.task(node, drain.wish))
        if solved.left:
            turn = replace(turn, left=solved.left, tried=solved.steps)
    if turn.left:
        # The steps that were tried are not in the plan: reasons are those of the state without
        # them, and a VM that fits then is told beside whom it does not.
        beside = [step.vm for step in turn.tried if step.vm not in turn.left]
        stuck = {
            vm: holds.hold_without_node(board, request, vm, drain.wish, beside=beside)
            for vm in turn.left
        }
    found.extend(stuck.values())
    culprits: dict[NamespacedName, Blocker | Hold] = {**staying} if drain.goal.block else {}
    culprits |= stuck
    if culprits and not turn.steps and not drain.goal.together:
        kept = holds.blocked(node, culprits)
        found.extend(
            holds.hold(board.facts, request, vm, kept)
            for vm in residents(board, node)
            if vm not in culprits and vm not in against
        )
    return [holds.with_eviction(board, item) for item in found]


def _held_together(drain: _Drain, found: Sequence[Hold], could: tuple[str, ...]) -> Iterator[Hold]:
    """The holds of the VMs that could move, if others keep all nodes of the drain in service."""
    board, request = drain.board, drain.goal.request
    culprits = {hold.vm.namespaced_name: hold for hold in found if hold.asked}
    kept = holds.not_all(culprits, drain.goal.nodes, could)
    held = {hold.vm.namespaced_name for hold in found}
    for node in drain.goal.nodes:
        for vm in drain.free(node):
            if vm not in held:
                item = holds.hold(board.facts, request, vm, kept)
                yield holds.with_eviction(board, item)


def _draft(
    board: PlanState, goals: Sequence[EmptyNodes], closed: Closed, late: Late, _wide: bool
) -> Draft:
    return empty_nodes(board, goals[0], closed, late)


def _title(goal: EmptyNodes, pull: PullTitle) -> str:
    left = {move.source.node for move in pull.moves}
    emptied = [node for node in goal.nodes if node in left]
    inside = ", ".join(filter(None, (pull.amount, pull.opening)))
    if not pull.moves:
        when = f" ({pull.opening})" if pull.opening else ""
        return f"Cordon {first_of(goal.nodes, 2)}{when}"
    return f"Empty {first_of(emptied or goal.nodes, 2)} ({inside})"


PLANNER = GoalPlanner(
    goal=EmptyNodes,
    draft=_draft,
    title=_title,
    preview=lambda goal: f"{goal.request.id} empties {', '.join(goal.nodes)}",
)
