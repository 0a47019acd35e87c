"""Whether the moves of a wave worsen a required rule, however they start and end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

from gitbot.constraints.replay_findings import finding
from gitbot.model.constraint import Occupancy, RuleConstraint, worsened
from gitbot.model.findings import Finding
from gitbot.model.names import NamespacedName
from gitbot.model.plan import Move

_MOST_MOVES = 5  # moves of one rule in one wave whose stages are all combined: 3^5 states


def rule_findings(
    moves: tuple[Move, ...], rules: Sequence[RuleConstraint], occupancy: Occupancy
) -> Iterator[Finding]:
    """Each required rule, each landing that a move may take, each state that the wave may pass."""
    for rule in rules:
        ours = [move for move in moves if move.vm.namespaced_name in rule.members]
        if rule.required and ours:
            yield from _one(rule, ours, occupancy)


def _one(rule: RuleConstraint, moves: list[Move], occupancy: Occupancy) -> Iterator[Finding]:
    places = {vm: occupancy[vm] for vm in sorted(rule.members) if vm in occupancy}
    before = rule.breaches(places)
    for state in _states(moves, places):
        worse = worsened(before, rule.breaches(state))
        if worse:
            breach = worse[0]
            move = next((m for m in moves if m.vm.namespaced_name in breach.vms), moves[0])
            yield finding("rule-worsened", move, f"{rule.ref.id} would be worse: {breach.message}")
            return


def _states(moves: list[Move], places: Occupancy) -> Iterator[Occupancy]:
    """Wave states on the planned targets, then each other landing of each unpinned move."""
    choices = [_stages(move, move.to.node, places) for move in moves]
    combined: Iterator[tuple[frozenset[str], ...]] = product(*choices)
    if len(moves) > _MOST_MOVES:
        combined = (tuple(stages[stage] for stages in choices) for stage in (1, 2))
    for choice in combined:
        yield {**places, **_named(moves, choice)}
    for number, move in enumerate(moves):
        for node in move.allowed_nodes:
            if node == move.to.node:
                continue
            for stage in _stages(move, node, places):
                for others in (0, 1, 2):
                    choice = tuple(
                        stage if place == number else choices[place][others]
                        for place in range(len(moves))
                    )
                    yield {**places, **_named(moves, choice)}


def _stages(move: Move, node: str, places: Occupancy) -> tuple[frozenset[str], ...]:
    """Not started (or failed), under way, done."""
    held = places.get(move.vm.namespaced_name, frozenset())
    return held, held | {node}, (held - {move.source.node}) | {node}


def _named(
    moves: list[Move], choice: tuple[frozenset[str], ...]
) -> dict[NamespacedName, frozenset[str]]:
    return {move.vm.namespaced_name: held for move, held in zip(moves, choice, strict=True)}
