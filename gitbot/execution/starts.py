"""Which moves start now: a greedy choice within time, order, limits and checks.

Pure. A move starts by a ledger line that announces and claims it, then by its VMIM. The cheap tests
(time, stop flag, nodes, predecessors, slots) run for each move; the constraints judge all chosen
moves together, by a replay of the whole cluster.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from gitbot.constraints.moves.instances import Instances
from gitbot.constraints.moves.under_way import target_pod_node
from gitbot.execution.claims import claim_expires_at, next_claim
from gitbot.execution.cluster_facts import ClusterFacts, Slots
from gitbot.execution.executor_types import (
    FORBIDDEN,
    REFUSED,
    Approved,
    CreateMigration,
    Effect,
    ExecutorInput,
    OutdatedGroup,
    Waiting,
)
from gitbot.execution.ledger_folds import BUSY, NodeRecord
from gitbot.execution.nodes import begin, home_event, may_begin, nodes_of
from gitbot.execution.observe import move_event
from gitbot.execution.request_records import MoveRecord, RequestRecord
from gitbot.execution.terminate import has_started, next_span, next_start
from gitbot.kubernetes.names import NamespacedName
from gitbot.kubevirt.source_node import devices_missing, lost_of, silence_of
from gitbot.model.grouping import grouped
from gitbot.model.ledger.effect_id import EffectId
from gitbot.model.ledger.events import KnownEvent, MoveState, NodeState
from gitbot.model.ledger.request_id import RequestId
from gitbot.model.plan.findings import Severity
from gitbot.model.plan.plan import Move, MoveRef, PlacementPlan, Wave
from gitbot.model.plan.problem import MoveVms, Pin, Request, Target
from gitbot.model.struct import FrozenStruct
from gitbot.model.text.instants import FOREVER, format_instant

MOST_REFUSALS = 8  # by the checks in one selection: each costs a replay of the whole cluster
BACK_OFF = 60  # seconds before a second attempt; doubles with every further one
LONGEST_BACK_OFF = 1800


class Candidate(FrozenStruct, frozen=True, kw_only=True):
    """A move that has no VMIM and has not ended. `intended`: the ledger has announced it.

    `claimed`: an executor may still create its VMIM, so its place and its slot count as taken.
    """

    approved: Approved
    move: Move
    record: MoveRecord
    request: RequestRecord
    intended: bool
    claimed: bool


class Unfinished(FrozenStruct, frozen=True, kw_only=True):
    """A move of an approved plan that has not ended. `runs`: its VMIM was created."""

    approved: Approved
    move: Move
    runs: bool


@dataclass(slots=True, kw_only=True)
class _Selection:
    """One selection while it is made. `refused` counts refusals by the checks; `waits` caches.

    `stopped` has the moves that errors on the base branch stop, and why; `unplaced` those that run
    and whose target pods have no node yet.
    """

    slots: Slots
    nodes: dict[RequestId, dict[str, NodeRecord]]
    candidates: tuple[Candidate, ...]
    unfinished: Mapping[str, Mapping[MoveRef, Unfinished]]
    blocked: set[tuple[RequestId, str]]
    stopped: Mapping[tuple[RequestId, int], str]
    unplaced: tuple[Move, ...]
    chosen: list[Candidate] = field(default_factory=list)
    begins: list[tuple[Approved, str]] = field(default_factory=list)
    waiting: list[Waiting] = field(default_factory=list)
    stale: list[OutdatedGroup] = field(default_factory=list)
    refused: int = 0
    waits: dict[tuple[RequestId, str, int, int], frozenset[int]] = field(default_factory=dict)


class Starts(FrozenStruct, frozen=True, kw_only=True):
    """What starts, what waits, and the groups that the checks refuse."""

    events: tuple[KnownEvent, ...]
    effects: tuple[Effect, ...]
    waiting: tuple[Waiting, ...]
    stale: tuple[OutdatedGroup, ...]


def choose_starts(
    view: ExecutorInput,
    facts: ClusterFacts,
    candidates: tuple[Candidate, ...],
    *,
    unfinished: Iterable[Unfinished],
    targets: Mapping[str, str],
    stale: tuple[OutdatedGroup, ...],
) -> Starts:
    """Choose moves greedily in the given order.

    `targets` has the planned targets of own running migrations by VMIM UID; `stale` the groups that
    must not start. The quick selection takes every move that time and limits allow, and asks the
    constraints once. Only if they refuse it, a careful selection adds the moves one by one.
    """
    if not candidates:
        return Starts(events=(), effects=(), waiting=(), stale=stale)
    blocked = {(item.request, item.group) for item in stale}
    unfinished = tuple(unfinished)
    plans = grouped((item.approved.approval.digest, item) for item in unfinished)
    unplaced = _unplaced(view, facts, unfinished)
    known = {digest: {item.move.ref: item for item in items} for digest, items in plans.items()}
    stopped = _stopped(view, candidates)

    def select(*, careful: bool) -> _Selection:
        draft = _Selection(
            slots=Slots(facts, view.problem.limits, targets),
            nodes={},
            candidates=candidates,
            unfinished=known,
            blocked=set(blocked),
            stopped=stopped,
            unplaced=unplaced,
        )
        return _select(view, facts, draft, careful=careful)

    quick = select(careful=False)
    if any(not item.claimed for item in quick.chosen) and _refused(
        view, facts, quick, quick.chosen
    ):
        quick = select(careful=True)
    return _starts(view, facts, quick, stale)


def _stopped(
    view: ExecutorInput, candidates: Iterable[Candidate]
) -> Mapping[tuple[RequestId, int], str]:
    """The moves that files with errors on the base branch stop, and why.

    With a move waits the rest of its group, unless the group has begun and can do without it: a
    node that is emptied halfway serves nobody. So do all nodes that leave service together.
    """
    if view.folders is None:
        return {}
    found: dict[tuple[RequestId, int], str] = {}
    with_them: dict[tuple[RequestId, str], str] = {}
    waiting = [(item, _unit(item)) for item in candidates]
    for item, unit in waiting:
        if why := view.folders.of_move(item.move):
            found[item.approved.id, item.move.id] = why
        maintenance = item.approved.terms.maintenance
        if maintenance is not None and maintenance.together:
            why = why or next(filter(None, map(view.folders.of_node, maintenance.nodes)), "")
        if why:
            with_them.setdefault(unit, why)
    for item, unit in waiting:
        begun = has_started(item.request, item.record) and not item.move.as_one
        if unit in with_them and not begun:
            found.setdefault((item.approved.id, item.move.id), with_them[unit])
    return found


def _unit(candidate: Candidate) -> tuple[RequestId, str]:
    """What begins as one: a group, or all nodes of a drain."""
    maintenance = candidate.approved.terms.maintenance
    together = maintenance is not None and maintenance.together
    return candidate.approved.id, "" if together else candidate.move.group


def _select(
    view: ExecutorInput, facts: ClusterFacts, draft: _Selection, *, careful: bool
) -> _Selection:
    plans = {id(item.approved): item.approved for item in draft.candidates}
    # Several approved plans of one window may have different nodes.
    for approved in plans.values():
        if approved.terms.maintenance is not None:
            known = draft.nodes.setdefault(approved.id, {})
            known.update(nodes_of(view, approved.terms.maintenance))
    # Claimed moves first: their places and slots are taken, whatever this selection decides. Then
    # announced ones, so that readers of the ledger see them soon.
    for candidate in sorted(
        draft.candidates, key=lambda item: (not item.claimed, not item.intended)
    ):
        if candidate.claimed:
            _take(facts, draft, candidate)
            draft.waiting.append(_claimed(candidate))
            continue
        waits = _wait(view, facts, draft, candidate)
        if waits is None and careful and (why := _replay_refusal(view, facts, draft, candidate)):
            waits = _waiting(candidate, why, retry=bool(facts.unfinished))
        if waits is None:
            _take(facts, draft, candidate)
        else:
            draft.waiting.append(waits)
    return draft


def _waiting(
    candidate: Candidate, reason: str, until: int = 0, *, retry: bool = False, opens: bool = False
) -> Waiting:
    move, vm = candidate.move, str(candidate.move.vm.namespaced_name)
    known = Waiting(request=candidate.approved.id, move=move.id, vm=vm, reason=reason)
    return known.replace(until=until, retry=retry, opens=opens)


def _claimed(candidate: Candidate) -> Waiting:
    record = candidate.record
    until = format_instant(claim_expires_at(record))
    who = record.claim.executor if record.claim is not None else ""
    what = f"it is announced: {f'executor {who}' if who else 'an executor'} may create it"
    return _waiting(candidate, f"{what} until {until}", retry=True)


def _closed(view: ExecutorInput, move: Move, starts: int) -> str:
    """Why the move may start at `starts` only: a freeze that is on now has its name."""
    for freeze in view.problem.freezes:
        if move.vm.namespaced_name not in freeze.vms:
            continue
        for span in freeze.times:
            if span.contains(view.now):
                why = f" ({freeze.reason})" if freeze.reason else ""
                frozen = f"frozen by {freeze.intent.kind} {freeze.intent.name}{why}"
                return frozen if span.end >= starts else f"{frozen}, then outside its allowed time"
    return "outside its allowed time"


def _wait(
    view: ExecutorInput, facts: ClusterFacts, draft: _Selection, candidate: Candidate
) -> Waiting | None:
    """Why the move does not start now; None if it does, as far as the cheap tests know."""
    move, approved, record = candidate.move, candidate.approved, candidate.record
    waits = partial(_waiting, candidate)
    if (approved.id, move.group) in draft.blocked:
        return waits("its group no longer passes the checks and needs a new plan")
    starts = next_start(view, approved, move, candidate.request)
    if starts is not None and starts > view.now:
        return waits(_closed(view, move, starts), starts, opens=True)
    if view.stop:
        return waits(f"stopped: {view.stop}")
    stopped = draft.stopped.get((approved.id, move.id), "")
    gate = approved.terms.pause_reason or stopped or _node_gate(draft, candidate)
    if gate:
        return waits(gate)
    # A migration that fails at once, or that the server refuses, would otherwise repeat every pass.
    pause = _next_try(record)
    if pause > view.now:
        failed = record.state is MoveState.FAILED
        reason = "it failed and is tried again" if failed else record.reason
        return waits(reason, pause, retry=failed)
    if str(_effect_name(candidate)) in view.unanswered:
        return waits("the API server answers no request for its migration")
    awaited = _predecessor(candidate, draft) or _name_taken(facts, candidate)
    return waits(awaited) if awaited else _wait_for_cluster(view, facts, draft, candidate)


def _wait_for_cluster(
    view: ExecutorInput, facts: ClusterFacts, draft: _Selection, candidate: Candidate
) -> Waiting | None:
    """What the move waits for on the cluster: another migration, a node, or a slot."""
    move = candidate.move
    other = facts.in_flight(move.vm.namespaced_name)
    if other is not None:
        name = other["metadata"]["name"]
        return _waiting(candidate, f"another migration of the VM is running: {name}", retry=True)
    here = facts.node_of(move.vm.namespaced_name)
    # A VMIM of a node whose kubelet or virt-handler is silent waits, and then fails.
    node = facts.nodes.get(here, {})
    silence = silence_of(node) or _lost_target(facts, move)
    if silence:
        handler = Instances.of(view.problem.snapshot).handlers.get(here)
        missing = ": ".join(filter(None, devices_missing(node, handler, view.now)))
        return _waiting(candidate, silence if lost_of(node) else missing or silence)
    full = draft.slots.refusal(here, move.to.node)
    return _waiting(candidate, full, retry=True) if full else None


def _next_try(record: MoveRecord) -> int:
    """Earliest time (UTC seconds) of the next try of a failed or refused move; 0 for any other."""
    if record.state is MoveState.FAILED:
        return record.changed_at + (BACK_OFF << max(0, record.attempt - 1))
    if record.state is not MoveState.WAITING or record.outcome not in (REFUSED, FORBIDDEN):
        return 0
    # A refused create does not use up its attempt, so its claims count. Each is two lines in the
    # ledger, and a right may be missing for days.
    tries = record.claim.epoch if record.claim is not None else 1
    doublings = min(tries - 1, LONGEST_BACK_OFF.bit_length())  # an epoch may be any number
    return record.changed_at + min(BACK_OFF << max(0, doublings), LONGEST_BACK_OFF)


def _lost_target(facts: ClusterFacts, move: Move) -> str:
    """Why no pod can start on the pinned target; "" if one can, or if the move is not pinned."""
    node = move.to.node
    lost = lost_of(facts.nodes.get(node, {})) if move.pin is Pin.NODE else ""
    return f"{node} {lost}" if lost else ""


def _name_taken(facts: ClusterFacts, candidate: Candidate) -> str:
    """Whether another mover's migration has the name, so that a create would fail (409)."""
    name = _effect_name(candidate)
    taken = name in facts.migrations
    return f"a migration named {name} is not gitbot's" if taken else ""


def _node_gate(draft: _Selection, candidate: Candidate) -> str:
    maintenance = candidate.approved.terms.maintenance
    nodes = draft.nodes.get(candidate.approved.id)
    source, target = candidate.move.source.node, candidate.move.to.node
    if maintenance is None or nodes is None or source not in nodes:
        return ""
    if candidate.move.after_return and nodes[target].state is not NodeState.RETURNED:
        return f"{target} must return first"
    return may_begin(nodes, source, maintenance)


def _predecessor(candidate: Candidate, draft: _Selection) -> str:
    """The unfinished move of the same plan that this one waits for, in words; "" if none.

    A move waits for the moves in `after`, or for all earlier waves if the plan has none. Groups
    that are proposed again and nodes that wait for their turn do not block moves of other groups.
    """
    move, approved = candidate.move, candidate.approved
    unfinished = draft.unfinished.get(approved.approval.digest, {})
    if move.after is not None:
        found = [unfinished[ref] for ref in move.after if ref in unfinished]
    else:
        known = (item for item in unfinished.values() if item.approved is approved)
        found = [item for item in known if item.move.wave < move.wave]
    for item in found:
        ours = item.approved is approved and item.move.group == move.group
        if ours or item.move.id not in _not_blocking(item.approved, draft):
            if move.after is None:
                return f"move {item.move.id} of an earlier wave is not over"
            other = "" if item.approved is approved else f" of {item.approved.id}"
            return f"move {item.move.id}{other}, which it waits for, is not over"
    return ""


def _not_blocking(approved: Approved, draft: _Selection) -> frozenset[int]:
    """Moves of a plan that block no others, until a node starts or a group is refused."""
    state = (approved.id, approved.approval.digest, len(draft.begins), len(draft.blocked))
    known = draft.waits.get(state)
    if known is None:
        known = draft.waits[state] = frozenset(
            other.move.id
            for other in draft.candidates
            if other.approved is approved
            and (
                (approved.id, other.move.group) in draft.blocked
                or (approved.id, other.move.id) in draft.stopped
                or _node_gate(draft, other)
            )
        )
    return known


def _replay_refusal(
    view: ExecutorInput, facts: ClusterFacts, draft: _Selection, candidate: Candidate
) -> str:
    if draft.refused >= MOST_REFUSALS:
        return "others before it do not pass the checks now"
    reasons = _refused(view, facts, draft, (*draft.chosen, candidate))
    if not reasons:
        return ""
    draft.refused += 1
    # Refused although nothing else moves: the group itself is outdated and needs a new plan. After
    # other moves, the refusal may disappear when they end.
    if not draft.chosen and not facts.unfinished:
        group = (candidate.approved.id, candidate.move.group)
        draft.stale.append(OutdatedGroup(request=group[0], group=group[1], reasons=reasons))
        draft.blocked.add(group)
    return reasons[0]


def _refused(
    view: ExecutorInput, facts: ClusterFacts, draft: _Selection, chosen: Sequence[Candidate]
) -> tuple[str, ...]:
    """Why the checks refuse these moves beside those whose target pods have no node yet.

    A refusal of the latter alone stops nobody: it may stay for minutes.
    """
    batch = [_from_here(facts, item.move) for item in _as_one(draft.candidates, chosen)]
    found = refusals(view, (*draft.unplaced, *batch))
    if not found or not draft.unplaced:
        return found
    known = refusals(view, draft.unplaced)
    return tuple(why for why in found if why not in known)


def _unplaced(
    view: ExecutorInput, facts: ClusterFacts, unfinished: Iterable[Unfinished]
) -> tuple[Move, ...]:
    """The moves that run and whose target pods have no node yet, so that they take no place."""
    instances = Instances.of(view.problem.snapshot)
    return tuple(
        facts.as_is(item.move)
        for item in unfinished
        if item.runs
        and (vm := item.move.vm.namespaced_name) in instances
        and (migration := facts.in_flight(vm)) is not None
        and not target_pod_node(instances, vm, [migration])
    )


def _as_one(candidates: Iterable[Candidate], chosen: Sequence[Candidate]) -> list[Candidate]:
    """The chosen moves, and those that follow them as one group, for which there is no slot yet."""
    groups = {(item.approved.id, item.move.group) for item in chosen if item.move.as_one}
    known = {(item.approved.id, item.move.id) for item in chosen}
    return [*chosen] + [
        item
        for item in candidates
        if (item.approved.id, item.move.group) in groups
        and (item.approved.id, item.move.id) not in known
        and item.move.as_one
    ]


def _take(facts: ClusterFacts, draft: _Selection, candidate: Candidate) -> None:
    move, approved = candidate.move, candidate.approved
    draft.slots.take(facts.node_of(move.vm.namespaced_name), move.to.node)
    draft.chosen.append(candidate)
    nodes = draft.nodes.get(approved.id, {})
    source, maintenance = nodes.get(move.source.node), approved.terms.maintenance
    if source is None or source.state in BUSY:
        return
    together = maintenance is not None and maintenance.together
    beside = [node for node in nodes.values() if together and node.state is NodeState.WAITING]
    for node in beside or [source]:
        nodes[node.node] = node.replace(state=NodeState.DRAINING)
        draft.begins.append((approved, node.node))


def _starts(
    view: ExecutorInput,
    facts: ClusterFacts,
    draft: _Selection,
    stale: tuple[OutdatedGroup, ...],
) -> Starts:
    events: list[KnownEvent] = []
    effects: list[Effect] = []
    for approved, node in draft.begins:
        events += begin(view, facts, approved, node, before=events)
    for candidate in draft.chosen:
        if candidate.claimed:
            continue
        attempt = _attempt(candidate)
        move = _from_here(facts, candidate.move)
        span = next_span(view, candidate.approved, candidate.move, candidate.request)
        ends = span.end if span is not None else view.now
        claim = next_claim(view, candidate.record, ends=ends)
        name, state = str(_effect_name(candidate)), MoveState.INTENDED
        event = move_event(view, candidate.approved, move, state, attempt=attempt, migration=name)
        event = event.replace(claim=claim)
        events.append(event)
        home = home_event(view, candidate.approved, move.vm.namespaced_name, move.source.node)
        events += [home] if home and not candidate.intended else []
        effects.append(
            CreateMigration(
                approved=candidate.approved,
                move=candidate.move,
                attempt=attempt,
                event=event,
                ends=ends,
            )
        )
    return Starts(
        events=tuple(events),
        effects=tuple(effects),
        waiting=tuple(draft.waiting),
        stale=(*stale, *draft.stale),
    )


def _attempt(candidate: Candidate) -> int:
    return candidate.record.attempt if candidate.intended else candidate.record.attempt + 1


def _effect_name(candidate: Candidate) -> NamespacedName:
    move = candidate.move
    identity = EffectId(
        request=move.request, vmi_uid=move.vm.uid, move=move.id, attempt=_attempt(candidate)
    )
    return NamespacedName(
        namespace=move.vm.namespace, name=identity.migration_name(vm=move.vm.name)
    )


def _from_here(facts: ClusterFacts, move: Move) -> Move:
    found = facts.as_is(move)
    return replace(found, wave=0, starts=0) if found.wave or found.starts else found


LIMIT = "constraints/limit"


def refusals(view: ExecutorInput, moves: Iterable[Move]) -> tuple[str, ...]:
    """Why the constraints refuse these moves on the current cluster; empty if they accept them.

    Times and limits are ignored: `starts` decides when and how many moves start.
    """
    wanted = tuple(moves)
    goals = _goals(wanted)
    problem = replace(view.problem, goals=goals, freezes=(), reservations=(), at_once=True)
    return tuple(
        finding.message
        for finding in view.replay(problem, trial_plan(view, wanted))
        if finding.severity is Severity.ERROR and finding.code != LIMIT
    )


def _goals(moves: tuple[Move, ...]) -> tuple[MoveVms, ...]:
    """One goal for each request, so that the replay knows whose moves these are.

    The review judged how long groups that move as one may pause; times are ignored here.
    """
    first = {move.request: move for move in reversed(moves)}
    return tuple(
        MoveVms(
            request=Request(id=name, intent=move.intent, allow_breach=FOREVER),
            vms=tuple(item.vm.namespaced_name for item in moves if item.request == name),
            target=Target(added=move.added_node_selector if move.pin is Pin.NONE else {}),
            pin=move.pin,
        )
        for name, move in sorted(first.items())
    )


def trial_plan(view: ExecutorInput, moves: tuple[Move, ...]) -> PlacementPlan:
    """The moves as a plan that starts now, with waves numbered from 0 without gaps."""
    indexes = {wave: index for index, wave in enumerate(sorted({move.wave for move in moves}))}
    waves: list[Wave] = []
    starts = view.problem.now
    for wave, index in indexes.items():
        longest = max(move.estimated_seconds for move in moves if move.wave == wave)
        waves.append(Wave(index=index, starts=starts, ends=starts + longest))
        starts += longest
    ordered = sorted(moves, key=lambda move: (move.wave, move.request, move.id))
    shift = view.problem.now - min((move.starts for move in moves), default=0)
    return PlacementPlan(
        cluster=view.cluster,
        moves=tuple(
            move
            if not move.starts and indexes[move.wave] == move.wave  # most moves need no copy
            else replace(move, wave=indexes[move.wave], starts=move.starts and move.starts + shift)
            for move in ordered
        ),
        waves=tuple(waves),
        limits=view.problem.limits,
    )
