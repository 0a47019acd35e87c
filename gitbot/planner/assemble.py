"""Build the plan that everybody reads: moves, holds, rules, waves, bound."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from gitbot.constraints.rules.unread_rule import UnreadRule
from gitbot.constraints.rules.zone_anti_affinity import all_apart
from gitbot.kubernetes.names import NamespacedName
from gitbot.model.grouping import grouped
from gitbot.model.plan.constraint import Breach, Occupancy, RuleConstraint, after_move
from gitbot.model.plan.diagnosis import Check
from gitbot.model.plan.plan import (
    Hold,
    Move,
    MoveRef,
    ObjectiveValue,
    PlacementPlan,
    RuleState,
    SnapshotRef,
    Wave,
)
from gitbot.model.plan.problem import ANYWHERE, HealRule, MoveVms
from gitbot.model.text.wording import first_of
from gitbot.planner.bounds import bound
from gitbot.planner.checks import checks_of, missed_wishes
from gitbot.planner.holds import hold as hold_of
from gitbot.planner.plan_types import Blocker, Draft, Step, TargetPolicy, in_any_order
from gitbot.planner.schedule.dependencies import ties
from gitbot.planner.schedule.schedule import Timed, Timetable
from gitbot.planner.schedule.waves import waves_of
from gitbot.planner.state.plan_state import PlanState


def assemble(board: PlanState, drafts: Sequence[Draft], found: Timetable) -> PlacementPlan:
    facts = board.facts
    problem = facts.problem
    timed, refs = _numbered(found.timed)
    waves = waves_of(timed)
    moves = _moves(board, waves, refs, ties(board, timed, any_order=in_any_order(drafts)))
    hard = {rule.ref.id for rule in facts.rules if rule.required}
    heals = (goal for goal in problem.goals if isinstance(goal, HealRule))
    wishes = {goal.request.id for goal in heals if goal.rule.id not in hard}
    held = (
        replace(hold, asked=hold.asked and hold.request not in wishes)
        for draft in drafts
        for hold in draft.holds
    )
    own = grouped((move.vm, move) for move in moves)
    comes = grouped((move.to.node, move) for move in moves)
    told = (_cost_of_others(board, hold, comes) for hold in held)
    beside = (_beside(hold, own.get(hold.vm, ())) for hold in told)
    holds = _sorted_holds((*beside, *_taken_away(board, moves)))
    rules = _rules(board, [item.planned.step for item in timed])
    return PlacementPlan(
        cluster=problem.cluster,
        moves=moves,
        holds=holds,
        rules=rules,
        waves=tuple(
            Wave(index=index, starts=wave[0].starts, ends=max(item.ends for item in wave))
            for index, wave in enumerate(waves)
        ),
        bound=bound(facts, drafts, moves),
        minimised=minimised(moves, holds, rules),
        drains=tuple(draft.drained for draft in drafts if draft.drained is not None),
        limits=problem.limits,
        intents=problem.intents,
        snapshot=SnapshotRef(digest=problem.snapshot.digest, taken_at=problem.snapshot.taken_at),
    )


def minimised(
    moves: Sequence[Move], holds: Sequence[Hold], rules: Sequence[RuleState]
) -> tuple[ObjectiveValue, ...]:
    """What the search compares plans by, first to last. It asks the scorer only between equals."""
    amounts = {
        "newBreaches": sum(max(0, rule.after - rule.before) for rule in rules if rule.required),
        "held": sum(hold.asked for hold in holds),
        "moves": len(moves),
        "memoryBytes": sum(move.memory_bytes for move in moves),
        "softBreaches": sum(rule.after for rule in rules if not rule.required),
        "score": None,
    }
    return tuple(ObjectiveValue(what=what, amount=amount) for what, amount in amounts.items())


def _numbered(timed: Sequence[Timed]) -> tuple[tuple[Timed, ...], tuple[MoveRef, ...]]:
    """Moves by start, request and number, which counts the starts of each request."""
    counts: Counter[str] = Counter()
    pairs = []
    for item in sorted(timed, key=lambda each: each.starts):
        request = item.planned.request
        ref = MoveRef(request=request.id, id=request.first_move + counts[request.id])
        counts[request.id] += 1
        pairs.append((item, ref))
    pairs.sort(key=lambda pair: (pair[0].starts, pair[1]))
    return tuple(item for item, _ in pairs), tuple(ref for _, ref in pairs)


def _moves(
    board: PlanState,
    waves: Sequence[Sequence[Timed]],
    refs: Sequence[MoveRef],
    after: Sequence[Sequence[int]],
) -> tuple[Move, ...]:
    timed = [(index, item) for index, wave in enumerate(waves) for item in wave]
    steps = [item.planned.step for _, item in timed]
    last, missed = {step.vm: step for step in steps}, missed_wishes(board, steps)
    moves = [
        _move(
            board,
            item,
            ref,
            wave,
            after=tuple(sorted(refs[other] for other in others)),
            more=missed.get(step.vm, ()) if step is last[step.vm] else (),
        )
        for (wave, item), ref, others in zip(timed, refs, after, strict=True)
        for step in (item.planned.step,)
    ]
    return tuple(sorted(moves, key=lambda move: (move.wave, move.request, move.id)))


def _move(
    board: PlanState,
    timed: Timed,
    ref: MoveRef,
    wave: int,
    *,
    after: tuple[MoveRef, ...],
    more: tuple[Check, ...],
) -> Move:
    facts, item, step = board.facts, timed.planned, timed.planned.step
    memory = facts.memory(step.vm)
    return Move(
        id=ref.id,
        request=ref.request,
        group=item.group,
        intent=item.request.intent,
        vm=facts.vm_ref(step.vm),
        source=facts.node_ref(step.source),
        to=facts.node_ref(step.node),
        allowed_nodes=step.landings,
        pin=step.wish.pin,
        added_node_selector=step.selector,
        memory_bytes=memory,
        estimated_seconds=timed.ends - timed.starts,
        wave=wave,
        after=after,
        starts=timed.starts,
        after_return=item.returned,
        checks=(*checks_of(board, step), *more),
        why=item.why,
    )


def _sorted_holds(holds: Iterable[Hold]) -> tuple[Hold, ...]:
    # A drain meets a VM with two pods on two of its nodes; it may ask for one of them only.
    found = sorted(holds, key=lambda hold: hold.asked)
    single = {(hold.request, hold.vm, hold.code, hold.reason): hold for hold in found}.values()
    return tuple(sorted(single, key=lambda hold: (hold.request, hold.vm, hold.code)))


def _cost_of_others(board: PlanState, hold: Hold, comes: Mapping[str, Sequence[Move]]) -> Hold:
    """The hold, which names the intent that takes a place which its VM would find now."""
    here = [item.node for item in hold.nodes if item.node in comes]
    if not here or hold.proven:
        return hold
    vm, goals = hold.vm.namespaced_name, board.facts.problem.goals
    mine = (goal for goal in goals if goal.request.id == hold.request)
    target = next((goal.target for goal in mine if isinstance(goal, MoveVms)), ANYWHERE)
    free = set(board.choices(vm, TargetPolicy(target=target)))
    free.difference_update(*(goal.closes for goal in goals))
    for node in here:
        others = (each for each in comes[node] if each.request != hold.request)
        taken = next((each for each in others if each.vm != hold.vm), None)
        if taken is not None and node in free:
            told = f"{node} would take it, but {_who(taken)} moves {taken.vm.name} there"
            return replace(hold, reason=f"{hold.reason}; {told}")
    return hold


def _beside(hold: Hold, moves: Sequence[Move]) -> Hold:
    """The hold, which says what it is about if the plan moves its VM all the same."""
    if not moves:
        return hold
    own = [move.to.node for move in moves if move.request == hold.request]
    if own:
        told = f"the plan moves it to {own[-1]}; this is about its next move, from there"
    else:
        told = f"the plan moves it to {moves[-1].to.node}, but for {_who(moves[-1])}"
    return replace(hold, reason=f"{hold.reason}; {told}")


def _who(move: Move) -> str:
    return f"{move.intent.kind} {move.intent.name}"


def _taken_away(board: PlanState, moves: Sequence[Move]) -> Iterator[Hold]:
    """A hold for each VM that is where a request wants it, and that other goals move away."""
    facts = board.facts
    ends = {move.vm.namespaced_name: move for move in moves}
    for goal in facts.problem.goals:
        if not isinstance(goal, MoveVms) or goal.balance or goal.target.anywhere:
            continue
        wanted = facts.matching(goal.target)
        for vm in sorted(ends.keys() & set(goal.vms)):
            last = ends[vm]
            if facts.homes.get(vm) in wanted and last.to.node not in wanted:
                there = f"it is on {facts.homes[vm]}, as asked"
                reason = f"{there}, but {_who(last)} moves it to {last.to.node}"
                hint = "once that is done, a request moves it again"
                why = Blocker(code="taken-away", reason=reason, hint=hint)
                yield hold_of(facts, goal.request, vm, why, asked=False)


def _rules(board: PlanState, steps: Sequence[Step]) -> tuple[RuleState, ...]:
    rules = board.facts.rules
    begin = board.occupancy
    quiet = all_apart(rules, begin)
    first = [() if number in quiet else rule.breaches(begin) for number, rule in enumerate(rules)]
    touched = {number for step in steps for number in board.transit.rules_over(step.vm)}
    end = {**begin, **_ends(begin, steps)}
    touched -= all_apart(rules, end, touched & quiet)
    last = [
        rule.breaches(end) if number in touched else first[number]
        for number, rule in enumerate(rules)
    ]
    kept = _kept_places(board)
    there = {vm: begin[vm] - nodes for vm, nodes in kept.items()}
    found = (
        (
            rule,
            _counted(board, rule, before, {**begin, **there}),
            _counted(board, rule, after, {**end, **there, **_ends({**begin, **there}, steps)}),
        )
        if any(vm in rule.members for vm in kept)
        else (rule, before, after)
        for rule, before, after in zip(rules, first, last, strict=True)
    )
    return tuple(
        rule_state(rule, before, after)
        for rule, before, after in found
        if before or after or not (rule.ref.of_vm or isinstance(rule, UnreadRule))
    )


def _kept_places(board: PlanState) -> Mapping[NamespacedName, frozenset[str]]:
    """Nodes where VMs are not yet, but approved moves keep a place for them."""
    instances = board.transit.instances
    kept = grouped((item.vm, item.node) for item in board.facts.problem.reservations)
    return {
        vm: nodes
        for vm, names in kept.items()
        if (nodes := board.occupancy.get(vm, frozenset()) & set(names) - instances[vm].places)
    }


def _counted(
    board: PlanState, rule: RuleConstraint, breaches: Sequence[Breach], there: Occupancy
) -> Sequence[Breach]:
    """Breaches that are not `there` yet name the approved moves whose places they count."""
    seen = {(item.key, item.amount) for item in (rule.breaches(there) if breaches else ())}
    by = {item.request for item in board.facts.problem.reservations if item.vm in rule.members}
    words = f", counting the places that {first_of(sorted(by), 2)} keeps"
    return [
        item if (item.key, item.amount) in seen else replace(item, message=f"{item.message}{words}")
        for item in breaches
    ]


def rule_state(
    rule: RuleConstraint, before: Sequence[Breach], after: Sequence[Breach]
) -> RuleState:
    """One rule before and after a plan, by its breaches."""
    if not before and not after:
        return RuleState(intent=rule.ref, required=rule.required, before=0, after=0)
    return RuleState(
        intent=rule.ref,
        required=rule.required,
        before=sum(breach.amount for breach in before),
        after=sum(breach.amount for breach in after),
        before_messages=tuple(breach.message for breach in before),
        after_messages=tuple(breach.message for breach in after),
    )


def _ends(occupancy: Occupancy, steps: Sequence[Step]) -> Occupancy:
    """Where the moved VMs hold a place at the end."""
    ends: dict[NamespacedName, frozenset[str]] = {}
    for step in steps:
        held = ends.get(step.vm, occupancy.get(step.vm, frozenset()))
        ends[step.vm] = after_move(held, step.source, step.node)
    return ends
