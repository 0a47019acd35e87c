"""What each move of a plan waits for, in a few words."""

from __future__ import annotations

from collections.abc import Mapping

from gitbot.model.plan.plan import MoveRef, PlacementPlan
from gitbot.model.text.wording import first_of
from gitbot.reports.diff import Diff

_NAMED = 2


def waits_of(diff: Diff) -> Mapping[MoveRef, str]:
    """As `awaited`, and `its window` for moves that could start at once in an open window."""
    ahead = {
        item.request
        for item in diff.outlook.conditions
        if item.allowed and all(time.start > diff.now for time in item.allowed)
    }
    opens = {move.ref: "its window" for move in diff.plan.moves if move.request in ahead}
    return {**opens, **awaited(diff.plan)}


def awaited(plan: PlacementPlan) -> Mapping[MoveRef, str]:
    """`n1 is back; shop/db-1`: a node that must be back, VMs whose moves must have ended.

    Moves that wait for nothing are absent.
    """
    vms = {move.ref: str(move.vm.namespaced_name) for move in plan.moves}
    found = {}
    for move in plan.moves:
        back = [f"{move.to.node} is back"] if move.after_return else []
        first = [vms[ref] for ref in move.after or () if ref in vms]
        words = [*back, *([first_of(first, _NAMED)] if first else [])]
        if words:
            found[move.ref] = "; ".join(words)
    return found
