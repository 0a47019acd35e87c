"""Put a plan together as the value that everybody reads: moves, holds, rules, waves, bound."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from gitbot.model.plan import (
    Hold,
    Move,
    PlacementPlan,
    RuleState,
    SnapshotRef,
    Wave,
)
from gitbot.planner.board import Board
from gitbot.planner.bounds import bound
from gitbot.planner.checks import checks_of
from gitbot.planner.step import Draft, Planned
from gitbot.planner.timing import estimate
from gitbot.planner.waves import Packed


def assemble(board: Board, drafts: Sequence[Draft], packed: Packed) -> PlacementPlan:
    """The plan of packed drafts; `board` is the state before."""
    facts = board.facts
    problem = facts.problem
    moves = _moves(board, packed)
    final = board.after(item.step for wave in packed.waves for item in wave.planned)
    return PlacementPlan(
        cluster=problem.cluster,
        moves=moves,
        holds=_sorted_holds(hold for draft in drafts for hold in draft.holds),
        rules=_rules(board, final),
        waves=tuple(
            Wave(index=index, starts=wave.starts, ends=wave.ends)
            for index, wave in enumerate(packed.waves)
        ),
        bound=bound(facts, drafts, moves),
        limits=problem.limits,
        intents=problem.intents,
        snapshot=SnapshotRef(digest=problem.snapshot.digest, taken_at=problem.snapshot.taken_at),
    )


def _moves(board: Board, packed: Packed) -> tuple[Move, ...]:
    numbers: Counter[str] = Counter()
    moves = []
    for index, wave in enumerate(packed.waves):
        for item in wave.planned:
            request = item.request
            number = request.first_move + numbers[request.id]
            numbers[request.id] += 1
            moves.append(_move(board, item, number, index))
    return tuple(sorted(moves, key=lambda move: (move.wave, move.request, move.id)))


def _move(board: Board, item: Planned, number: int, wave: int) -> Move:
    facts, step, request = board.facts, item.step, item.request
    memory = facts.memory(step.vm)
    return Move(
        id=number,
        request=request.id,
        group=item.group,
        intent=request.intent,
        vm=facts.vm_ref(step.vm),
        source=facts.node_ref(step.source),
        to=facts.node_ref(step.node),
        allowed_nodes=step.landings,
        pin=step.wish.pin,
        added_node_selector=step.selector,
        memory_bytes=memory,
        estimated_seconds=estimate(memory, facts.problem.bandwidth),
        wave=wave,
        checks=checks_of(board, step),
        why=item.why,
    )


def _sorted_holds(holds: Iterable[Hold]) -> tuple[Hold, ...]:
    return tuple(sorted(holds, key=lambda hold: (hold.request, hold.vm, hold.code)))


def _rules(before: Board, after: Board) -> tuple[RuleState, ...]:
    states = []
    for rule in before.facts.rules:
        first, last = rule.breaches(before.occupancy), rule.breaches(after.occupancy)
        states.append(
            RuleState(
                intent=rule.ref,
                required=rule.required,
                before=sum(breach.amount for breach in first),
                after=sum(breach.amount for breach in last),
                before_messages=tuple(breach.message for breach in first),
                after_messages=tuple(breach.message for breach in last),
            )
        )
    return tuple(states)
