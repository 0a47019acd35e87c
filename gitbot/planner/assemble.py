"""Put a plan together as the value that everybody reads: moves, holds, rules, waves, bound."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from gitbot.model.names import NamespacedName
from gitbot.model.plan import (
    Check,
    Hold,
    Move,
    Outcome,
    PlacementPlan,
    RuleState,
    SnapshotRef,
    Wave,
)
from gitbot.planner.board import Board
from gitbot.planner.bounds import bound
from gitbot.planner.facts import Facts
from gitbot.planner.step import Draft, Planned
from gitbot.planner.timing import OVERHEAD_SECONDS, estimate
from gitbot.planner.waves import Packed


def assemble(board: Board, drafts: Sequence[Draft], packed: Packed) -> PlacementPlan:
    """The plan of packed drafts; `board` is the state before."""
    facts = board.facts
    problem = facts.problem
    moves = _moves(facts, packed)
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


def _moves(facts: Facts, packed: Packed) -> tuple[Move, ...]:
    numbers: Counter[str] = Counter()
    moves = []
    for index, wave in enumerate(packed.waves):
        for item in wave.planned:
            request = item.request
            number = request.first_move + numbers[request.id]
            numbers[request.id] += 1
            moves.append(_move(facts, item, number, index))
    return tuple(sorted(moves, key=lambda move: (move.wave, move.request, move.id)))


def _move(facts: Facts, item: Planned, number: int, wave: int) -> Move:
    step, request = item.step, item.request
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
        checks=_checks(facts, step.vm, step.landings),
        why=item.why,
    )


def _checks(facts: Facts, vm: NamespacedName, landings: Sequence[str]) -> tuple[Check, ...]:
    where = landings[0] if len(landings) == 1 else f"each of {len(landings)} nodes"
    rules = [rule for rule in facts.rules_over(vm) if rule.required]
    kept = ", ".join(rule.ref.name for rule in rules) or "no required rule is about this VM"
    return (
        Check(name="live-migratable", outcome=Outcome.PASS, message="LIVE-MIGRATABLE is True"),
        Check(
            name="scheduling",
            outcome=Outcome.PASS,
            message=f"the scheduler's filters accept the target pod on {where}, source pod counted",
        ),
        Check(name="rules", outcome=Outcome.PASS, message=f"kept at every instant: {kept}"),
        Check(
            name="estimate",
            outcome=Outcome.PASS,
            message=(
                f"memory once at {facts.problem.bandwidth} bytes/s"
                f" and {OVERHEAD_SECONDS} s for pod and hand-over"
            ),
        ),
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
