"""make_plan: from a problem to a plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
from gitbot.planner.step import Draft
from gitbot.planner.timing import first_chance
from gitbot.planner.waves import pack


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
    """The drafts of all goals in their order; where some have holds, with those last, and first."""
    problem = board.facts.problem
    goals = sorted(problem.goals, key=lambda goal: first_chance(goal.request, problem.now))
    drafts, short = _in_order(board, goals, late)
    first = [goal for goal in goals if goal.request.id in short]
    rest = [goal for goal in goals if goal.request.id not in short]
    for order in ([*rest, *first], [*first, *rest]):
        if first and rest and order != goals:
            others, _ = _in_order(board, order, late)
            if _count(others) < _count(drafts):
                drafts = others
    return drafts


def _count(drafts: Sequence[Draft]) -> int:
    return sum(1 for draft in drafts for hold in draft.holds if hold.asked)


def _in_order(board: Board, goals: Sequence[Goal], late: Late) -> tuple[list[Draft], set[str]]:
    here = board.fork()
    closed = _closed(goals)
    drafts: list[Draft] = []
    short: set[str] = set()
    for goal in goals:
        draft = _draft(here, goal, closed, late)
        for item in draft.planned:
            here.take(item.step)
        if draft.cordon:
            here.cordon({item.leaves for item in draft.planned})
        if draft.holds:
            short.add(goal.request.id)
        drafts.append(draft)
    return drafts, short


def _closed(goals: Sequence[Goal]) -> Mapping[str, str]:
    return {
        node: f"{goal.request.intent.kind} {goal.request.intent.name} empties this node"
        for goal in goals
        if isinstance(goal, EmptyNodes)
        for node in goal.nodes
    }


def _draft(board: Board, goal: Goal, closed: Mapping[str, str], late: Late) -> Draft:
    match goal:
        case MoveVms():
            return move_vms(board, goal, closed, late)
        case EmptyNodes():
            return empty_nodes(board, goal, closed, late)
        case HealRule():
            return heal_rule(board, goal, closed, late)
        case ReturnHome():
            return return_home(board, goal, closed, late)
        case _:
            assert_never(goal)
