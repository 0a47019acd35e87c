"""The executor's draft: from approved plans, ledger and cluster to the next steps.

Pure: the same input gives the same steps. The workflow writes the events in one commit, performs
the effects in their order, reads the cluster again and decides again. Each function below adds its
events to the ledger of `_DecisionState`, so that later ones see them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from gitbot.execution.admit_plans import admit_plan, deduplicate, is_known
from gitbot.execution.claims import claim_expires_at, is_unsent
from gitbot.execution.cluster_facts import ClusterFacts, is_of_ledger, is_own, ledger_mark, vm_of
from gitbot.execution.executor_types import (
    Approved,
    Effect,
    ExecutorInput,
    MissingMigration,
    OutdatedGroup,
    Steps,
    Waiting,
)
from gitbot.execution.ledger_folds import breaker_event, breaker_reason, observed_migrations
from gitbot.execution.nodes import advance, cordon_holders, effects_due
from gitbot.execution.observe import Subject, move_event, observe
from gitbot.execution.request_records import MoveRecord, RequestRecord, fold_requests
from gitbot.execution.revalidate_groups import judge_groups
from gitbot.execution.start_selection import Candidate, Unfinished
from gitbot.execution.starts import choose_starts
from gitbot.execution.terminate import ending
from gitbot.kubernetes.names import NamespacedName
from gitbot.kubernetes.objects import KubernetesObject, at, name_of, uid_of
from gitbot.kubernetes.phases import is_final, phase_of
from gitbot.kubevirt.names import mover_of
from gitbot.model.ledger.events import ForeignMove, KnownEvent, MoveState
from gitbot.model.ledger.ledger import request_file
from gitbot.model.ledger.request_id import ObservedId, RequestId
from gitbot.model.plan.plan import Move

_Known = tuple[Approved, Move, RequestRecord]


@dataclass(slots=True, kw_only=True)
class _DecisionState:
    """One decision while it is made: the input, which grows by each event, and the results."""

    view: ExecutorInput
    facts: ClusterFacts
    events: list[KnownEvent] = field(default_factory=list)
    effects: list[Effect] = field(default_factory=list)
    without: set[tuple[RequestId, int]] = field(default_factory=set)  # intended, but no VMIM
    claimed: set[tuple[RequestId, int]] = field(default_factory=set)  # may still get its VMIM
    absent: list[MissingMigration] = field(default_factory=list)
    _folded: tuple[int, Mapping[RequestId, RequestRecord]] | None = None
    _known: tuple[int, list[_Known]] | None = None

    @property
    def records(self) -> Mapping[RequestId, RequestRecord]:
        if self._folded is None or self._folded[0] != len(self.events):
            folded = fold_requests(self.view.ledger, self.view.cluster)
            self._folded = (len(self.events), folded)
        return self._folded[1]

    def record(self, request: RequestId) -> RequestRecord:
        return self.records.get(request) or RequestRecord(id=request)

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
    """Starts are chosen last, so that they see the places and slots that outcomes have freed."""
    view = view.replace(approved=deduplicate(view.approved))
    draft = _DecisionState(view=view, facts=ClusterFacts.of(view.problem, view.migrations))
    for approved in view.approved:
        draft.add(*admit_plan(view, draft.records, approved))
    _observe_all(draft)
    _observe_foreign(draft)
    _break_circuit(draft)  # right after the outcomes: it must stop the starts of this decision
    _end_all(draft)
    _advance_nodes(draft)
    candidates = _candidates(draft)
    stale = view.denied
    # While migrations run, a group could be refused only because a move before it is not over.
    if view.judge_groups and not draft.facts.unfinished and not draft.claimed:
        stale = (*stale, *judge_groups(draft.view, draft.facts, candidates))
    starts = choose_starts(
        draft.view,
        draft.facts,
        candidates,
        unfinished=[
            Unfinished(approved=approved, move=move, runs=record.runs)
            for approved, move, request in draft.known
            if not (record := request.moves[move.id]).final
        ],
        targets=_targets(draft),
        stale=stale,
    )
    _hold_stale(draft, candidates, starts.stale)
    draft.add(*starts.events)
    _revert_announcements(draft, candidates, starts.waiting)
    held = cordon_holders(draft.view, drains := _drains(draft))
    for approved in drains:
        known = draft.record(approved.id)
        draft.effects += effects_due(draft.view, draft.facts, approved, known, held)
    draft.effects += starts.effects
    return Steps(
        events=tuple(draft.events),
        effects=tuple(draft.effects),
        stale=starts.stale,
        waiting=(*starts.waiting, *_unconsented(draft)),
        in_flight=_in_flight(draft),
        absent=tuple(draft.absent),
    )


def _unconsented(draft: _DecisionState) -> list[Waiting]:
    """Moves that the ledger does not have, because owners have not approved them."""
    return [
        Waiting(
            request=approved.id,
            move=move.id,
            vm=str(move.vm.namespaced_name),
            reason=approved.terms.consent,
        )
        for approved in draft.view.approved
        if approved.terms.consent and not approved.terms.void
        for move in approved.moves
        if not is_known(draft.record(approved.id), approved, move)
    ]


def _absent(view: ExecutorInput, record: MoveRecord) -> MissingMigration:
    """A migration that does not exist; `since` is 0 if it cannot be created any more at all."""
    settled = record.state is not MoveState.INTENDED or is_unsent(view, record)
    since = 0 if settled else claim_expires_at(record)
    return MissingMigration(name=NamespacedName.parse(record.migration), since=since)


def _accepted_moves(draft: _DecisionState) -> list[_Known]:
    records = draft.records
    known = []
    for approved in draft.view.approved:
        record = records.get(approved.id)
        if record is None:
            continue
        known += [
            (approved, move, record)
            for move in sorted(approved.moves, key=lambda move: (move.wave, move.id))
            if is_known(record, approved, move)
        ]
    return known


def _observe_all(draft: _DecisionState) -> None:
    for approved, move, request in draft.known:
        record = request.moves[move.id]
        if not record.in_flight:
            continue
        seen = observe(
            Subject(
                view=draft.view,
                facts=draft.facts,
                approved=approved,
                move=move,
                record=record,
                request=request,
            )
        )
        draft.add(*seen.events)
        draft.effects += seen.deletions
        if seen.claimed:
            draft.claimed.add((approved.id, move.id))
        if seen.absent:
            draft.absent.append(_absent(draft.view, record))
        if seen.missing:
            draft.without.add((approved.id, move.id))


def _observe_foreign(draft: _DecisionState) -> None:
    """Record each finished migration that is not this ledger's, once, by its VMIM UID.

    Another gitbot's VMIM is foreign too, even if its request has the same name.
    """
    records = draft.records.values()
    own = {name for item in records for move in item.moves.values() for name in move.effects}
    mark = ledger_mark(draft.view.ledger)
    over = [
        item
        for name, item in sorted(draft.facts.migrations.items())
        # Only finished ones: before that, target and outcome can still change.
        if is_final(item) and not (is_own(item) and is_of_ledger(item, mark) and str(name) in own)
    ]
    seen = observed_migrations(draft.view.ledger, draft.view.cluster) if over else frozenset()
    draft.add(*(_foreign_move(draft, item) for item in over if uid_of(item) not in seen))


def _foreign_move(draft: _DecisionState, migration: KubernetesObject) -> ForeignMove:
    vm = vm_of(migration)
    state = at(migration, "status", "migrationState", default={})
    target = str(at(state, "targetNode", default=""))
    request = ObservedId(vm=vm)
    return ForeignMove(
        file=request_file(draft.view.cluster, request),
        time=draft.view.now,
        cluster=draft.view.cluster,
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


def _break_circuit(draft: _DecisionState) -> None:
    view = draft.view
    reason = breaker_reason(view.ledger, view.cluster, now=view.now, limits=view.breaker)
    if not reason or view.stop:
        return
    draft.add(breaker_event(reason, cluster=view.cluster, now=view.now))
    draft.view = draft.view.replace(stop=reason)


def _end_all(draft: _DecisionState) -> None:
    """End pointless, late, void or stopped moves; if a group fails, all of its moves."""
    for approved, move, _ in draft.known:
        request = draft.records[approved.id]
        record = request.moves[move.id]
        never_created = (approved.id, move.id) in draft.without
        # A running VMIM cannot be ended by a ledger line; observe() deletes it if it must not run.
        if record.final or (record.in_flight and not never_created):
            continue
        event = ending(
            draft.view, draft.facts, approved, move, request, never_created=never_created
        )
        if event is not None:
            draft.add(event)


def _drains(draft: _DecisionState) -> tuple[Approved, ...]:
    """One plan for each occurrence with nodes: the newest, with what earlier ones still require."""
    drains: dict[RequestId, Approved] = {}
    for item in draft.view.approved:
        if item.terms.maintenance is not None:
            known = drains.get(item.id)
            drains[item.id] = item if known is None else _merge_drain_plans(known, item)
    return tuple(drains.values())


def _merge_drain_plans(earlier: Approved, newest: Approved) -> Approved:
    """The newest plan, perhaps of some nodes only, with the nodes and stays of an earlier one.

    A plan that may not start anything does not replace one that may; none of its nodes start.
    """
    first, other = newest, earlier
    if newest.terms.blocked_reason and not earlier.terms.blocked_reason:
        first, other = earlier, newest
    before, now = earlier.terms.maintenance, newest.terms.maintenance
    mine = first.terms.maintenance
    if before is None or now is None or mine is None or other.terms.void or other.terms.consent:
        return first
    moved = {move.vm.namespaced_name for move in newest.moves}
    # Nodes of a paused plan must not start, but their stays remain: those VMs may not block others.
    nodes = mine.nodes if other.terms.paused else (*before.nodes, *now.nodes)
    stays = (before.stays - moved) | now.stays
    both = replace(mine, nodes=tuple(dict.fromkeys(nodes)), stays=stays)
    return replace(first, terms=first.terms.replace(maintenance=both))


def _advance_nodes(draft: _DecisionState) -> None:
    for approved in _drains(draft):
        record = draft.record(approved.id)
        draft.add(*advance(draft.view, draft.facts, approved, record))


def _candidates(draft: _DecisionState) -> tuple[Candidate, ...]:
    """The moves that could start: neither ended nor running, in the order of the plans."""
    candidates = []
    for approved, move, request in draft.known:
        record = request.moves[move.id]
        missing = (approved.id, move.id) in draft.without
        claimed = (approved.id, move.id) in draft.claimed
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


def _targets(draft: _DecisionState) -> dict[str, str]:
    """Planned targets of own migrations, by VMIM UID."""
    return {
        record.migration_uid: record.to
        for request in draft.records.values()
        for record in request.moves.values()
        if record.in_flight
    }


def _hold_stale(
    draft: _DecisionState, candidates: tuple[Candidate, ...], stale: tuple[OutdatedGroup, ...]
) -> None:
    reasons = {(item.request, item.group): "; ".join(item.reasons) for item in stale}
    for candidate in candidates:
        reason = reasons.get((candidate.approved.id, candidate.move.group))
        record = candidate.record
        # A claimed move may get its VMIM at any moment, so it cannot be held any more.
        if reason is None or candidate.claimed:
            continue
        # Once only: the reason changes with every byte of free memory.
        if record.state is not MoveState.HELD:
            approved, move = candidate.approved, candidate.move
            draft.add(move_event(draft.view, approved, move, MoveState.HELD, reason=reason))


def _revert_announcements(
    draft: _DecisionState, candidates: tuple[Candidate, ...], waiting: tuple[Waiting, ...]
) -> None:
    """Revert announced moves that were never created and cannot start now."""
    reasons = {(item.request, item.move): item.reason for item in waiting}
    for candidate in candidates:
        approved, move = candidate.approved, candidate.move
        reason = reasons.get((approved.id, move.id))
        state = draft.records[approved.id].moves[move.id].state
        if candidate.intended and reason is not None and state is MoveState.INTENDED:
            draft.add(
                move_event(
                    draft.view,
                    approved,
                    move,
                    MoveState.WAITING,
                    attempt=candidate.record.attempt,
                    reason=reason,
                )
            )


def _in_flight(draft: _DecisionState) -> int:
    return sum(draft.records[item.id].moves[move.id].in_flight for item, move, _ in draft.known)
