"""Lower bounds: what no plan for the same goals can undercut."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from gitbot.constraints.zone_anti_affinity import ZoneAntiAffinity
from gitbot.model.constraint import Breach, RuleConstraint
from gitbot.model.plan import Bound, Move
from gitbot.planner.facts import Facts
from gitbot.planner.step import Draft


def bound(facts: Facts, drafts: Sequence[Draft], moves: Sequence[Move]) -> Bound:
    """Moves: what the goals need at least. Seconds: those moves under the limits, back to back.

    Of the moves the cheapest are counted, as many as are needed at least, so that the bound holds
    for any choice of VMs among those moved.
    """
    least = sum(draft.least for draft in drafts)
    if least < len(moves):
        seconds = sorted(move.estimated_seconds for move in moves)[:least]
        slots = facts.problem.limits.slots
        return Bound(moves=least, seconds=max([-(-sum(seconds) // slots), *seconds[-1:]]))
    return Bound(moves=least, seconds=_seconds(facts, moves))


def least_moves(rule: RuleConstraint, breaches: Sequence[Breach]) -> int:
    """A lower bound on the moves that heal these breaches of a rule.

    ZoneAntiAffinity counts VMs too many, and one move takes one away. Elsewhere a breach about one
    VM alone may still be healed by bringing it company, so only wrong nodes are counted one each.
    """
    if isinstance(rule, ZoneAntiAffinity):
        return sum(breach.amount for breach in breaches)
    misplaced = sum(1 for breach in breaches if breach.key.startswith("node-affinity:"))
    return max(misplaced, 1 if breaches else 0)


def _seconds(facts: Facts, moves: Sequence[Move]) -> int:
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
