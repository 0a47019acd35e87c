"""Which moves may start now: time, stop flag, waves, nodes at once, limits, and the law."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from gitbot.execution.endings import next_start
from gitbot.execution.facts import ClusterFacts, Slots
from gitbot.execution.nodes import BUSY, begin, home_entry, may_begin, nodes_of
from gitbot.execution.observe import move_entry
from gitbot.execution.requests import MoveRecord, RequestRecord
from gitbot.execution.state import NodeRecord, NodeState
from gitbot.execution.values import Approved, CreateMigration, Effect, Stale, View, Waiting
from gitbot.model.effect import Effect as EffectIdentity
from gitbot.model.effect import effect_name
from gitbot.model.findings import Severity
from gitbot.model.ledger import Entry, MoveState
from gitbot.model.plan import Move, NodeRef, PlacementPlan, Wave
from gitbot.model.problem import MoveVms, Request, Target

LIMIT = "constraints/limit"
MOST_REFUSALS = 8  # by the law, in one look: each costs a replay of the whole cluster
BACK_OFF = 60  # seconds before a second attempt; doubles with every further one


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A move that has no VMIM and has not ended. `intended`: the ledger announced it already."""

    approved: Approved
    move: Move
    record: MoveRecord
    request: RequestRecord
    intended: bool = False


@dataclass(slots=True, kw_only=True)
class _Round:
    """One look through the candidates."""

    slots: Slots
    nodes: dict[str, dict[str, NodeRecord]]
    candidates: tuple[Candidate, ...]
    blocked: set[tuple[str, str]]
    chosen: list[Candidate] = field(default_factory=list)
    begins: list[tuple[Approved, str]] = field(default_factory=list)
    waiting: list[Waiting] = field(default_factory=list)
    stale: list[Stale] = field(default_factory=list)
    refused: int = 0
    open_moves: dict[tuple[str, str], list[tuple[int, MoveRecord]]] = field(default_factory=dict)
    waits: dict[tuple[str, str, int, int], frozenset[int]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Starts:
    """What starts, what waits, and the groups that the law refuses."""

    entries: tuple[Entry, ...]
    effects: tuple[Effect, ...]
    waiting: tuple[Waiting, ...]
    stale: tuple[Stale, ...]


def choose_starts(
    view: View,
    facts: ClusterFacts,
    candidates: tuple[Candidate, ...],
    *,
    targets: Mapping[str, str],
    stale: tuple[Stale, ...],
) -> Starts:
    """Choose greedily in the given order; first on trust, then move by move where the law asks."""
    blocked = {(item.request, item.group) for item in stale}
    quick = _look(view, facts, candidates, targets, blocked, careful=False)
    batch = [_as_is(facts, item.move) for item in quick.chosen]
    if quick.chosen and refusals(view, batch):
        quick = _look(view, facts, candidates, targets, blocked, careful=True)
    return _starts(view, facts, quick, stale)


def _look(
    view: View,
    facts: ClusterFacts,
    candidates: tuple[Candidate, ...],
    targets: Mapping[str, str],
    blocked: set[tuple[str, str]],
    *,
    careful: bool,
) -> _Round:
    slots = Slots(facts, view.problem.limits, targets)
    look = _Round(slots=slots, nodes={}, candidates=candidates, blocked=set(blocked))
    for candidate in candidates:
        maintenance = candidate.approved.terms.maintenance
        if maintenance is not None and candidate.approved.id not in look.nodes:
            look.nodes[candidate.approved.id] = nodes_of(view, maintenance)
    # what stands intended first: another executor may be about to create it, so its slot is taken
    for candidate in sorted(candidates, key=lambda item: not item.intended):
        reason, until, retry = _refusal(view, facts, look, candidate)
        if not reason and careful:
            reason, until, retry = _law(view, facts, look, candidate), 0, bool(facts.unfinished())
        if reason:
            look.waiting.append(_waiting(candidate, reason, until, retry=retry))
        else:
            _take(facts, look, candidate)
    return look


def _refusal(
    view: View, facts: ClusterFacts, look: _Round, candidate: Candidate
) -> tuple[str, int, bool]:
    """Why not now ("" where now), until when, and whether waiting a little may help."""
    move, approved, record = candidate.move, candidate.approved, candidate.record
    if (approved.id, move.group) in look.blocked:
        return "its group no longer keeps the law and is proposed anew", 0, False
    opens = next_start(view, approved, move, candidate.request)
    if opens is not None and opens > view.now:
        return "its allowed time has not come", opens, False
    if view.stop:
        return f"stopped: {view.stop}", 0, False
    gate = _node_gate(look, candidate)
    if gate:
        return gate, 0, False
    pause = record.changed_at + BACK_OFF * 2 ** max(0, record.attempt - 1)
    if record.state is MoveState.FAILED and pause > view.now:
        return "it failed and is tried again", pause, True
    earlier = _earlier_wave(candidate, look)
    if earlier is not None:
        return f"move {earlier.number} of an earlier wave is not over", 0, False
    other = facts.in_flight(move.vm.namespaced_name)
    if other is not None:
        name = other["metadata"]["name"]
        return f"another migration of the VM is under way: {name}", 0, True
    here = facts.node_of(move.vm.namespaced_name)
    return look.slots.refusal(here, move.to.node), 0, True


def _node_gate(look: _Round, candidate: Candidate) -> str:
    maintenance = candidate.approved.terms.maintenance
    nodes = look.nodes.get(candidate.approved.id)
    source = candidate.move.source.node
    if maintenance is None or nodes is None or source not in nodes:
        return ""
    return may_begin(nodes, source, maintenance.max_nodes_at_once)


def _earlier_wave(candidate: Candidate, look: _Round) -> MoveRecord | None:
    """An unfinished move of an earlier wave of the same plan.

    Groups that are proposed anew, and nodes that must wait for their turn, hold nobody up.
    """
    waits = _waits(candidate.approved, look)
    for wave, record in _open_moves(candidate, look):
        ours = record.group == candidate.move.group
        if wave < candidate.move.wave and (ours or record.number not in waits):
            return record
    return None


def _open_moves(candidate: Candidate, look: _Round) -> list[tuple[int, MoveRecord]]:
    """The unfinished moves of a candidate's plan by number, each with its wave."""
    plan = (candidate.approved.id, candidate.record.digest)
    known = look.open_moves.get(plan)
    if known is None:
        waves = {move.id: move.wave for move in candidate.approved.moves}
        known = look.open_moves[plan] = [
            (waves[number], record)
            for number, record in sorted(candidate.request.moves.items())
            if number in waves and record.digest == plan[1] and not record.final
        ]
    return known


def _waits(approved: Approved, look: _Round) -> frozenset[int]:
    """Candidates of a plan that hold nobody up: decided anew when a node or a group changed."""
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


def _law(view: View, facts: ClusterFacts, look: _Round, candidate: Candidate) -> str:
    if look.refused >= MOST_REFUSALS:
        return "others before it do not keep the law now"
    batch = [_as_is(facts, item.move) for item in (*look.chosen, candidate)]
    reasons = refusals(view, batch)
    if not reasons:
        return ""
    look.refused += 1
    if not look.chosen and not facts.unfinished():
        group = (candidate.approved.id, candidate.move.group)
        look.stale.append(Stale(request=group[0], group=group[1], reasons=reasons))
        look.blocked.add(group)
    return reasons[0]


def _take(facts: ClusterFacts, look: _Round, candidate: Candidate) -> None:
    move, approved = candidate.move, candidate.approved
    look.slots.take(facts.node_of(move.vm.namespaced_name), move.to.node)
    look.chosen.append(candidate)
    nodes = look.nodes.get(approved.id, {})
    source = nodes.get(move.source.node)
    if source is not None and source.state not in BUSY:
        nodes[source.node] = replace(source, state=NodeState.DRAINING)
        look.begins.append((approved, source.node))


def _starts(view: View, facts: ClusterFacts, look: _Round, stale: tuple[Stale, ...]) -> Starts:
    entries: list[Entry] = []
    effects: list[Effect] = []
    for approved, node in look.begins:
        entries += begin(view, facts, approved, node, before=entries)
    for candidate in look.chosen:
        attempt = candidate.record.attempt if candidate.intended else candidate.record.attempt + 1
        move = _as_is(facts, candidate.move)
        entry = _intended(view, candidate, move, attempt)
        if not candidate.intended:
            home = home_entry(view, candidate.approved, move.vm.namespaced_name, move.source.node)
            entries += [entry, *([home] if home else [])]
        effects.append(
            CreateMigration(
                approved=candidate.approved, move=candidate.move, attempt=attempt, entry=entry
            )
        )
    return Starts(
        entries=tuple(entries),
        effects=tuple(effects),
        waiting=tuple(look.waiting),
        stale=(*stale, *look.stale),
    )


def _intended(view: View, candidate: Candidate, move: Move, attempt: int) -> Entry:
    identity = EffectIdentity(
        request=candidate.move.request,
        vmi_uid=candidate.move.vm.uid,
        move=candidate.move.id,
        attempt=attempt,
    )
    name = effect_name(identity, vm=candidate.move.vm.name)
    return move_entry(
        view,
        candidate.approved,
        move,
        MoveState.INTENDED,
        attempt=attempt,
        migration=f"{candidate.move.vm.namespace}/{name}",
    )


def _waiting(candidate: Candidate, reason: str, until: int, *, retry: bool) -> Waiting:
    return Waiting(
        request=candidate.approved.id,
        move=candidate.move.id,
        vm=str(candidate.move.vm.namespaced_name),
        reason=reason,
        until=until,
        retry=retry,
    )


def _as_is(facts: ClusterFacts, move: Move) -> Move:
    node = facts.node_of(move.vm.namespaced_name) or move.source.node
    return replace(move, source=NodeRef(node=node, zone=facts.zone_of(node)), wave=0)


def refusals(view: View, moves: Iterable[Move]) -> tuple[str, ...]:
    """What the constraints say against these moves on the cluster as it is; nothing: go.

    Times and limits are left out: when and how many at once is decided here, not by the plan.
    """
    wanted = tuple(moves)
    problem = replace(view.problem, goals=_goals(wanted), freezes=(), reservations=())
    return tuple(
        finding.message
        for finding in view.replay(problem, trial_plan(view, wanted))
        if finding.severity is Severity.ERROR and finding.code != LIMIT
    )


def _goals(moves: tuple[Move, ...]) -> tuple[MoveVms, ...]:
    """One goal for each request, so that the replay knows whose moves these are."""
    first = {move.request: move for move in reversed(moves)}
    return tuple(
        MoveVms(
            request=Request(id=name, intent=move.intent),
            vms=tuple(item.vm.namespaced_name for item in moves if item.request == name),
            target=Target(),
            pin=move.pin,
        )
        for name, move in sorted(first.items())
    )


def trial_plan(view: View, moves: tuple[Move, ...]) -> PlacementPlan:
    """The moves as a plan that starts now, its waves counted from 0 without gaps."""
    indexes = {wave: index for index, wave in enumerate(sorted({move.wave for move in moves}))}
    waves: list[Wave] = []
    starts = view.problem.now
    for wave, index in indexes.items():
        longest = max(move.estimated_seconds for move in moves if move.wave == wave)
        waves.append(Wave(index=index, starts=starts, ends=starts + longest))
        starts += longest
    ordered = sorted(moves, key=lambda move: (move.wave, move.request, move.id))
    return PlacementPlan(
        cluster=view.cluster,
        moves=tuple(replace(move, wave=indexes[move.wave]) for move in ordered),
        waves=tuple(waves),
        limits=view.problem.limits,
    )
