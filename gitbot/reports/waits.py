"""What each move of a plan waits for, in a few words."""

from __future__ import annotations

from collections.abc import Mapping

from gitbot.model.grouping import grouped
from gitbot.model.plan.plan import MoveRef, PlacementPlan
from gitbot.model.text.wording import first_of
from gitbot.reports.conditions import freezes_ahead
from gitbot.reports.diff import Diff

_NAMED = 2


def waits_of(diff: Diff) -> Mapping[MoveRef, str]:
    """As `awaited`; also `its window` while that is not open, and `NAME ends` of a freeze."""
    ahead = {
        item.request
        for item in diff.outlook.conditions
        if item.allowed and all(time.start > diff.now for time in item.allowed)
    }
    found = dict(awaited(diff.plan))
    for move in diff.plan.moves:
        item, vm = diff.outlook.of(move.request), move.vm.namespaced_name
        ends = [f"{freeze.intent.name} ends" for freeze, _ in freezes_ahead(item, vm, now=diff.now)]
        window = "its window" if move.request in ahead and move.ref not in found else ""
        words = "; ".join(filter(None, (window, *ends, found.get(move.ref, ""))))
        if words:
            found[move.ref] = words
    return found


def awaited(plan: PlacementPlan) -> Mapping[MoveRef, str]:
    """`n1 is back; shop/db-1`: a node that must be back, VMs whose moves must have ended.

    What moves as one waits for every node that one of it waits for.

    Moves that wait for nothing are absent.
    """
    vms = {move.ref: str(move.vm.namespaced_name) for move in plan.moves}
    waiting = [move for move in plan.moves if move.after_return]
    as_one = grouped((move.group, move.to.node) for move in waiting if move.as_one)
    found = {}
    for move in plan.moves:
        nodes = as_one.get(move.group, ()) if move.as_one else (move.to.node,) * move.after_return
        back = [f"{first_of(sorted(set(nodes)), _NAMED)} is back"] if nodes else []
        first = [vms[ref] for ref in move.after or () if ref in vms]
        words = [*back, *([first_of(first, _NAMED)] if first else [])]
        if words:
            found[move.ref] = "; ".join(words)
    return found
