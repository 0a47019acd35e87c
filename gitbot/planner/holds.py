"""Why a VM does not move: reasons found before and after the nodes are checked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache

from gitbot.constraints.moves.copies import volume_words
from gitbot.constraints.rules.unread_rule import UnreadRule
from gitbot.kubernetes.names import NamespacedName
from gitbot.kubernetes.objects import labels_of, name_of
from gitbot.kubevirt.eviction import eviction_words
from gitbot.kubevirt.limits import remote_end
from gitbot.kubevirt.preflight import without_pins
from gitbot.model.cluster.cluster import ADDS_NAMESPACES
from gitbot.model.cluster.opt_out import LABEL, opted_out
from gitbot.model.ledger.request_id import DrainId, RequestId
from gitbot.model.plan.diagnosis import CONTRADICTION, STORAGE
from gitbot.model.plan.plan import Hold, NodeReasons
from gitbot.model.plan.problem import EmptyNodes, MoveVms, Pin, PlacementProblem, Request
from gitbot.model.text.instants import FOREVER, Interval, format_instant, intersect
from gitbot.model.text.wording import first_of
from gitbot.planner.checks import refused
from gitbot.planner.plan_types import Blocker, Draft, TargetPolicy
from gitbot.planner.problem_index import ProblemIndex
from gitbot.planner.reasons import summary
from gitbot.planner.schedule.timing import allowed_times
from gitbot.planner.state.plan_state import PlanState

Late = frozenset[tuple[str, NamespacedName]]


def hold(
    facts: ProblemIndex,
    request: Request,
    vm: NamespacedName,
    obstacle: Blocker,
    *,
    asked: bool = True,
    nodes: tuple[NodeReasons, ...] = (),
) -> Hold:
    return Hold(
        request=request.id,
        intent=request.intent,
        vm=facts.vm_ref(vm),
        code=obstacle.code,
        reason=obstacle.reason,
        nodes=nodes,
        asked=asked,
        hint=obstacle.hint,
        until=obstacle.until,
    )


def with_eviction(board: PlanState, item: Hold) -> Hold:
    """The hold of a drain, with what an eviction would do to the VM that stays."""
    vmi = board.facts.vmis.get(item.vm.namespaced_name)
    if vmi is None:
        return item
    words = eviction_words(vmi, board.transit.instances.kubevirt)
    return replace(item, hint=f"{item.hint}; {words}" if item.hint else words)


def obstacle(
    board: PlanState, request: Request, vm: NamespacedName, late: Late, *, named: bool = True
) -> Blocker | None:
    """What prevents any migration of a VM in this request; None if nothing does.

    `late`: the VMs for which an earlier attempt at the waves found no time. `named`: whether the
    goal is about this VM, or it would only step aside.
    """
    facts = board.facts
    if (request.id, vm) in facts.unordered:
        return INTERNAL  # first, as it may be one of these questions that contradicts itself
    if vm not in facts.vmis:
        return _missing(facts, vm)
    return (
        _opted_out(facts, request, vm, named)
        or _in_flight(board, vm)
        or _unread_rule(facts, vm)
        or refused(board, vm)
        or _moves_storage(facts, request, vm)
        or _bad_labels(board, request, vm)
        or _unpinnable(board, request)
        or _reserved(facts.problem, request, vm)
        or _out_of_time(facts, request, vm)
        or _without_time(facts, request, vm, late)
    )


def _without_time(
    facts: ProblemIndex, request: Request, vm: NamespacedName, late: Late
) -> Blocker | None:
    """Why an earlier round found no time for a move."""
    return _deadline(facts, request, vm) if (request.id, vm) in late else None


def obstacles(
    board: PlanState, request: Request, vms: Iterable[NamespacedName], late: Late
) -> dict[NamespacedName, Blocker]:
    found = {vm: obstacle(board, request, vm, late) for vm in vms}
    return {vm: item for vm, item in found.items() if item is not None}


def bystanders(
    board: PlanState, requests: Sequence[Request], late: Late
) -> Callable[[NamespacedName], bool]:
    """Whether a VM that no goal names may step aside for all of these requests."""
    named = asked_vms(board.facts.problem)

    @cache
    def may(vm: NamespacedName) -> bool:
        free = (obstacle(board, item, vm, late, named=False) is None for item in requests)
        return vm not in named and all(free)

    return may


def departed(board: PlanState) -> Mapping[NamespacedName, frozenset[str]]:
    """The nodes that earlier goals of the plan made VMs leave."""
    homes = board.facts.homes
    every = {
        vm: (board.left.get(vm, frozenset()) | {homes.get(vm, node)}) - {node}
        for vm, node in board.transit.moved()
    }
    return {vm: nodes for vm, nodes in every.items() if nodes}


def not_home(
    board: PlanState, goal: EmptyNodes, vm: NamespacedName, wish: TargetPolicy
) -> TargetPolicy:
    """The wish of a VM that leaves a node of a drain.

    If it came there in this plan, it made room where it ran before, and does not go back. Nodes of
    the drain are served, so they take their VMs again.
    """
    home = board.facts.homes.get(vm, "")
    if home in ("", board.place(vm), *goal.nodes):
        return wish
    return replace(wish, closed={**wish.closed, home: f"{vm} made room there in this plan"})


def asked_vms(problem: PlacementProblem) -> Mapping[NamespacedName, Request]:
    """The VMs that requests and ways home name, each with one of these. Healings leave them."""
    found: dict[NamespacedName, Request] = {}
    for goal in problem.goals:
        if not (isinstance(goal, MoveVms) and goal.balance):  # these move only if it is worth it
            found |= dict.fromkeys(goal.named, goal.request)
    return found


def _missing(facts: ProblemIndex, vm: NamespacedName) -> Blocker:
    if any(name_of(item) == vm for item in facts.problem.snapshot.of("VirtualMachine")):
        reason = f"{vm} is stopped: a VirtualMachine without a running VMI has nothing to migrate"
        return Blocker(code="not-running", reason=reason)
    reason = f"no VirtualMachineInstance {vm} in the snapshot"
    return Blocker(
        code="not-found", reason=reason, hint="names are those of VMIs; see kubectl get vmi"
    )


def _opted_out(
    facts: ProblemIndex, request: Request, vm: NamespacedName, named: bool
) -> Blocker | None:
    reason = opted_out(labels_of(facts.vmis[vm]), request.id, named=named)
    if not reason:
        return None
    return Blocker(code="opted-out", reason=reason, hint=f"its owner may change the label {LABEL}")


def _unread_rule(facts: ProblemIndex, vm: NamespacedName) -> Blocker | None:
    for rule in facts.problem.rules:
        if isinstance(rule, UnreadRule) and vm in rule.members:
            return Blocker(code="unknown-rule", reason=rule.reason, hint=ADDS_NAMESPACES)
    return None


def _in_flight(board: PlanState, vm: NamespacedName) -> Blocker | None:
    if vm not in board.facts.moving:
        return None
    _, target = board.facts.moving[vm]
    where = next(filter(None, map(remote_end, board.facts.migrations_of(vm))), "")
    where = where or f" to {target or 'a node not known yet'}"
    reason = f"a migration of this VM{where} is running already"
    until = board.facts.queue_ends.get(vm, 0)
    return Blocker(
        code="in-flight", reason=reason, hint="plan again when it has ended", until=until
    )


def _bad_labels(board: PlanState, request: Request, vm: NamespacedName) -> Blocker | None:
    """A label of the request's target that KubeVirt drops, or that switches a guard of it off."""
    for goal in board.facts.problem.goals:
        if not isinstance(goal, MoveVms) or goal.request.id != request.id:
            continue
        if goal.target.added and vm in goal.vms:
            blocker = refused(board, vm, goal.target.added)
            hint = "leave that label out of target.nodeSelector"
            return blocker and replace(blocker, hint=blocker.hint or hint)
    return None


def _moves_storage(facts: ProblemIndex, request: Request, vm: NamespacedName) -> Blocker | None:
    """Any migration ends the change of storage that waits, so it needs a request for this VM."""
    volumes = facts.copy(vm).volumes
    asked = (
        vm in goal.vms
        for goal in facts.problem.goals
        if isinstance(goal, MoveVms) and goal.request.id == request.id and not goal.balance
    )
    if not volumes or any(asked):
        return None
    return Blocker(
        code=STORAGE,
        reason=f"a change of its storage waits: the next migration copies {volume_words(volumes)}",
        hint=f"plan again when it is done, or ask for it: gitbot move vm/{vm.name} -n "
        f"{vm.namespace}",
    )


def _unpinnable(board: PlanState, request: Request) -> Blocker | None:
    """All moves are pinned, but for those of a MigrationRequest with `pin: None`."""
    reason = without_pins(board.transit.instances.kubevirt)
    mine = (goal for goal in board.facts.problem.goals if goal.request.id == request.id)
    if not reason or any(isinstance(goal, MoveVms) and goal.pin is Pin.NONE for goal in mine):
        return None
    return Blocker(code="no-selector", reason=reason, hint="upgrade KubeVirt to 1.6 or newer")


def _reserved(problem: PlacementProblem, request: Request, vm: NamespacedName) -> Blocker | None:
    for item in problem.reservations:
        if item.vm == vm and item.request != request.id:
            by = f" (pull request #{item.pull_request})" if item.pull_request else ""
            begins = min((time.start for time in item.allowed), default=0)
            when = f" from {format_instant(begins)}" if begins > problem.now else ""
            return Blocker(
                code="reserved",
                reason=f"{item.request}{by} is approved to move this VM to {item.node}{when}"
                f"{item.until}",
                hint=_ending(item.request),
                until=item.ends if problem.now < item.ends < FOREVER else 0,
            )
    return None


def _ending(request: RequestId) -> str:
    whole = " (all its nodes and VMs then stay)" if isinstance(request, DrainId) else ""
    then = "gitbot proposes the move when that has ended; to end that now"
    return f"{then}: gitbot cancel {request}{whole}"


def _out_of_time(facts: ProblemIndex, request: Request, vm: NamespacedName) -> Blocker | None:
    problem = facts.problem
    times = allowed_times(problem, request, vm)
    seconds = facts.copy(vm).seconds
    if any(time.end - time.start >= seconds for time in times):
        return None
    future = (Interval(start=problem.now, end=FOREVER),)
    frozen = [item for item in problem.freezes if vm in item.vms and intersect(item.times, future)]
    if frozen and any(
        time.end - time.start >= seconds for time in intersect(request.allowed, future)
    ):
        freeze = frozen[0]
        why = f": {freeze.reason}" if freeze.reason else ""
        return Blocker(
            code="frozen",
            reason=f"FreezeWindow {freeze.intent.name} covers all the time allowed for it{why}",
            hint=f"see {freeze.intent.where}",
        )
    return _deadline(facts, request, vm)


def _deadline(facts: ProblemIndex, request: Request, vm: NamespacedName) -> Blocker:
    seconds = facts.copy(vm).seconds
    ends = max((item.end for item in request.allowed), default=0)
    reason = (
        f"its estimated {seconds} s do not fit into the allowed time"
        f" (which ends {format_instant(ends)})"
    )
    return Blocker(code="deadline", reason=reason, hint="allow more time, or move less at once")


def hold_without_node(
    board: PlanState,
    request: Request,
    vm: NamespacedName,
    wish: TargetPolicy,
    *,
    asked: bool = True,
    beside: Sequence[NamespacedName] = (),
) -> Hold:
    """The hold of a VM that found no node; `beside` are VMs that would have moved with it."""
    facts = board.facts
    if board.onlooker.stopped():
        return hold(facts, request, vm, INTERRUPTED, asked=asked)
    nodes = board.refusals(vm, wish)
    facts.budget.asked += facts.cost_of_rules(vm) * len(nodes)
    if board.choices(vm, wish) and next(board.steps(vm, wish), None) is not None:
        return hold(facts, request, vm, _not_beside(beside), asked=asked, nodes=nodes)
    found = summary(board, vm, wish, nodes)
    clash = _clash(facts.problem, request, {item.node for item in nodes})
    if clash:
        found = replace(found, hint=f"{clash}; {found.hint}" if found.hint else clash)
    return hold(facts, request, vm, found, asked=asked, nodes=nodes)


def _clash(problem: PlacementProblem, request: Request, refusing: set[str]) -> str:
    """Other approved requests that have reserved room on nodes that refuse, and until when."""
    found = {
        f"{item.request}{f' (pull request #{item.pull_request})' if item.pull_request else ''}"
        f"{item.until}"
        for item in problem.reservations
        if item.node in refusing and item.request != request.id
    }
    return f"room there is kept for {', '.join(sorted(found))}" if found else ""


NOT_TOGETHER = Blocker(
    code="not-together",
    reason="it could move alone, but not together with what else is asked for",
    hint="ask for less at once, or make room",
)


def _not_beside(vms: Sequence[NamespacedName]) -> Blocker:
    if not vms:
        return NOT_TOGETHER
    others = first_of(list(dict.fromkeys(vm.name for vm in vms)), 3)
    return replace(NOT_TOGETHER, reason=f"it could move alone, but not beside {others}")


INTERRUPTED = Blocker(
    code="interrupted",
    reason="planning was ended before its place was found",
    hint="plan again, and let it come to its end",
)


INTERNAL = Blocker(
    code=CONTRADICTION,
    reason="a fault of gitbot: its planner contradicts itself about this move",
    hint="report the line that finding plan/internal has; meanwhile ask for less at once",
)


Culprits = Mapping[NamespacedName, Blocker | Hold]
"""Why the VMs stay for which others stay as well."""


def blocked(node: str, culprits: Culprits) -> Blocker:
    """A VM stays because its node does, for `culprits`."""
    first, code = min((vm, item.code) for vm, item in culprits.items())
    more = f" and {len(culprits) - 1} more" if len(culprits) > 1 else ""
    reason = f"node {node} is not emptied: {first} cannot move ({code}){more}"
    return Blocker(code="blocked-node", reason=reason, until=_last(culprits))


def _last(culprits: Culprits) -> int:
    """When the last of them can move; 0 if one of them never can of itself."""
    times = [item.until for item in culprits.values()]
    return max(times) if all(times) else 0


def not_all(culprits: Culprits, nodes: Sequence[str], could: Sequence[str]) -> Blocker:
    """A VM stays because the nodes are emptied together or not at all, for these culprits."""
    first, code = min((vm, item.code) for vm, item in culprits.items())
    more = f" and {len(culprits) - 1} more" if len(culprits) > 1 else ""
    some = f"{first_of(could, 3)} could go without the others; "
    verb = "is emptied whole" if len(nodes) == 1 else "are emptied together"
    return Blocker(
        code="blocked-node",
        reason=f"{first_of(nodes, 3)} {verb} or not at all: {first} cannot move ({code}){more}",
        hint=f"{some}mode: Rolling empties one after the other" if could else "",
        until=_last(culprits),
    )


def asked_by(request: Request) -> Blocker:
    reason = f"{request.id} says where this VM goes"
    return Blocker(code="reserved", reason=reason, hint="plan again when that request is done")


def hold_for_reservation(request: Request) -> Blocker:
    reason = f"{request.id} moves this VM as well"
    return Blocker(code="reserved", reason=reason, hint="ask for it once")


def with_holds(
    facts: ProblemIndex, drafts: Sequence[Draft], lost: Late, why: Blocker
) -> list[Draft]:
    """The drafts with a hold for each planned move that found no time."""
    found = []
    for draft in drafts:
        more = (
            hold(facts, item.request, item.step.vm, why)
            for item in draft.planned
            if (item.request.id, item.step.vm) in lost
        )
        found.append(replace(draft, holds=(*draft.holds, *more)))
    return found
