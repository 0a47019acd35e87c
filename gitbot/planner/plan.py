"""make_plan: from a problem to a plan."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from gitbot.constraints.replay.replay import replay
from gitbot.kubevirt.source_node import lost_of
from gitbot.model.plan.plan import PlacementPlan
from gitbot.model.plan.problem import Goal, PlacementProblem
from gitbot.model.progress import NO_PROGRESS, PlanningProgress
from gitbot.model.text.instants import FOREVER
from gitbot.planner.assemble import assemble
from gitbot.planner.faults import (
    Extra,
    LeftOut,
    held,
    is_answer,
    nothing,
    planning,
    unordered,
)
from gitbot.planner.goals.registry import GOALS, planner_of
from gitbot.planner.holds import INTERNAL, INTERRUPTED, Late, with_holds
from gitbot.planner.leads import ready_by_start
from gitbot.planner.move_groups import with_groups
from gitbot.planner.plan_types import Draft
from gitbot.planner.problem_index import ProblemIndex
from gitbot.planner.proofs.prove import with_proofs
from gitbot.planner.remedies import with_remedies
from gitbot.planner.schedule.schedule import schedule
from gitbot.planner.schedule.timing import first_chance
from gitbot.planner.search.budget import SearchBudget
from gitbot.planner.search.greedy import effort
from gitbot.planner.state.plan_state import PlanState
from gitbot.planner.state.undo_path import state_of

STUCK = frozenset({"no-feasible-node", "no-free-domain", "not-together", "unsafe-landing"})
"""Codes of holds that another order of the goals might avoid."""


FEW = 4
"""With more goals, orders are compared only if VMs are held, not to save moves."""


MOST_ATTEMPTS = 32
"""Plans that are made if the planner contradicts itself. The last one moves nothing."""


def make_plan(
    problem: PlacementProblem, *, onlooker: PlanningProgress = NO_PROGRESS
) -> PlacementPlan:
    """The plan of a problem: same problem, same plan, on any machine.

    Every step keeps the law: it adds no breach of a required rule, makes none worse, and capacity
    holds in every state with both pods counted. Only VMs that a rule keeps together may move as
    one. A VM that cannot be moved becomes a hold, not an error. If the onlooker asks to end, the
    plan holds what was found until then: lawful, not final.

    If the planner contradicts itself, it plans again without the VM, then without the request that
    was planned then. If the replay refutes the plan, moves that overtake others go first. `faults`
    say what is left out.
    """
    return ready_by_start(problem, lambda same: _plan_once(same, onlooker))


def _plan_once(problem: PlacementProblem, onlooker: PlanningProgress) -> PlacementPlan:
    left = LeftOut()
    for _ in range(MOST_ATTEMPTS):
        before = left
        try:
            plan = _attempt(problem, onlooker, left)
            refuted = replay(problem, plan)
            if not refuted:
                return replace(plan, faults=(*left.faults, *plan.faults))
            left = left.after_refuted(problem, refuted)
        except Exception as error:
            if is_answer(error):
                raise
            left = left.after(problem, error)
        if onlooker.stopped() or left.same_as(before):
            break
    return _without_goals(problem, left.all_of(problem))


def _without_goals(problem: PlacementProblem, left: LeftOut) -> PlacementPlan:
    """The plan that moves nothing. If not even that can be made, its faults say so."""
    try:
        plan = _attempt(problem, NO_PROGRESS, left)
    except Exception as error:
        if is_answer(error):
            raise
        left = left.after(problem, error)
        return replace(nothing(problem), faults=left.faults[-1:])  # it was in the way each time
    return replace(plan, faults=(*left.faults, *plan.faults))


def _attempt(problem: PlacementProblem, onlooker: PlanningProgress, left: LeftOut) -> PlacementPlan:
    def make(eased: PlacementProblem) -> PlacementPlan:
        return _alone(eased, onlooker, budget, left)

    # one for all that is tried
    budget = SearchBudget.of(len(problem.snapshot.of("VirtualMachineInstance")))
    plan = make(problem)
    if onlooker.stopped() or Extra.GROUPS in left.extras:
        return plan
    with planning(extra=Extra.GROUPS), budget.for_better():
        if any(hold.code in STUCK for hold in plan.holds):
            plan = with_groups(problem, plan, make, onlooker, budget)
        return plan if onlooker.stopped() else with_remedies(problem, plan, make, budget)


def _alone(
    problem: PlacementProblem,
    onlooker: PlanningProgress,
    budget: SearchBudget,
    left: LeftOut,
) -> PlacementPlan:
    """The plan in which each move keeps every rule."""
    index = ProblemIndex.of(problem)
    facts = replace(index, budget=budget, unordered=set(left.moves))
    board = PlanState.of(facts)
    late = left.moves
    apart = [held(facts, goal) for goal in problem.goals if goal.request.id in left.requests]
    # `late` grows in each round: no goal plans a move again that found no time or no order. It ends
    # with the pairs of requests and VMs.
    while True:
        board.onlooker = onlooker
        drafts = [*_draft_all(board, late, left), *apart]
        board.onlooker = NO_PROGRESS
        found = schedule(board, drafts, eager=Extra.OVERTAKING not in left.extras)
        lost = found.late | found.unordered
        facts.unordered.update(found.unordered)
        faults = unordered(facts, frozenset(facts.unordered - left.moves))
        if onlooker.stopped():
            made = assemble(board, with_holds(facts, drafts, lost, INTERRUPTED), found)
            return replace(made, faults=faults)
        if not lost:
            if Extra.PROOFS not in left.extras:
                with planning(extra=Extra.PROOFS):
                    drafts = with_proofs(board, drafts, onlooker)
            return replace(assemble(board, drafts, found), faults=faults)
        if lost <= late:  # a goal plans a move again: the planner contradicts itself
            made = assemble(board, with_holds(facts, drafts, lost, INTERNAL), found)
            return replace(made, faults=unordered(facts, lost | facts.unordered - left.moves))
        late |= lost


def _draft_all(board: PlanState, late: Late, left: LeftOut) -> list[Draft]:
    """The drafts of all goals in their order. If some fall short, the best of several orders wins.

    The orders: healings so that each leaves room for the next, those that fell short last, or
    first, and all MigrationRequests as one. None is tried once the searches' budget is spent.
    """
    problem = board.facts.problem
    asked = (goal for goal in problem.goals if goal.request.id not in left.requests)
    goals = sorted(asked, key=lambda goal: _rank(goal, problem.now))
    drafts, short = _in_order(board, [(goal,) for goal in goals], late)
    if not short or Extra.ORDERS in left.extras:
        return drafts
    with planning(extra=Extra.ORDERS), board.facts.budget.for_better():
        return min(
            _drafts_by_order(board, drafts, goals, short, late),
            key=lambda each: _cost(board, each),
        )


def _drafts_by_order(
    board: PlanState,
    first: list[Draft],
    goals: Sequence[Goal],
    short: set[str],
    late: Late,
) -> list[list[Draft]]:
    found, budget = [first], board.facts.budget
    healings = _healings_in_order(board, goals, late)
    while not budget.spent() and (another := next(healings, None)) is not None:
        found.append(_in_order(board, another[0], late, wide=another[1])[0])
    for order in _other_orders(goals, short):
        drafts = min(found, key=lambda each: _cost(board, each))
        few = len(goals) <= FEW or any(draft.holds for draft in drafts)
        if budget.spent() or (len(found) > 1 and not few):
            break
        found.append(_in_order(board, order, late)[0])
    return found


def _rank(goal: Goal, now: int) -> tuple[int, int, int]:
    """Who can start first goes first, then who must end first.

    Healings follow what people ask for, balance comes last.
    """
    ends = max((time.end for time in goal.request.allowed), default=FOREVER)
    return _stage(goal), first_chance(goal.request, now), ends


def _stage(goal: Goal) -> int:
    return planner_of(goal).stage(goal)


def _other_orders(goals: Sequence[Goal], short: set[str]) -> Iterator[list[tuple[Goal, ...]]]:
    if not short or len(goals) < 2:
        return
    first: list[tuple[Goal, ...]] = [(goal,) for goal in goals if goal.request.id in short]
    rest: list[tuple[Goal, ...]] = [(goal,) for goal in goals if goal.request.id not in short]
    if rest:
        yield _staged([*rest, *first])
        yield _staged([*first, *rest])
    moves = tuple(goal for goal in goals if planner_of(goal).joins(goal))
    if len(moves) > 1:
        others: list[tuple[Goal, ...]] = [(goal,) for goal in goals if goal not in moves]
        yield _staged([*others, moves])
        if others:
            yield _staged([moves, *others])


def _staged(order: list[tuple[Goal, ...]]) -> list[tuple[Goal, ...]]:
    return sorted(order, key=lambda goals: _stage(goals[0]))


def _healings_in_order(
    board: PlanState, goals: Sequence[Goal], late: Late
) -> Iterator[tuple[list[tuple[Goal, ...]], bool]]:
    """The healings, each of which leaves room for the next; and whether large VMs make room."""
    healings = [goal for goal in goals if planner_of(goal).order is not None]
    rest: list[tuple[Goal, ...]] = [(g,) for g in goals if planner_of(g).order is None]
    closed = _closed_nodes(board.facts)
    for wide in (False, True) if len(healings) > 1 else (True,) * len(healings):
        order = [
            goal
            for planner in GOALS.values()
            if planner.order is not None
            and (mine := [goal for goal in healings if type(goal) is planner.goal])
            for goal in planner.order(board, mine, closed, late, wide=wide)
        ]
        yield [*rest, *((goal,) for goal in order)], wide


def _cost(board: PlanState, drafts: Sequence[Draft]) -> tuple[int, int, int]:
    """Holds that the user asked to move, steps, and bytes."""
    asked = sum(1 for draft in drafts for hold in draft.holds if hold.asked)
    return asked, *effort(board, [item.step for draft in drafts for item in draft.planned])


def _in_order(
    board: PlanState, order: Sequence[tuple[Goal, ...]], late: Late, *, wide: bool = False
) -> tuple[list[Draft], set[str]]:
    """The drafts of goals, or of several requests as one, and the requests that fell short.

    `wide`: where VMs step aside for a healing, large ones do.
    """
    closed = _closed_nodes(board.facts)
    drafts: list[Draft] = []
    short: set[str] = set()
    with board.trial(), board.remembering():
        for goals in order:
            draft = _known(board, goals, closed, late, wide=wide)
            if goals is not order[-1]:
                board.advance(item.step for item in draft.planned)
                board.remember(item.step for item in draft.planned)
                # A node that comes back may do so before a later goal moves: the scheduler may
                # choose it then.
                if draft.cordon and draft.away is None:
                    leaves = {item.leaves for item in draft.planned}
                    board.cordon(leaves and {*leaves, *draft.at_once})
            short.update(hold.request for hold in draft.holds if hold.code in STUCK)
            aside = (item for item in draft.planned if item.step.room_for is not None)
            short.update(item.request.id for item in aside)
            drafts.append(draft)
            board.onlooker.planned(sum(len(each.planned) for each in drafts))
    return drafts, short


def _closed_nodes(facts: ProblemIndex) -> Mapping[str, str]:
    lost = {
        name: f"the node {lost}" for name, node in facts.nodes.items() if (lost := lost_of(node))
    }
    return lost | {
        node: f"{goal.request.intent.kind} {goal.request.intent.name} empties this node"
        for goal in facts.problem.goals
        for node in goal.closes
    }


def _known(
    board: PlanState,
    goals: tuple[Goal, ...],
    closed: Mapping[str, str],
    late: Late,
    *,
    wide: bool,
) -> Draft:
    """The draft of a goal, made once for each state. Another order often begins with the same."""
    known = board.facts.searched
    planner = planner_of(goals[0])
    wide = wide and planner.order is not None
    asked = (*map(id, goals), late, wide, state_of(board))
    if asked not in known:
        with planning(goals):
            known[asked] = planner.draft(board, goals, closed, late, wide)
    found: Draft = known[asked]
    return found
