"""make_plan: from a problem to a plan."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import assert_never

from gitbot.errors import Bug
from gitbot.model.plan import PlacementPlan
from gitbot.model.problem import EmptyNodes, Goal, HealRule, MoveVms, PlacementProblem, ReturnHome
from gitbot.planner.assemble import assemble
from gitbot.planner.board import Board
from gitbot.planner.drain import empty_nodes
from gitbot.planner.facts import Facts
from gitbot.planner.heal import heal_rule
from gitbot.planner.requests import Late, move_vms, return_home
from gitbot.planner.solve import effort
from gitbot.planner.step import Draft
from gitbot.planner.timing import first_chance
from gitbot.planner.waves import pack

STUCK = frozenset({"no-feasible-node", "no-free-domain", "not-together", "unsafe-landing"})
"""Codes of holds that another order of goals might avoid."""


def make_plan(problem: PlacementProblem) -> PlacementPlan:
    """The plan of a problem: same problem, same plan, on any machine.

    Every step keeps the law: it adds no breach of a required rule, makes none worse, and capacity
    holds at every instant with both pods counted. What cannot be moved is a hold, never an error.
    """
    facts = Facts.of(problem)
    board = Board.of(facts)
    late: Late = frozenset()
    for _ in range(len(facts.vmis) + 1):
        drafts = _draft_all(board, late)
        packed = pack(board, drafts)
        if not packed.late:
            return assemble(board, drafts, packed)
        late |= packed.late
    raise Bug("BUG: moves are late again and again")


def _draft_all(board: Board, late: Late) -> list[Draft]:
    """The drafts of all goals in their order; where some fall short, of the best order tried.

    Tried are: those that fell short last, and first, and all MigrationRequests as one.
    """
    problem = board.facts.problem
    goals = sorted(problem.goals, key=lambda goal: first_chance(goal.request, problem.now))
    drafts, short = _in_order(board, [(goal,) for goal in goals], late)
    for order in _other_orders(goals, short):
        others, _ = _in_order(board, order, late)
        if _cost(board, others) < _cost(board, drafts):
            drafts = others
    return drafts


def _other_orders(goals: Sequence[Goal], short: set[str]) -> Iterator[list[tuple[Goal, ...]]]:
    if not short or len(goals) < 2:
        return
    first: list[tuple[Goal, ...]] = [(goal,) for goal in goals if goal.request.id in short]
    rest: list[tuple[Goal, ...]] = [(goal,) for goal in goals if goal.request.id not in short]
    if rest:
        yield [*rest, *first]
        yield [*first, *rest]
    moves = tuple(goal for goal in goals if isinstance(goal, MoveVms))
    if len(moves) > 1:
        others: list[tuple[Goal, ...]] = [(goal,) for goal in goals if goal not in moves]
        yield [*others, moves]
        yield [moves, *others]


def _cost(board: Board, drafts: Sequence[Draft]) -> tuple[int, int, int]:
    """Holds on what was asked for, steps, and bytes."""
    asked = sum(1 for draft in drafts for hold in draft.holds if hold.asked)
    return asked, *effort(board, [item.step for draft in drafts for item in draft.planned])


def _in_order(
    board: Board, order: Sequence[tuple[Goal, ...]], late: Late
) -> tuple[list[Draft], set[str]]:
    """The drafts of goals, or of several requests as one, and the requests that fell short."""
    here = board.fork()
    closed = _closed(board.facts.problem.goals)
    drafts: list[Draft] = []
    short: set[str] = set()
    for goals in order:
        draft = _draft(here, goals, closed, late)
        for item in draft.planned:
            here.take(item.step)
        if draft.cordon:
            here.cordon({item.leaves for item in draft.planned})
        short.update(hold.request for hold in draft.holds if hold.code in STUCK)
        drafts.append(draft)
    return drafts, short


def _closed(goals: Sequence[Goal]) -> Mapping[str, str]:
    return {
        node: f"{goal.request.intent.kind} {goal.request.intent.name} empties this node"
        for goal in goals
        if isinstance(goal, EmptyNodes)
        for node in goal.nodes
    }


def _draft(board: Board, goals: tuple[Goal, ...], closed: Mapping[str, str], late: Late) -> Draft:
    goal = goals[0]
    match goal:
        case MoveVms():
            moves = [item for item in goals if isinstance(item, MoveVms)]
            return move_vms(board, moves, closed, late)
        case EmptyNodes():
            return empty_nodes(board, goal, closed, late)
        case HealRule():
            return heal_rule(board, goal, closed, late)
        case ReturnHome():
            return return_home(board, goal, closed, late)
        case _:
            assert_never(goal)
