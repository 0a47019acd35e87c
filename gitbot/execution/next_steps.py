"""The executor's brain: approved plans, the ledger and the current cluster, to the next steps.

Pure: the same view gives the same steps. The workflow writes the events in one commit, performs the
effects in their order, and asks again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from gitbot.execution.admit_plans import admit_plan, deduplicate, is_known
from gitbot.execution.breaker import breaker_event, breaker_reason
from gitbot.execution.claims import claim_expires_at, is_unsent
from gitbot.execution.cluster_facts import ClusterFacts, is_own, vm_of
from gitbot.execution.executor_types import (
    Approved,
    Effect,
    ExecutorInput,
    MissingMigration,
    OutdatedGroup,
    Steps,
    Waiting,
)
from gitbot.execution.ledger_folds import observed_migrations
from gitbot.execution.nodes import advance, cordon_holders, effects_due
from gitbot.execution.observe import Subject, move_event, observe
from gitbot.execution.ownership import is_of_ledger, ledger_mark
from gitbot.execution.request_records import MoveRecord, RequestRecord, fold_requests
from gitbot.execution.revalidate_groups import judge_groups
from gitbot.execution.starts import Candidate, Unfinished, choose_starts
from gitbot.execution.terminate import ending
from gitbot.kubernetes.names import NamespacedName
from gitbot.kubernetes.objects import KubernetesObject, at, name_of, uid_of
from gitbot.kubernetes.phases import is_final, phase_of
from gitbot.kubevirt.movers import mover_of
from gitbot.model.ledger.events import ForeignMove, KnownEvent, MoveState
from gitbot.model.ledger.ledger import request_file
from gitbot.model.ledger.request_id import ObservedId, RequestId
from gitbot.model.plan.plan import Move

_Known = tuple[Approved, Move, RequestRecord]


@dataclass(slots=True, kw_only=True)
class _DecisionState:
    view: ExecutorInput
    facts: ClusterFacts
    events: list[KnownEvent] = field(default_factory=list)
    effects: list[Effect] = field(default_factory=list)
    without: set[tuple[RequestId, int]] = field(default_factory=set)  # intended, but no VMIM
    claimed: set[tuple[RequestId, int]] = field(default_factory=set)  # the same, may still come
    absent: list[MissingMigration] = field(default_factory=list)
    _folded: tuple[int, Mapping[RequestId, RequestRecord]] | None = None
    _known: tuple[int, list[_Known]] | None = None

    @property
    def records(self) -> Mapping[RequestId, RequestRecord]:
        if self._folded is None or self._folded[0] != len(self.events):
            folded = fold_requests(self.view.ledger, self.view.cluster)
            self._folded = (len(self.events), folded)
        return self._folded[1]

    @property
    def known(self) -> list[_Known]:
        """Every approved move that the ledger has accepted, by approval, wave and number."""
        if self._known is None or self._known[0] != len(self.events):
            self._known = (len(self.events), _accepted_moves(self))
        return self._known[1]

    def add(self, *events: KnownEvent) -> None:
        if not events:
            return
        self.events += events
        ledger = self.view.ledger
        grown = ledger.replace(events=(*ledger.events, *events))
        self.view = self.view.replace(ledger=grown)


def next_steps(view: ExecutorInput) -> Steps:
    view = view.replace(approved=deduplicate(view.approved))
    turn = _DecisionState(view=view, facts=ClusterFacts.of(view.problem, view.migrations))
    for approved in view.approved:
        turn.add(*admit_plan(view, turn.records, approved))
    _observe_all(turn)
    _observe_foreign(turn)
    _break_circuit(turn)
    _end_all(turn)
    _advance_nodes(turn)
    candidates = _candidates(turn)
    stale = view.denied
    if view.judge_groups and not turn.facts.unfinished and not turn.claimed:
        stale = (*stale, *judge_groups(turn.view, turn.facts, candidates))
    starts = choose_starts(
        turn.view,
        turn.facts,
        candidates,
        unfinished=[
            Unfinished(approved=approved, move=move)
            for approved, move, request in turn.known
            if not request.moves[move.id].final
        ],
        targets=_targets(turn),
        stale=stale,
    )
    _hold_stale(turn, candidates, starts.stale)
    turn.add(*starts.events)
    _revert_announcements(turn, candidates, starts.waiting)
    held = cordon_holders(turn.view, drains := _drains(turn))
    for approved in drains:
        record = turn.records.get(approved.id) or RequestRecord(id=approved.id)
        turn.effects += effects_due(turn.view, turn.facts, approved, record, held)
    turn.effects += starts.effects
    return Steps(
        events=tuple(turn.events),
        effects=tuple(turn.effects),
        stale=starts.stale,
        waiting=(*starts.waiting, *_unconsented(turn)),
        in_flight=_in_flight(turn),
        absent=tuple(turn.absent),
    )


def _unconsented(turn: _DecisionState) -> list[Waiting]:
    """Moves that the ledger does not have, because owners have not approved them."""
    return [
        Waiting(
            request=approved.id,
            move=move.id,
            vm=str(move.vm.namespaced_name),
            reason=approved.terms.consent,
        )
        for approved in turn.view.approved
        if approved.terms.consent and not approved.terms.void
        for move in approved.moves
        if not is_known(
            turn.records.get(approved.id) or RequestRecord(id=approved.id), approved, move
        )
    ]


def _absent(view: ExecutorInput, record: MoveRecord) -> MissingMigration:
    settled = record.state is not MoveState.INTENDED or is_unsent(view, record)
    since = 0 if settled else claim_expires_at(record)
    return MissingMigration(name=NamespacedName.parse(record.migration), since=since)


def _accepted_moves(turn: _DecisionState) -> list[_Known]:
    records = turn.records
    known = []
    for approved in turn.view.approved:
        record = records.get(approved.id)
        if record is None:
            continue
        known += [
            (approved, move, record)
            for move in sorted(approved.moves, key=lambda move: (move.wave, move.id))
            if is_known(record, approved, move)
        ]
    return known


def _observe_all(turn: _DecisionState) -> None:
    for approved, move, request in turn.known:
        record = request.moves[move.id]
        if not record.in_flight:
            continue
        seen = observe(
            Subject(
                view=turn.view,
                facts=turn.facts,
                approved=approved,
                move=move,
                record=record,
                cancelled=request.cancelled,
            )
        )
        turn.add(*seen.events)
        turn.effects += seen.deletions
        if seen.claimed:
            turn.claimed.add((approved.id, move.id))
        if seen.absent:
            turn.absent.append(_absent(turn.view, record))
        if seen.missing:
            turn.without.add((approved.id, move.id))


def _observe_foreign(turn: _DecisionState) -> None:
    records = turn.records.values()
    own = {name for item in records for move in item.moves.values() for name in move.effects}
    mark = ledger_mark(turn.view.ledger)
    over = [
        item
        for name, item in sorted(turn.facts.migrations.items())
        if is_final(item) and not (is_own(item) and is_of_ledger(item, mark) and str(name) in own)
    ]
    seen = observed_migrations(turn.view.ledger, turn.view.cluster) if over else frozenset()
    turn.add(*(_foreign_move(turn, item) for item in over if uid_of(item) not in seen))


def _foreign_move(turn: _DecisionState, migration: KubernetesObject) -> ForeignMove:
    vm = vm_of(migration)
    state = at(migration, "status", "migrationState", default={})
    target = str(at(state, "targetNode", default=""))
    request = ObservedId(vm=vm)
    return ForeignMove(
        file=request_file(turn.view.cluster, request),
        time=turn.view.now,
        cluster=turn.view.cluster,
        request=request,
        vm=str(vm),
        author=mover_of(migration),
        source=str(at(state, "sourceNode", default="")),
        to=target,
        landed=target if phase_of(migration) == "Succeeded" else "",
        migration=str(name_of(migration)),
        migration_uid=uid_of(migration),
        outcome=phase_of(migration),
    )


def _break_circuit(turn: _DecisionState) -> None:
    view = turn.view
    reason = breaker_reason(view.ledger, view.cluster, now=view.now, limits=view.breaker)
    if not reason or view.stop:
        return
    turn.add(breaker_event(reason, cluster=view.cluster, now=view.now))
    turn.view = turn.view.replace(stop=reason)


def _end_all(turn: _DecisionState) -> None:
    """End pointless, late, void or stopped moves. A failed group ends all its moves in one turn."""
    for approved, move, _ in turn.known:
        request = turn.records[approved.id]
        record = request.moves[move.id]
        never_created = (approved.id, move.id) in turn.without
        if record.final or (record.in_flight and not never_created):
            continue
        event = ending(turn.view, turn.facts, approved, move, request, never_created=never_created)
        if event is not None:
            turn.add(event)


def _drains(turn: _DecisionState) -> tuple[Approved, ...]:
    """One for every occurrence that has nodes: the newest plan, with what others still say."""
    drains: dict[RequestId, Approved] = {}
    for item in turn.view.approved:
        if item.terms.maintenance is not None:
            known = drains.get(item.id)
            drains[item.id] = item if known is None else _merge_drain_plans(known, item)
    return tuple(drains.values())


def _merge_drain_plans(earlier: Approved, newest: Approved) -> Approved:
    """The newest plan, which may be of some nodes only, with the nodes and stays of an earlier.

    One that may begin nothing does not stand in the place of one that may; no node of it begins.
    """
    first, other = newest, earlier
    if newest.terms.blocked_reason and not earlier.terms.blocked_reason:
        first, other = earlier, newest
    before, now = earlier.terms.maintenance, newest.terms.maintenance
    mine = first.terms.maintenance
    if before is None or now is None or mine is None or other.terms.void or other.terms.consent:
        return first
    moved = {move.vm.namespaced_name for move in newest.moves}
    nodes = mine.nodes if other.terms.paused else (*before.nodes, *now.nodes)
    stays = (before.stays - moved) | now.stays
    both = replace(mine, nodes=tuple(dict.fromkeys(nodes)), stays=stays)
    return replace(first, terms=first.terms.replace(maintenance=both))


def _advance_nodes(turn: _DecisionState) -> None:
    for approved in _drains(turn):
        record = turn.records.get(approved.id) or RequestRecord(id=approved.id)
        turn.add(*advance(turn.view, turn.facts, approved, record))


def _candidates(turn: _DecisionState) -> tuple[Candidate, ...]:
    candidates = []
    for approved, move, request in turn.known:
        record = request.moves[move.id]
        missing = (approved.id, move.id) in turn.without
        claimed = (approved.id, move.id) in turn.claimed
        if record.final or (record.in_flight and not missing and not claimed):
            continue
        candidates.append(
            Candidate(
                approved=approved,
                move=move,
                record=record,
                request=request,
                intended=missing,
                claimed=claimed,
            )
        )
    return tuple(candidates)


def _targets(turn: _DecisionState) -> dict[str, str]:
    """Planned targets of own migrations, by VMIM UID."""
    return {
        record.migration_uid: record.to
        for request in turn.records.values()
        for record in request.moves.values()
        if record.in_flight
    }


def _hold_stale(
    turn: _DecisionState, candidates: tuple[Candidate, ...], stale: tuple[OutdatedGroup, ...]
) -> None:
    reasons = {(item.request, item.group): "; ".join(item.reasons) for item in stale}
    for candidate in candidates:
        reason = reasons.get((candidate.approved.id, candidate.move.group))
        record = candidate.record
        if reason is None or candidate.claimed:
            continue
        if record.state is not MoveState.HELD:  # its text changes with every byte of free memory
            event = move_event(
                turn.view, candidate.approved, candidate.move, MoveState.HELD, reason=reason
            )
            turn.add(event)


def _revert_announcements(
    turn: _DecisionState, candidates: tuple[Candidate, ...], waiting: tuple[Waiting, ...]
) -> None:
    """What was announced, and can neither come nor start now, is announced no more."""
    reasons = {(item.request, item.move): item.reason for item in waiting}
    for candidate in candidates:
        approved, move = candidate.approved, candidate.move
        reason = reasons.get((approved.id, move.id))
        state = turn.records[approved.id].moves[move.id].state
        if candidate.intended and reason is not None and state is MoveState.INTENDED:
            turn.add(
                move_event(
                    turn.view,
                    approved,
                    move,
                    MoveState.WAITING,
                    attempt=candidate.record.attempt,
                    reason=reason,
                )
            )


def _in_flight(turn: _DecisionState) -> int:
    return sum(turn.records[item.id].moves[move.id].in_flight for item, move, _ in turn.known)
