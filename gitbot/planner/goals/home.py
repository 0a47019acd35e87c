"""ReturnHome: bring VMs back to the nodes that they came from."""

from __future__ import annotations

from collections.abc import Sequence

from gitbot.kubernetes.names import NamespacedName
from gitbot.model.plan.plan import Hold
from gitbot.model.plan.problem import Pin, ReturnHome, Target
from gitbot.planner import holds
from gitbot.planner.bounds import proved
from gitbot.planner.goals.goal_planner import GoalPlanner, PullTitle
from gitbot.planner.goals.move import planned_step
from gitbot.planner.holds import Late
from gitbot.planner.plan_types import Blocker, Closed, Draft, TargetPolicy, Task
from gitbot.planner.search.greedy import solve
from gitbot.planner.search.prune_steps import beneficiaries
from gitbot.planner.state.plan_state import PlanState


def return_home(board: PlanState, goal: ReturnHome, closed: Closed, late: Late) -> Draft:
    """Plan the way home: a group for each home node. A VM that cannot go home stays."""
    facts, request = board.facts, goal.request
    found: list[Hold] = []
    homes: dict[NamespacedName, str] = {}
    for vm, home in sorted(goal.homes.items()):
        against = holds.obstacle(board, request, vm, late)
        if board.place(vm) == home and against is not None:
            continue
        if against is None and home not in facts.nodes:
            against = Blocker(code="no-such-node", reason=f"its home {home} is gone")
        if against is not None:
            found.append(holds.hold(facts, request, vm, against, asked=False))
            continue
        homes[vm] = home
    wishes = {
        vm: TargetPolicy(target=Target(nodes=(home,)), pin=Pin.NODE, closed=closed)
        for vm, home in homes.items()
    }
    task = Task(
        content={vm: frozenset({home}) for vm, home in homes.items()},
        wishes=wishes,
        aside=TargetPolicy(closed=closed),
        others=holds.bystanders(board, [request], late),
        departed=holds.departed(board),
    )
    solved = solve(board, task)
    with board.trial(solved.steps):
        found.extend(
            holds.hold_without_node(board, request, vm, wishes[vm], asked=False)
            for vm in solved.left
        )
    planned = tuple(
        planned_step(step, request, "goes home", group=f"{request.id}/{homes[vm]}")
        for vm, step in zip(beneficiaries(solved.steps), solved.steps, strict=True)
    )
    away = sum(board.place(vm) != home for vm, home in homes.items())
    done = not solved.left
    least, proof = proved(board, away, planned, search=solved.proven and done, counted=done)
    return Draft(planned=planned, holds=tuple(found), least=least, proof=proof)


def _draft(
    board: PlanState, goals: Sequence[ReturnHome], closed: Closed, late: Late, _wide: bool
) -> Draft:
    return return_home(board, goals[0], closed, late)


def _title(goal: ReturnHome, pull: PullTitle) -> str:
    return f"Bring {pull.amount} home{pull.where} after {goal.request.intent.name}"


PLANNER = GoalPlanner(goal=ReturnHome, draft=_draft, title=_title)
