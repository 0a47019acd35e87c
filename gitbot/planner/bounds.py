"""Lower bounds that hold for every plan with the same goals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from gitbot.kubernetes.names import NamespacedName
from gitbot.model.plan.constraint import Breach, RuleConstraint
from gitbot.model.plan.plan import Bound, Move, OptimalityProof, PlacementPlan
from gitbot.planner.plan_types import Draft, Planned, TargetPolicy
from gitbot.planner.problem_index import ProblemIndex
from gitbot.planner.search.chains import held_on
from gitbot.planner.state.plan_state import PlanState

MEMORY = "memory"

MOST_COUNTED = 4_000
"""With more VMs in the cluster, we do not count how many must step aside."""


def bound(facts: ProblemIndex, drafts: Sequence[Draft], moves: Sequence[Move]) -> Bound:
    """Moves: the minimum that the goals need. Seconds: those moves under the limits, back to back.

    Takes the minimum number of moves from the cheapest of `moves`, so the bound holds for any
    choice of VMs among them.
    """
    least = sum(draft.least for draft in drafts)
    proof = _proof(drafts) if least == len(moves) else OptimalityProof.NONE
    if proof is OptimalityProof.NONE and facts.budget.cut:
        proof = OptimalityProof.CUT
    if least < len(moves):
        seconds = sorted(move.estimated_seconds for move in moves)[:least]
        most = max([-(-sum(seconds) // facts.problem.limits.slots), *seconds[-1:]])
        return Bound(moves=least, seconds=most, proof=proof)
    return Bound(moves=least, seconds=_seconds(facts, moves), proof=proof)


def as_cut(plan: PlacementPlan) -> PlacementPlan:
    """The plan, if what came after it was cut: what was proven of it before stays so."""
    if plan.bound.proof is not OptimalityProof.NONE:
        return plan
    return replace(plan, bound=replace(plan.bound, proof=OptimalityProof.CUT))


def _proof(drafts: Sequence[Draft]) -> OptimalityProof:
    proofs = {draft.proof for draft in drafts if draft.planned or draft.holds}
    if OptimalityProof.NONE in proofs:
        return OptimalityProof.NONE
    return (
        OptimalityProof.SEARCHED if OptimalityProof.SEARCHED in proofs else OptimalityProof.COUNTED
    )


def proved(
    board: PlanState, least: int, planned: Sequence[Planned], *, search: bool, counted: bool
) -> tuple[int, OptimalityProof]:
    """The lower bound of a goal whose VMs must make `least` moves, and how it is proved.

    `search`: a complete search found no plan with fewer moves. `counted`: everything that was asked
    is done. With other goals, the VMs that step aside may be VMs that those goals ask for, so only
    what must move counts.
    """
    if counted and len(planned) == least:
        return least, OptimalityProof.COUNTED
    if search and len(board.facts.problem.goals) == 1:
        return len(planned), OptimalityProof.SEARCHED
    return least, OptimalityProof.NONE


def must_step_aside(board: PlanState, leaving: Sequence[NamespacedName], wish: TargetPolicy) -> int:
    """The least number of VMs that must step aside so that these find room on the open nodes.

    Counts in pieces of t bytes: a node takes at most floor(room / t) of them. A VM that leaves a
    node frees at most one piece more than it needs elsewhere. So other VMs must free the pieces
    that do not fit, one each. 0 if target pods ask for less than running ones hold, or if the
    cluster is too large to count.
    """
    if len(board.occupancy) > MOST_COUNTED:
        return 0
    for node in board.nodes:
        for vm, held in held_on(board, node).items():
            if board.transit.asks(vm).get(MEMORY, 0) < held[MEMORY]:
                return 0
    sizes = np.array([board.asks(vm).get(MEMORY, 0) for vm in leaving], dtype=np.int64)
    free = np.maximum(board.room(MEMORY), 0)
    room = free[[board.number[node] for node in board.open_nodes(wish.closed)]]
    pieces = [size for size in {*sizes.tolist(), *(room + 1).tolist()} if size > 0]
    return max((int((sizes // t).sum() - (room // t).sum()) for t in pieces), default=0)


def least_moves(rule: RuleConstraint, breaches: Sequence[Breach]) -> int:
    """A lower bound on the moves that heal these breaches of a rule.

    A maximum counts surplus VMs, and each move removes one. For other rules, another VM that
    arrives may heal a VM's breach without moving it, so only VMs on wrong nodes count, one each.
    """
    if rule.maximum is not None:
        return sum(breach.amount for breach in breaches)
    misplaced = sum(1 for breach in breaches if breach.key.startswith("node-affinity:"))
    return max(misplaced, 1 if breaches else 0)


def _seconds(facts: ProblemIndex, moves: Sequence[Move]) -> int:
    limits = facts.problem.limits
    sources: Counter[str] = Counter()
    for move in moves:
        sources[move.source.node] += move.estimated_seconds
    total = sum(move.estimated_seconds for move in moves)
    return max(
        [
            -(-total // limits.slots),
            *(-(-seconds // max(1, limits.per_source_node)) for seconds in sources.values()),
            *(move.estimated_seconds for move in moves),
            0,
        ]
    )


def room_for(board: PlanState, vms: Sequence[NamespacedName], wish: TargetPolicy) -> bool:
    """Whether the nodes that are open to the VMs have enough bytes for all of them together."""
    asked = sum(board.asks(vm).get("memory", 0) for vm in vms)
    outside = np.array([name not in wish.closed for name in board.nodes])
    return asked <= int(board.room("memory")[outside].clip(0).sum())
