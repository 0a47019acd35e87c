"""Why no plan exists: counting over end states, in which every VM may have moved.

A proof says where VMs can be in the end and ignores the order of moves, so it holds for every
plan. It treats the unknown as allowed: no proof is better than a wrong one.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial

import numpy as np

from gitbot.constraints.rules.rule_parts import NodePart
from gitbot.kubernetes.names import NamespacedName
from gitbot.model.cluster.columns import Mask
from gitbot.model.plan.constraint import RuleConstraint
from gitbot.model.plan.diagnosis import CONTRADICTION
from gitbot.model.plan.plan import Hold
from gitbot.model.plan.problem import EmptyNodes, Goal, HealRule, MoveVms, ReturnHome
from gitbot.model.progress import PlanningProgress
from gitbot.model.text.wording import first_of
from gitbot.planner.holds import obstacle
from gitbot.planner.plan_types import Draft, Task
from gitbot.planner.proofs.capacity_model import CapacityModel, DomainLimit
from gitbot.planner.proofs.causes import Counted, causes, closed_by, contradiction
from gitbot.planner.proofs.messages import (
    apart_words,
    beside_words,
    clash_words,
    room_words,
    together_words,
)
from gitbot.planner.proofs.shortage import CapacityCheck
from gitbot.planner.state.plan_state import PlanState
from gitbot.planner.state.residents import residents

MOST_NODES = 4
"""So many nodes of a drain are checked alone, before all of them together."""


_OPEN = frozenset({"no-feasible-node", "no-free-domain", "not-together", "not-healed"})
"""Codes of holds for which the search alone cannot tell whether a plan exists."""

_BY_OTHERS = frozenset({"blocked-node", CONTRADICTION, "interrupted"})
"""Codes of holds for which other VMs, or the planner, are the reason: the VM would move."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """In no plan do all of these VMs find a place: why, and what would help.

    `scope` is what was counted: other intents may keep its VMs off other nodes. `domains`: how many
    more would help, if they are too few.
    """

    vms: frozenset[NamespacedName]
    reason: str
    remedy: str
    scope: Counted | None = field(default=None, compare=False)
    domains: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class GoalRequirement:
    """What a goal needs in the end: each VM on one of its nodes; no VM arrives on a `closed` one.

    All masks come from `CapacityModel.once`. With `heals`, the rule of that id holds in the end.
    `told` describes the requirement if it is not the whole goal of a VM. No move of a VM that
    `stays` may start.
    """

    must: Mapping[NamespacedName, Mask]
    closed: Mask
    heals: str = ""
    told: str = ""
    stays: Callable[[NamespacedName], bool] | None = None


def proofs_of(
    ground: CapacityModel,
    goal: Goal,
    stuck: frozenset[NamespacedName],
    barred: frozenset[NamespacedName] = frozenset(),
) -> Iterator[Proof]:
    """Why a goal cannot be reached for VMs that found no place; empty if that is not proven.

    VMs that are `barred` from moving at all need no place.
    """
    if isinstance(goal, MoveVms):
        yield from _contradicted(ground, goal)
    for quest in quests(ground, goal, stuck, barred):
        for proof in prove(ground, quest):
            others = list(causes(ground, proof.scope, goal)) if proof.scope is not None else []
            reason, remedy = beside_words(proof.reason, proof.remedy, others)
            yield replace(proof, reason=f"{quest.told}{reason}", remedy=remedy)
    if isinstance(goal, HealRule):
        yield from contradictory(ground, goal)


def contradictory(ground: CapacityModel, goal: HealRule) -> Iterator[Proof]:
    """Required rules that hold now, and cannot hold once this one does."""
    for rule in ground.board.facts.rules:
        if rule.required and rule.ref.id == goal.rule.id and (found := contradiction(ground, rule)):
            refs = sorted(each.ref for each in found)
            vms = frozenset.intersection(*(each.members for each in found))
            reason, remedy = together_words(refs, sorted(vms or rule.members))
            yield Proof(vms=rule.members, reason=reason, remedy=remedy)


def with_proofs(
    board: PlanState, drafts: Sequence[Draft], onlooker: PlanningProgress
) -> list[Draft]:
    """The drafts. If no plan exists for a VM, its hold says so, and why, and what would help.

    If the onlooker asks to end, what is not proven by then stays open.
    """
    stuck: dict[str, set[NamespacedName]] = {}
    barred: dict[str, set[NamespacedName]] = {}
    for draft in drafts:
        for hold in draft.holds:
            if hold.code in _OPEN:
                stuck.setdefault(hold.request, set()).add(hold.vm.namespaced_name)
            elif hold.code not in _BY_OTHERS:
                barred.setdefault(hold.request, set()).add(hold.vm.namespaced_name)
    ground = CapacityModel(board)
    found: dict[tuple[str, NamespacedName], Proof] = {}
    for goal in board.facts.problem.goals if stuck else ():
        request = goal.request.id
        left, out = set(stuck.get(request, ())), frozenset(barred.get(request, ()))
        for proof in proofs_of(ground, goal, frozenset(left), out) if left else ():
            found.update({(request, vm): proof for vm in proof.vms & left})
            left -= proof.vms
            if not left or onlooker.stopped():
                break
        if onlooker.stopped():
            break
    return [
        replace(draft, holds=tuple(_proven(hold, found) for hold in draft.holds))
        for draft in drafts
    ]


def _proven(hold: Hold, found: Mapping[tuple[str, NamespacedName], Proof]) -> Hold:
    proof = found.get((hold.request, hold.vm.namespaced_name))
    if proof is None or hold.code not in _OPEN:
        return hold
    if hold.code == "no-free-domain":
        reason = f"no plan exists: {hold.reason} ({proof.reason})"
        hint = hold.hint if proof.domains < 2 else proof.remedy  # one stand-by node is too few
        return replace(hold, reason=reason, proven=True, hint=hint)
    hint = f"{proof.remedy}; {hold.hint}" if hold.hint else proof.remedy
    return replace(hold, reason=f"no plan exists: {proof.reason}", hint=hint, proven=True)


def _contradicted(ground: CapacityModel, goal: MoveVms) -> Iterator[Proof]:
    """What another intent says about all nodes that a request asks for."""
    facts = ground.board.facts
    wanted, closed = facts.matching(goal.target), closed_by(facts.problem.goals)
    if goal.target.anywhere or not wanted:
        return
    if wanted <= closed.keys():
        other = closed[min(wanted)].request.intent
        reason, remedy = clash_words(goal.request.intent, wanted, other, "empties")
        yield Proof(vms=frozenset(goal.vms), reason=reason, remedy=remedy)
    for vm in goal.vms:
        for rule, part in ground.parts(vm) if vm in ground.held else ():
            if wanted.isdisjoint(part.nodes):
                told = f"keeps {vm.name} on {part.wanted}, not on"
                reason, remedy = clash_words(goal.request.intent, wanted, rule.ref, told)
                yield Proof(vms=frozenset({vm}), reason=reason, remedy=remedy)


# what a goal needs in the end


def quests(
    ground: CapacityModel,
    goal: Goal,
    stuck: frozenset[NamespacedName],
    barred: frozenset[NamespacedName] = frozenset(),
) -> Iterator[GoalRequirement]:
    """What the goal needs; for a drain, first some nodes that are stuck, each alone."""
    facts = ground.board.facts
    closed = closed_by(facts.problem.goals)
    shut = ground.mask(closed)
    stays = cache(partial(_stays, ground, goal))
    match goal:
        case MoveVms():
            wanted = ground.mask(facts.matching(goal.target))
            goes = dict.fromkeys(sorted(set(goal.vms) - barred), wanted)
            yield replace(_moved(ground, goes, shut, leave=goal.target.anywhere), stays=stays)
        case ReturnHome():
            homes = {vm: ground.mask([home]) for vm, home in sorted(goal.homes.items())}
            goes = {vm: home for vm, home in homes.items() if vm not in barred}
            yield replace(_moved(ground, goes, shut, leave=False), stays=stays)
        case EmptyNodes():
            for quest in _emptied(ground, goal, closed, stuck, barred):
                yield replace(quest, stays=stays)
        case HealRule():
            for rule in facts.rules:
                if rule.ref.id == goal.rule.id:
                    yield _healed(ground, rule, shut)


def _stays(ground: CapacityModel, goal: Goal, vm: NamespacedName) -> bool:
    """Whether no goal asks for a move of this VM, and none of them may make it step aside."""
    goals = ground.board.facts.problem.goals
    return not any(vm in other.named for other in goals) and all(
        obstacle(ground.board, other.request, vm, frozenset(), named=other is not goal) is not None
        for other in goals
    )


def _healed(ground: CapacityModel, rule: RuleConstraint, shut: Mask) -> GoalRequirement:
    members = sorted(rule.members & ground.held.keys())
    must = {vm: _free_end(ground, vm, shut) for vm in members}
    return GoalRequirement(must=must, closed=shut, heals=rule.ref.id)


def _moved(
    ground: CapacityModel, goes: Mapping[NamespacedName, Mask], shut: Mask, *, leave: bool
) -> GoalRequirement:
    """VMs that go to some nodes. A VM that is there already may stay unless it must leave."""
    must = {}
    for vm, wanted in goes.items():
        if vm in ground.held:
            own = ground.mask([ground.board.place(vm)])
            if leave or not (own & wanted).any():
                must[vm] = ground.without(
                    ground.without(ground.once(ground.nodes(vm) & wanted), shut), own
                )
    return GoalRequirement(must=must, closed=shut)


def _emptied(
    ground: CapacityModel,
    goal: EmptyNodes,
    closed: Iterable[str],
    stuck: frozenset[NamespacedName],
    barred: frozenset[NamespacedName],
) -> Iterator[GoalRequirement]:
    """Stuck nodes, each as if the drain's other nodes stayed open; then all at once.

    A rolling drain needs only one node empty at a time, so nothing is proven of all at once.
    """
    shut = ground.mask(closed)
    free: dict[str, list[NamespacedName]] = {}
    for node in goal.nodes:
        there = residents(ground.board, node)
        able = (vm for vm in there if vm not in barred and not ground.fixed(vm))
        movable = [vm for vm in able if vm in ground.held]
        if not goal.block or len(movable) == len(there):
            free[node] = movable
    alone = [node for node, vms in free.items() if not stuck.isdisjoint(vms)]
    for node in alone[:MOST_NODES] if len(goal.nodes) > 1 else ():
        own = ground.mask((set(closed) - set(goal.nodes)) | {node})
        must = {vm: ground.without(ground.nodes(vm), own) for vm in free[node]}
        yield GoalRequirement(must=must, closed=own)
    if goal.rolls:
        return
    everybody = [vm for vms in free.values() for vm in vms]
    must = {vm: ground.without(ground.nodes(vm), shut) for vm in everybody}
    nodes = first_of(goal.nodes, 3)
    told = f"{nodes} cannot all be emptied: " if len(goal.nodes) > 1 else ""
    yield GoalRequirement(must=must, closed=shut, told=told)


def _free_end(ground: CapacityModel, vm: NamespacedName, shut: Mask) -> Mask:
    """Where a VM can be in the end although nobody asked to move it."""
    own = ground.mask([ground.board.place(vm)])
    return ground.once(ground.without(ground.nodes(vm), shut) | own)


# how much stays undone


def left_by_task(board: PlanState, task: Task) -> int:
    """So many VMs of a task at least are not content after any plan."""
    ground = CapacityModel(board)
    must = {}
    for vm, content in task.content.items():
        if vm in ground.held:
            wanted = ground.without(ground.mask(content), ground.mask(task.wishes[vm].closed))
            stays = ground.mask({board.place(vm)} & content)
            must[vm] = ground.once((ground.nodes(vm) & wanted) | stays)
    closed = ground.mask(task.aside.closed if task.aside is not None else ())
    placed = {vm: mask for vm, mask in must.items() if mask.any()}
    proofs = prove(ground, GoalRequirement(must=placed, closed=closed))
    return len(must) - len(placed) + _apart(proofs)


def left_by_healing(
    board: PlanState, rule: RuleConstraint, movers: Container[NamespacedName], closed: Iterable[str]
) -> int:
    """So much of a rule at least stays broken after any plan that moves none but these VMs."""
    ground = CapacityModel(board)
    shut = ground.mask(closed)
    misplaced = 0
    for part in (part for part in rule.parts if isinstance(part, NodePart)):
        for vm in part.subjects & ground.held.keys():
            if board.place(vm) not in part.nodes:
                wanted = ground.without(ground.mask(part.nodes), shut)
                if vm not in movers or not (ground.nodes(vm) & wanted).any():
                    misplaced += part.weight
    quest = _healed(ground, rule, shut)
    return misplaced or int(any(True for _ in prove(ground, quest)))


def _apart(proofs: Iterable[Proof]) -> int:
    """The number of proofs about different VMs."""
    taken, count = set[NamespacedName](), 0
    for proof in sorted(proofs, key=lambda item: len(item.vms)):
        if taken.isdisjoint(proof.vms):
            taken |= proof.vms
            count += 1
    return count


# proofs


def prove(ground: CapacityModel, quest: GoalRequirement) -> Iterator[Proof]:
    """All proofs that are found: room on few nodes first, then VMs that must be apart."""
    rooms = CapacityCheck(
        ground=ground,
        closed=quest.closed,
        must=frozenset(quest.must),
        stays=quest.stays or ground.fixed,
    )
    if not quest.heals:
        yield from _narrow(rooms, quest)
    rules = {rule.ref: rule for vm in quest.must for rule in ground.board.facts.rules_over(vm)}
    for rule in rules.values():
        if rule.required or rule.ref.id == quest.heals:
            for crowd in ground.crowds(rule):
                yield from _crowded(rooms, quest, crowd)


def _narrow(rooms: CapacityCheck, quest: GoalRequirement) -> Iterator[Proof]:
    """Nodes with too little room for the VMs that must be there."""
    ground = rooms.ground
    masks = {id(mask): mask for mask in quest.must.values()}
    if len(masks) > 1:
        union = ground.once(np.logical_or.reduce(list(masks.values())))
        masks.setdefault(id(union), union)
    for mask in sorted(masks.values(), key=lambda item: (int(item.sum()), item.tobytes())):
        own = {id(other) for other in masks.values() if not (other & ~mask).any()}
        inside = sorted(vm for vm, other in quest.must.items() if id(other) in own)
        asks = [ground.least(vm) for vm in inside]
        found = rooms.shortage(mask, asks) if mask.any() else None
        if found is not None:
            reason, remedy = room_words(ground, mask, inside, found)
            scope = Counted(vms=inside, nodes=mask)
            yield Proof(vms=frozenset(inside), reason=reason, remedy=remedy, scope=scope)


def _crowded(rooms: CapacityCheck, quest: GoalRequirement, crowd: DomainLimit) -> Iterator[Proof]:
    """VMs that must be apart, with too few domains, or with a domain that one of them needs."""
    ground, healed = rooms.ground, crowd.rule.ref.id == quest.heals
    members = sorted(crowd.members & ground.held.keys())
    ends = {
        vm: quest.must[vm] if vm in quest.must else _free_end(ground, vm, quest.closed)
        for vm in members
    }
    domains = {vm: ground.domains(mask, crowd.key) for vm, mask in ends.items()}
    if any(not own or -1 in own for own in domains.values()):
        return
    if crowd.most * min(map(len, domains.values()), default=0) > len(members):
        return
    names = ground.values(crowd.key)
    for values in sorted({frozenset().union(*domains.values()), *domains.values()}, key=sorted):
        inside = [vm for vm, own in domains.items() if own <= values]
        named = frozenset(vm for vm in inside if vm in quest.must)
        scope = Counted(vms=inside, nodes=ground.in_domains(crowd.key, values))
        room = {value: crowd.room(names[value], healed=healed) for value in sorted(values)}
        if named and len(inside) > sum(room.values()):
            listed = sorted(names[value] for value in values)
            more = -(-(len(inside) - sum(room.values())) // crowd.most)
            reason, remedy = apart_words(crowd, len(inside), listed, more)
            yield Proof(vms=named, reason=reason, remedy=remedy, scope=scope, domains=more)
        elif named:
            least = {value: len(inside) - sum(room.values()) + room[value] for value in room}
            forced = {value: needed for value, needed in least.items() if needed > 0}
            for proof in _forced(rooms, crowd, {vm: ends[vm] for vm in inside}, forced, named):
                yield replace(proof, scope=scope)


def _forced(
    rooms: CapacityCheck,
    crowd: DomainLimit,
    ends: Mapping[NamespacedName, Mask],
    forced: Mapping[int, int],
    named: frozenset[NamespacedName],
) -> Iterator[Proof]:
    """Domains that must take a number of some VMs, but lack room even for the smallest of them."""
    ground = rooms.ground
    for value, needed in forced.items():
        inside = ground.in_domains(crowd.key, frozenset({value}))
        able = {vm: mask & inside for vm, mask in ends.items() if (mask & inside).any()}
        assert able, "BUG: a domain in which no VM can be"
        amounts = [ground.least(vm) for vm in able]
        least = {name: min(item.get(name, 0) for item in amounts) for name in amounts[0]}
        mask = ground.once(np.logical_or.reduce(list(able.values())))
        found = rooms.shortage(mask, [least] * needed, frozenset(ends))
        if found is not None:
            reason, remedy = room_words(
                ground, mask, sorted(able), found, crowd=crowd, needed=needed
            )
            yield Proof(vms=named, reason=reason, remedy=remedy)
