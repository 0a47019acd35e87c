"""Which moves start now: a greedy choice within time, order, limits and checks.

Pure. A move starts by a ledger line that announces and claims it, then by its VMIM. The cheap tests
(time, stop flag, nodes, predecessors, slots) run for each move; the constraints judge all chosen
moves together, by a replay of the whole cluster.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from gitbot.constraints.moves.instances import Instances
from gitbot.constraints.moves.under_way import target_pod_node
from gitbot.execution.claims import next_claim
from gitbot.execution.cluster_facts import ClusterFacts, Slots
from gitbot.execution.executor_types import (
    CreateMigration,
    Effect,
    ExecutorInput,
    OutdatedGroup,
    Waiting,
)
from gitbot.execution.ledger_folds import BUSY
from gitbot.execution.nodes import begin, home_event, nodes_of
from gitbot.execution.observe import move_event
from gitbot.execution.start_selection import (
    Candidate,
    Selection,
    Unfinished,
    attempt_of,
    effect_name,
)
from gitbot.execution.start_trials import refusals
from gitbot.execution.start_waits import claimed_wait, waiting_for, why_it_waits
from gitbot.execution.terminate import has_started, next_span
from gitbot.model.grouping import grouped
from gitbot.model.ledger.events import KnownEvent, MoveState, NodeState
from gitbot.model.ledger.request_id import RequestId
from gitbot.model.plan.plan import Move
from gitbot.model.struct import FrozenStruct

MOST_REFUSALS = 8  # by the checks in one selection: each costs a replay of the whole cluster


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

    def select(*, careful: bool) -> Selection:
        draft = Selection(
            slots=Slots(facts, view.problem.limits, targets),
            nodes={},
            candidates=candidates,
            unfinished=known,
            blocked=set(blocked),
            stopped=stopped,
            unplaced=unplaced,
            gate=view.gate,
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
    view: ExecutorInput, facts: ClusterFacts, draft: Selection, *, careful: bool
) -> Selection:
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
            draft.waiting.append(claimed_wait(candidate))
            continue
        waits = why_it_waits(view, facts, draft, candidate)
        if waits is None and careful and (why := _replay_refusal(view, facts, draft, candidate)):
            waits = waiting_for(candidate, why, retry=bool(facts.unfinished))
        if waits is None:
            _take(facts, draft, candidate)
        else:
            draft.waiting.append(waits)
    return draft


def _replay_refusal(
    view: ExecutorInput, facts: ClusterFacts, draft: Selection, candidate: Candidate
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
    view: ExecutorInput, facts: ClusterFacts, draft: Selection, chosen: Sequence[Candidate]
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


def _take(facts: ClusterFacts, draft: Selection, candidate: Candidate) -> None:
    move, approved = candidate.move, candidate.approved
    draft.slots.take(facts.node_of(move.vm.namespaced_name), move.to.node)
    draft.chosen.append(candidate)
    nodes = draft.nodes.get(approved.id, {})
    source, maintenance = nodes.get(move.takes_out(nodes)), approved.terms.maintenance
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
    draft: Selection,
    stale: tuple[OutdatedGroup, ...],
) -> Starts:
    events: list[KnownEvent] = []
    effects: list[Effect] = []
    for approved, node in draft.begins:
        events += begin(view, facts, approved, node, before=events)
    for candidate in draft.chosen:
        if candidate.claimed:
            continue
        attempt = attempt_of(candidate)
        move = _from_here(facts, candidate.move)
        span = next_span(view, candidate.approved, candidate.move, candidate.request)
        ends = span.end if span is not None else view.now
        claim = next_claim(view, candidate.record, ends=ends)
        name, state = str(effect_name(candidate)), MoveState.INTENDED
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


def _from_here(facts: ClusterFacts, move: Move) -> Move:
    found = facts.as_is(move)
    return replace(found, wave=0, starts=0) if found.wave or found.starts else found
