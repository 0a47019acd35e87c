"""Whether a move makes a required rule worse, in any order of starts and ends."""

from __future__ import annotations

from collections.abc import Iterator

from gitbot.constraints.replay.move_order import MoveOrder
from gitbot.constraints.replay.moves_check import finding
from gitbot.constraints.rules.worsening import Ends, Stages, places_during, worsened
from gitbot.model.plan.constraint import Breach, Occupancy, RuleConstraint
from gitbot.model.plan.findings import Finding
from gitbot.model.plan.plan import Move


class RuleWatch:
    """One required rule while a plan runs. Report each move of its VMs in the plan's order."""

    def __init__(self, rule: RuleConstraint, occupancy: Occupancy, order: MoveOrder) -> None:
        self._rule = rule
        self._order = order
        self._places = {vm: occupancy[vm] for vm in sorted(rule.members) if vm in occupancy}
        self._seen: list[int] = []
        self._worse: set[int] = set()

    def findings(self, number: int) -> Iterator[Finding]:
        """What this move, or a parallel one, makes worse: each state compared to the one before."""
        moves, before = self._order.moves, self._order.before[number]
        ended = [other for other in self._seen if before >> other & 1]
        beside = [other for other in self._seen if not before >> other & 1]
        self._seen.append(number)
        if not self._worse.isdisjoint(beside):
            return
        places = places_during(self._places, [_ends(moves[n]) for n in ended], [2] * len(ended))
        ours = (*beside, number)
        worse = next(filter(None, self._worse_at_landings(ours, places)), ())
        if worse:
            self._worse.add(number)
            culprits = (moves[other] for other in ours)
            breach = worse[0]
            move = next((m for m in culprits if m.vm.namespaced_name in breach.vms), moves[number])
            said = f"{self._rule.ref.id} would be worse: {breach.message}"
            yield finding("rule-worsened", move, said)

    def _worse_at_landings(
        self, numbers: tuple[int, ...], places: Occupancy
    ) -> Iterator[tuple[Breach, ...]]:
        """On the planned targets, then with each other landing of each unpinned move."""
        moves = [self._order.moves[number] for number in numbers]
        planned = [_ends(move) for move in moves]

        def possible(stages: Stages) -> bool:
            return self._order.possible(numbers, stages)

        yield worsened(self._rule, places, planned, possible)
        for place, move in enumerate(moves):
            for node in sorted({*move.allowed_nodes} - {move.to.node}):
                landed = (move.vm.namespaced_name, move.source.node, node)
                changed = [*planned[:place], landed, *planned[place + 1 :]]
                yield worsened(self._rule, places, changed, possible)


def _ends(move: Move) -> Ends:
    return move.vm.namespaced_name, move.source.node, move.to.node
