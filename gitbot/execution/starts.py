"""Which moves may start now: time, stop flag, waves, parallel nodes, limits, and the checks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from gitbot.execution.claims import claim_expires_at, next_claim
from gitbot.execution.cluster_facts import ClusterFacts, Slots
from gitbot.execution.executor_types import (
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
from gitbot.execution.start_simulation import refusals
from gitbot.execution.terminate import next_span, next_start
from gitbot.kubernetes.names import NamespacedName
from gitbot.kubevirt.source_node import lost_of, silence_of
from gitbot.model.grouping import grouped
from gitbot.model.ledger.effect_id import EffectId
from gitbot.model.ledger.events import KnownEvent, MoveChanged, MoveState, NodeState
from gitbot.model.ledger.request_id import RequestId
from gitbot.model.plan.plan import Move, MoveRef
from gitbot.model.plan.problem import Pin
from gitbot.model.struct import FrozenStruct
from gitbot.model.text.instants import format_instant

MOST_REFUSALS = 8  # by the checks, in one look: each costs a replay of the whole cluster
BACK_OFF = 60  # seconds before a second attempt; doubles with every further one


class Candidate(FrozenStruct, frozen=True, kw_only=True):
    """A move that has no VMIM and has not ended. `intended`: the ledger has announced it.

    `claimed`: it may still be created at any moment, so that its place and its slot are taken.
    """

    approved: Approved
    move: Move
    record: MoveRecord
    request: RequestRecord
    intended: bool
    claimed: bool


class Unfinished(FrozenStruct, frozen=True, kw_only=True):
    """A move of an approved plan that has not ended: it waits or runs."""

    approved: Approved
    move: Move


@dataclass(slots=True, kw_only=True)
class _StartRound:
    slots: Slots
    nodes: dict[RequestId, dict[str, NodeRecord]]
    candidates: tuple[Candidate, ...]
    unfinished: Mapping[str, Mapping[MoveRef, Unfinished]]
    blocked: set[tuple[RequestId, str]]
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
    """Choose greedily in the given order; first all of them, then one by one if a rule refuses."""
    if not candidates:
        return Starts(events=(), effects=(), waiting=(), stale=stale)
    blocked = {(item.request, item.group) for item in stale}
    plans = grouped((item.approved.approval.digest, item) for item in unfinished)
    known = {digest: {item.move.ref: item for item in items} for digest, items in plans.items()}

    def look(*, careful: bool) -> _StartRound:
        slots = Slots(facts, view.problem.limits, targets)
        begun = _StartRound(
            slots=slots, nodes={}, candidates=candidates, unfinished=known, blocked=set(blocked)
        )
        return _look(view, facts, begun, careful=careful)

    quick = look(careful=False)
    batch = [_as_is(facts, item.move) for item in quick.chosen]
    if any(not item.claimed for item in quick.chosen) and refusals(view, batch):
        quick = look(careful=True)
    return _starts(view, facts, quick, stale)


def _look(
    view: ExecutorInput, facts: ClusterFacts, look: _StartRound, *, careful: bool
) -> _StartRound:
    plans = {id(item.approved): item.approved for item in look.candidates}
    for approved in plans.values():  # plans of one window may have different nodes
        if approved.terms.maintenance is not None:
            known = look.nodes.setdefault(approved.id, {})
            known.update(nodes_of(view, approved.terms.maintenance))
    for candidate in sorted(
        look.candidates, key=lambda item: (not item.claimed, not item.intended)
    ):
        if candidate.claimed:
            _take(facts, look, candidate)
            look.waiting.append(_to_come(candidate))
            continue
        reason, until, retry = _refusal(view, facts, look, candidate)
        if not reason and careful:
            reason, until, retry = (
                _replay_refusal(view, facts, look, candidate),
                0,
                bool(facts.unfinished),
            )
        if reason:
            look.waiting.append(
                Waiting(
                    request=candidate.approved.id,
                    move=candidate.move.id,
                    vm=str(candidate.move.vm.namespaced_name),
                    reason=reason,
                    until=until,
                    retry=retry,
                )
            )
        else:
            _take(facts, look, candidate)
    return look


def _to_come(candidate: Candidate) -> Waiting:
    record = candidate.record
    until = claim_expires_at(record)
    who = record.claim.executor if record.claim is not None else ""
    what = f"it is announced: {f'executor {who}' if who else 'an executor'} may create it"
    return Waiting(
        request=candidate.approved.id,
        move=candidate.move.id,
        vm=str(candidate.move.vm.namespaced_name),
        reason=f"{what} until {format_instant(until)}",
        retry=True,
    )


def _refusal(
    view: ExecutorInput, facts: ClusterFacts, look: _StartRound, candidate: Candidate
) -> tuple[str, int, bool]:
    """Why not now ("" if now), until when, and whether a short wait may help."""
    move, approved, record = candidate.move, candidate.approved, candidate.record
    if (approved.id, move.group) in look.blocked:
        return "its group no longer passes the checks and is proposed again", 0, False
    opens = next_start(view, approved, move, candidate.request)
    if opens is not None and opens > view.now:
        return "outside its allowed time", opens, False
    if view.stop:
        return f"stopped: {view.stop}", 0, False
    gate = approved.terms.pause_reason or _node_gate(look, candidate)
    if gate:
        return gate, 0, False
    pause = record.changed_at + BACK_OFF * 2 ** max(0, record.attempt - 1)
    if record.state is MoveState.FAILED and pause > view.now:
        return "it failed and is tried again", pause, True
    if record.state is MoveState.WAITING and record.outcome == REFUSED and pause > view.now:
        return record.reason, pause, False
    if str(_effect_name(candidate)) in view.unanswered:
        return "the API server answers no request for its migration", 0, False
    awaited = _awaited(candidate, look) or _taken(facts, candidate)
    if awaited:
        return awaited, 0, False
    other = facts.in_flight(move.vm.namespaced_name)
    if other is not None:
        name = other["metadata"]["name"]
        return f"another migration of the VM is running: {name}", 0, True
    here = facts.node_of(move.vm.namespaced_name)
    silence = silence_of(facts.nodes.get(here, {})) or _lost_target(facts, move)
    if silence:
        return silence, 0, False
    return look.slots.refusal(here, move.to.node), 0, True


def _lost_target(facts: ClusterFacts, move: Move) -> str:
    """Why no pod starts where the move is pinned; "" if one does, or the scheduler decides."""
    node = move.to.node
    lost = lost_of(facts.nodes.get(node, {})) if move.pin is Pin.NODE else ""
    return f"{node} {lost}" if lost else ""


def _taken(facts: ClusterFacts, candidate: Candidate) -> str:
    """Whether somebody else's migration has the name of the one that would be created."""
    name = _effect_name(candidate)
    taken = name in facts.migrations
    return f"a migration named {name} is not gitbot's" if taken else ""


def _node_gate(look: _StartRound, candidate: Candidate) -> str:
    maintenance = candidate.approved.terms.maintenance
    nodes = look.nodes.get(candidate.approved.id)
    source, target = candidate.move.source.node, candidate.move.to.node
    if maintenance is None or nodes is None or source not in nodes:
        return ""
    if candidate.move.after_return and nodes[target].state is not NodeState.RETURNED:
        return f"{target} must return first"
    return may_begin(nodes, source, maintenance.max_nodes_at_once)


def _awaited(candidate: Candidate, look: _StartRound) -> str:
    """The unfinished move of the same plan that this one waits for, in words; "" if none.

    Groups that are proposed again and nodes that wait for their turn do not block others.
    """
    move, approved = candidate.move, candidate.approved
    unfinished = look.unfinished.get(approved.approval.digest, {})
    if move.after is not None:
        found = [unfinished[ref] for ref in move.after if ref in unfinished]
    else:
        known = (item for item in unfinished.values() if item.approved is approved)
        found = [item for item in known if item.move.wave < move.wave]
    for item in found:
        ours = item.approved is approved and item.move.group == move.group
        if ours or item.move.id not in _waits(item.approved, look):
            if move.after is None:
                return f"move {item.move.id} of an earlier wave is not over"
            other = "" if item.approved is approved else f" of {item.approved.id}"
            return f"move {item.move.id}{other}, which it waits for, is not over"
    return ""


def _waits(approved: Approved, look: _StartRound) -> frozenset[int]:
    """Candidates of a plan that block no others. Decided again when a node or a group changes."""
    state = (approved.id, approved.approval.digest, len(look.begins), len(look.blocked))
    known = look.waits.get(state)
    if known is None:
        known = look.waits[state] = frozenset(
            other.move.id
            for other in look.candidates
            if other.approved is approved
            and ((approved.id, other.move.group) in look.blocked or _node_gate(look, other))
        )
    return known


def _replay_refusal(
    view: ExecutorInput, facts: ClusterFacts, look: _StartRound, candidate: Candidate
) -> str:
    if look.refused >= MOST_REFUSALS:
        return "others before it do not pass the checks now"
    batch = [_as_is(facts, item.move) for item in (*look.chosen, candidate)]
    reasons = refusals(view, batch)
    if not reasons:
        return ""
    look.refused += 1
    if not look.chosen and not facts.unfinished:
        group = (candidate.approved.id, candidate.move.group)
        look.stale.append(OutdatedGroup(request=group[0], group=group[1], reasons=reasons))
        look.blocked.add(group)
    return reasons[0]


def _take(facts: ClusterFacts, look: _StartRound, candidate: Candidate) -> None:
    move, approved = candidate.move, candidate.approved
    look.slots.take(facts.node_of(move.vm.namespaced_name), move.to.node)
    look.chosen.append(candidate)
    nodes = look.nodes.get(approved.id, {})
    source = nodes.get(move.source.node)
    if source is not None and source.state not in BUSY:
        nodes[source.node] = source.replace(state=NodeState.DRAINING)
        look.begins.append((approved, source.node))


def _starts(
    view: ExecutorInput, facts: ClusterFacts, look: _StartRound, stale: tuple[OutdatedGroup, ...]
) -> Starts:
    events: list[KnownEvent] = []
    effects: list[Effect] = []
    for approved, node in look.begins:
        events += begin(view, facts, approved, node, before=events)
    for candidate in look.chosen:
        if candidate.claimed:
            continue
        attempt = _attempt(candidate)
        move = _as_is(facts, candidate.move)
        span = next_span(view, candidate.approved, candidate.move, candidate.request)
        ends = span.end if span is not None else view.now
        claim = next_claim(view, candidate.record, ends=ends)
        event = _intended(view, candidate, move, attempt).replace(claim=claim)
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
        waiting=tuple(look.waiting),
        stale=(*stale, *look.stale),
    )


def _intended(view: ExecutorInput, candidate: Candidate, move: Move, attempt: int) -> MoveChanged:
    return move_event(
        view,
        candidate.approved,
        move,
        MoveState.INTENDED,
        attempt=attempt,
        migration=str(_effect_name(candidate)),
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


def _as_is(facts: ClusterFacts, move: Move) -> Move:
    found = facts.as_is(move)
    return replace(found, wave=0, starts=0) if found.wave or found.starts else found
