"""HealRule: the fewest moves of a rule's members that heal its breaches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice

from gitbot.constraints.rules.worsening import kind, signature, total
from gitbot.kubernetes.names import NamespacedName
from gitbot.model.grouping import grouped
from gitbot.model.plan.constraint import Breach, Occupancy, RuleConstraint, after_move
from gitbot.model.plan.plan import Hold
from gitbot.model.plan.problem import HealRule
from gitbot.planner import holds
from gitbot.planner.bounds import least_moves, proved
from gitbot.planner.goals.goal_planner import GoalPlanner, PullTitle
from gitbot.planner.holds import Late, asked_vms
from gitbot.planner.plan_types import (
    Blocker,
    Closed,
    Content,
    Draft,
    Planned,
    Step,
    TargetPolicy,
    Task,
    no_vm,
)
from gitbot.planner.proofs.prove import left_by_healing
from gitbot.planner.search.chains import Chains, mask_of
from gitbot.planner.search.exact import Cost, Found, SearchPhase, shortest
from gitbot.planner.search.greedy import MANY, SMALL, effort, movers_of
from gitbot.planner.search.prune_steps import attribute_steps, drop_needless_steps, why_aside
from gitbot.planner.state.plan_state import PlanState
from gitbot.planner.state.undo_path import state_of


def heal_rule(
    board: PlanState,
    goal: HealRule,
    closed: Closed,
    late: Late,
    *,
    calm: bool = False,
    wide: bool = False,
) -> Draft:
    """Plan the healing of one rule as one group. A breach that cannot heal becomes a hold.

    `calm`: use only moves for which no other VM steps aside. `wide`: as in Chains.
    """
    rule = _rule(board, goal)
    before = rule.breaches(board.occupancy) if rule is not None else ()
    if rule is None or not before:
        return Draft()
    facts, request = board.facts, goal.request
    asked = asked_vms(facts.problem)
    against = holds.obstacles(board, request, sorted(rule.members), late)
    against |= {vm: holds.asked_by(asked[vm]) for vm in sorted(rule.members & asked.keys())}
    healing = _Healing(
        board=board,
        rule=rule,
        movers=tuple(vm for vm in sorted(rule.members) if vm not in against),
        wish=TargetPolicy(closed=closed),
        others=no_vm if calm else holds.bystanders(board, [request], late),
        wide=wide,
        departed=holds.departed(board),
    )
    steps, proven = healing.best()
    with board.trial(steps):
        found = [
            holds.hold(facts, request, vm, against[vm])
            if vm in against
            else _unhealed(board, goal, rule, vm, healing.wish)
            for vm in concerned(rule.breaches(board.occupancy))
        ]
    planned = tuple(
        Planned(step=step, request=request, group=request.id, why=_why(before, step))
        for step in steps
    )
    least, proof = proved(
        board, least_moves(rule, before), planned, search=proven and not found, counted=not found
    )
    return Draft(planned=planned, holds=tuple(found), least=least, proof=proof)


def order_by_disruption(
    board: PlanState, goals: Sequence[HealRule], closed: Closed, late: Late, *, wide: bool
) -> list[HealRule]:
    """The order in which healings need the fewest VMs to step aside. `wide`: as in Chains.

    A healing that can start at once goes first and leaves room; if none can, the largest is next.
    """
    order: list[HealRule] = []
    # Each round takes at least one goal out of `waiting`.
    waiting = sorted(goals, key=lambda goal: (-_smallest(board, goal), goal.rule))
    with board.trial():
        while waiting:
            drafts = ((goal, heal_rule(board, goal, closed, late, calm=True)) for goal in waiting)
            calm = [goal for goal, draft in drafts if not draft.holds and _took(board, draft)]
            if not calm:
                calm = waiting[:1]
                _took(board, heal_rule(board, calm[0], closed, late, wide=wide))
            order.extend(calm)
            waiting = [goal for goal in waiting if goal not in calm]
    return order


def _smallest(board: PlanState, goal: HealRule) -> int:
    """Bytes of the smallest VM in a breach."""
    rule = _rule(board, goal)
    vms = concerned(rule.breaches(board.occupancy)) if rule is not None else ()
    return min(map(board.memory, vms), default=0)


def _took(board: PlanState, draft: Draft) -> bool:
    board.advance(item.step for item in draft.planned)
    return True


def _unhealed(
    board: PlanState, goal: HealRule, rule: RuleConstraint, vm: NamespacedName, wish: TargetPolicy
) -> Hold:
    """A VM of a breach that stays, because no node takes it or because its move would not heal."""
    if next(board.steps(vm, wish), None) is None:
        return holds.hold_without_node(board, goal.request, vm, wish)
    breach = next(item for item in rule.breaches(board.occupancy) if vm in item.vms)
    hint = "change the rule, make room, or move VMs that are not of the rule by a request"
    if leaving := _leaving(board, breach):
        hint = f"{leaving}: plan again when it has ended"
    obstacle = Blocker(
        code="not-healed",
        reason=rule.shortage() or f"no move of its VMs heals this: {breach.message}",
        hint=hint,
    )
    return holds.hold(board.facts, goal.request, vm, obstacle)


def _leaving(board: PlanState, breach: Breach) -> str:
    """The first old launcher pod of a breach's VMs, in words; "" if they have none."""
    for vm in breach.vms:
        for node in sorted(board.facts.lingering.get(vm, ())):
            home = board.place(vm)
            return f"{vm.name} runs on {home}, but its old launcher pod on {node} still counts"
    return ""


def _rule(board: PlanState, goal: HealRule) -> RuleConstraint | None:
    """The rule of the goal. If an intent has two rules, the one with the required terms."""
    found = [rule for rule in board.facts.rules if rule.ref.id == goal.rule.id]
    return next((rule for rule in found if rule.required), next(iter(found), None))


def _why(before: Sequence[Breach], step: Step) -> str:
    for breach in before:
        if step.vm in breach.vms and step.room_for is None:
            return breach.message
    return why_aside(step) or "steps aside so that the rule can be kept"


def _least(rule: RuleConstraint, places: Occupancy) -> int:
    return least_moves(rule, rule.breaches(places))


def concerned(breaches: Sequence[Breach]) -> tuple[NamespacedName, ...]:
    return tuple(sorted({vm for breach in breaches for vm in breach.vms}))


_NOWHERE: frozenset[str] = frozenset()

_Gains = list[tuple[int, list[str]]]
"""What stays undone, and the nodes with which that is so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Healing:
    """One rule that moves of its VMs heal; others step aside if necessary."""

    board: PlanState
    rule: RuleConstraint
    movers: tuple[NamespacedName, ...]
    wish: TargetPolicy
    others: Callable[[NamespacedName], bool]
    wide: bool
    departed: Content
    kinds: dict[NamespacedName, object] = field(default_factory=dict)

    def best(self) -> tuple[tuple[Step, ...], bool]:
        """The best steps found, and whether they are proven best."""
        board, rule = self.board, self.rule
        start = board.places(rule.members)
        breaches = rule.breaches(start)
        steps = self._descend()
        with board.trial(steps):
            undone = self._undone(board)
        if undone == 0 and len(steps) <= least_moves(rule, breaches):
            healers = concerned(breaches) if rule.maximum is not None else board.occupancy
            lightest = sorted(map(board.memory, healers))[: len(steps)]
            proven = sum(lightest) == sum(board.memory(step.vm) for step in steps)
            if proven:
                return steps, True
        large = len(board.occupancy) * len(board.nodes) > MANY
        if self.others is no_vm or (large and undone == 0):
            return steps, False
        count, memory = effort(board, steps)  # wide: a large VM is worth its memory
        found = self._exact((undone, count, 0 if self.wide else memory))
        proven = found is not None and found.proven and not self.wide
        if found is None or found.path is None or self._breaks_others(found.path[0]):
            return steps, proven
        return attribute_steps(self._asked(found.path[0]), found.path[0]), proven

    def _undone(self, board: PlanState) -> int:
        return total(self.rule, board.places(self.rule.members))

    def _breaks_others(self, steps: Sequence[Step]) -> bool:
        """Whether VMs step aside to where they break another rule, for one that is Preferred too.

        Nothing is gained, and the healing of that rule would take them back.
        """
        board = self.board
        aside = {step.vm for step in steps} - self.rule.members
        if self.rule.required or not aside:
            return False
        others = [rule for vm in sorted(aside) for rule in board.facts.rules_over(vm)]
        before = [total(rule, board.places(rule.members)) for rule in others]
        with board.trial(steps):
            after = [total(rule, board.places(rule.members)) for rule in others]
        return any(then > now for now, then in zip(before, after, strict=True))

    def _asked(self, steps: Sequence[Step]) -> Content:
        """The VMs of breaches; each is content where the steps leave it."""
        breached = concerned(self.rule.breaches(self.board.occupancy))
        return {step.vm: frozenset({step.node}) for step in steps if step.vm in breached}

    def _exact(self, below: Cost) -> Found | None:
        """The best of a small healing; None if it is too large for a search."""
        board, rule = self.board, self.rule
        movers, every = movers_of(board, self.movers, self._bystander)
        if len(movers) * len(board.nodes) > SMALL:
            return None
        known: dict[object, tuple[Cost, Found]] = board.facts.searched
        asked = (rule.ref, rule.required, *movers, *self.wish.closed, state_of(board))
        limit, found = known.get(asked, ((-1, 0, 0), Found(path=None, proven=False)))
        if below > limit:  # else the same states would be opened, in the same order
            found = self._search(movers, below)
            known[asked] = below, found
        path = found.path if found.cost < below else None
        # A way that takes VMs back might be shorter, so nothing is proven then.
        every = every and self.departed.keys().isdisjoint(movers)
        return Found(path=path, proven=found.proven and every)

    def _search(self, movers: Sequence[NamespacedName], below: Cost) -> Found:
        board, rule = self.board, self.rule
        undone = at_least = partial(total, rule)
        if rule.maximum is None:
            at_least = partial(_least, rule)
        leg = SearchPhase(
            offers=lambda vm: ((self.wish, self.departed.get(vm, _NOWHERE)),),
            undone=undone,
            at_least=at_least,
        )
        return shortest(
            board,
            movers,
            (leg,),
            scope=sorted(rule.members),
            below=below,
            left=left_by_healing(board, rule, frozenset(movers), self.wish.closed),
        )

    def _bystander(self, vm: NamespacedName) -> bool:
        return vm not in self.rule.members and self.others(vm)

    def _descend(self) -> tuple[Step, ...]:
        """Take the step that heals most while there is one, else make room for one."""
        board = self.board
        taken: list[Step] = []
        with board.trial():
            # Each round lowers the rule's total breach, a number of at least 0, so the loop ends.
            left = self._undone(board)
            while left and (steps := self._direct() or self._with_room_made()):
                mark = board.mark()
                board.advance(steps)
                before, left = left, self._undone(board)
                if left >= before:
                    board.back(mark)
                    break
                taken.extend(steps)
        breached = concerned(self.rule.breaches(board.occupancy))
        steps = drop_needless_steps(board, taken, breached, self._undone)
        return attribute_steps(self._asked(steps), steps)

    def _direct(self) -> tuple[Step, ...]:
        board = self.board
        places = board.places(self.rule.members)
        breaches = self.rule.breaches(places)
        gains = self._gains(places, breaches)
        ranks = sorted(
            (after, board.memory(vm), vm, nodes)
            for vm in set(concerned(breaches)).intersection(self.movers)
            for after, nodes in gains(vm)
        )
        masks = (
            (vm, mask_of(board, {*nodes} - self.departed.get(vm, _NOWHERE)))
            for _, _, vm, nodes in ranks
        )
        steps = (board.best(vm, self.wish, mask) for vm, mask in masks)
        return tuple(islice(filter(None, steps), 1))

    def _with_room_made(self) -> tuple[Step, ...]:
        board = self.board
        places = board.places(self.rule.members)
        breaches = self.rule.breaches(places)
        left = sum(breach.amount for breach in breaches)
        vms = [vm for vm in concerned(breaches) if vm in self.movers]
        found: list[tuple[Step, ...]] = []
        if self.others is no_vm:
            return ()
        gains = self._gains(places, breaches)
        for vm in sorted(vms, key=lambda vm: (board.memory(vm), vm)):
            wanted = frozenset(node for _, nodes in gains(vm) for node in nodes)
            content = {vm: wanted - self.departed.get(vm, _NOWHERE)}
            task = Task(
                content=content,
                wishes={vm: self.wish},
                aside=self.wish,
                others=self.others,
                departed=self.departed,
            )
            with board.trial():
                chains = Chains(board, task, wide=self.wide)
                settled = chains.settle(vm) and self._undone(board) < left
            if settled and not self._breaks_others(chains.steps):
                found.append(tuple(chains.steps))
        return min(found, key=lambda steps: effort(board, steps), default=())

    def _gains(
        self, places: Occupancy, breaches: Sequence[Breach]
    ) -> Callable[[NamespacedName], _Gains]:
        """What stays undone if a VM goes to each of these nodes, if that is less; least first.

        VMs of one kind with places that the rule treats alike gain the same.
        """
        rule, left = self.rule, sum(breach.amount for breach in breaches)
        sees = {node: signature(rule, node) for node in self.board.nodes}
        alike = grouped((sees[node], node) for node in self.board.nodes).values()
        known: dict[object, _Gains] = {}

        def gains(vm: NamespacedName) -> _Gains:
            held, source = places.get(vm, _NOWHERE), self.board.place(vm)
            here, stays = (
                {sees.get(node, node) for node in some} for some in (held, held - {source})
            )
            same = self._kind(vm), frozenset(here), frozenset(stays)
            if same not in known:
                ends = ((after_move(held, source, nodes[0]), list(nodes)) for nodes in alike)
                after = ((total(rule, {**places, vm: end}), nodes) for end, nodes in ends)
                known[same] = sorted(item for item in after if item[0] < left)
            return known[same]

        return gains

    def _kind(self, vm: NamespacedName) -> object:
        if vm not in self.kinds:
            self.kinds[vm] = kind(self.rule, vm)
        return self.kinds[vm]


def _draft(
    board: PlanState, goals: Sequence[HealRule], closed: Closed, late: Late, wide: bool
) -> Draft:
    return heal_rule(board, goals[0], closed, late, wide=wide)


def _title(goal: HealRule, pull: PullTitle) -> str:
    return f"Heal {goal.rule.namespaced}: move {pull.amount}{pull.where}"


PLANNER = GoalPlanner(
    goal=HealRule,
    draft=_draft,
    title=_title,
    preview=lambda goal: f"healing of {goal.rule.kind} {goal.rule.namespaced}",
    stage=lambda _goal: 1,
    order=order_by_disruption,
    avoids_drains=True,
    may_fail=True,
)
