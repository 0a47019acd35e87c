"""Why a move does not start now: time, stop flag, node, predecessor, cluster or slot.

These tests are cheap; `starts` asks the constraints afterwards.
"""

from __future__ import annotations

from functools import partial

from gitbot.constraints.moves.instances import Instances
from gitbot.execution.claims import claim_expires_at
from gitbot.execution.cluster_facts import ClusterFacts
from gitbot.execution.executor_types import FORBIDDEN, REFUSED, Approved, ExecutorInput, Waiting
from gitbot.execution.nodes import may_begin
from gitbot.execution.request_records import MoveRecord
from gitbot.execution.start_selection import Candidate, Selection, effect_name
from gitbot.execution.terminate import next_start
from gitbot.kubevirt.source_node import devices_missing, lost_of, silence_of
from gitbot.model.ledger.events import MoveState, NodeState
from gitbot.model.plan.plan import Move
from gitbot.model.plan.problem import Pin
from gitbot.model.text.instants import format_instant

BACK_OFF = 60  # seconds before a second attempt; doubles with every further one
LONGEST_BACK_OFF = 1800


def waiting_for(
    candidate: Candidate, reason: str, until: int = 0, *, retry: bool = False, opens: bool = False
) -> Waiting:
    move, vm = candidate.move, str(candidate.move.vm.namespaced_name)
    known = Waiting(request=candidate.approved.id, move=move.id, vm=vm, reason=reason)
    return known.replace(until=until, retry=retry, opens=opens)


def claimed_wait(candidate: Candidate) -> Waiting:
    record = candidate.record
    until = format_instant(claim_expires_at(record))
    who = record.claim.executor if record.claim is not None else ""
    what = f"it is announced: {f'executor {who}' if who else 'an executor'} may create it"
    return waiting_for(candidate, f"{what} until {until}", retry=True)


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


def why_it_waits(
    view: ExecutorInput, facts: ClusterFacts, draft: Selection, candidate: Candidate
) -> Waiting | None:
    """Why the move does not start now; None if it does, as far as the cheap tests know."""
    move, approved, record = candidate.move, candidate.approved, candidate.record
    waits = partial(waiting_for, candidate)
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
    if str(effect_name(candidate)) in view.unanswered:
        return waits("the API server answers no request for its migration")
    awaited = _predecessor(candidate, draft) or _name_taken(facts, candidate)
    return waits(awaited) if awaited else _wait_for_cluster(view, facts, draft, candidate)


def _wait_for_cluster(
    view: ExecutorInput, facts: ClusterFacts, draft: Selection, candidate: Candidate
) -> Waiting | None:
    """What the move waits for on the cluster: another migration, a node, or a slot."""
    move = candidate.move
    other = facts.in_flight(move.vm.namespaced_name)
    if other is not None:
        name = other["metadata"]["name"]
        return waiting_for(candidate, f"another migration of the VM is running: {name}", retry=True)
    here = facts.node_of(move.vm.namespaced_name)
    # A VMIM of a node whose kubelet or virt-handler is silent waits, and then fails.
    node = facts.nodes.get(here, {})
    silence = silence_of(node) or _lost_target(facts, move)
    if silence:
        handler = Instances.of(view.problem.snapshot).handlers.get(here)
        missing = ": ".join(filter(None, devices_missing(node, handler, view.now)))
        return waiting_for(candidate, silence if lost_of(node) else missing or silence)
    full = draft.slots.refusal(here, move.to.node)
    return waiting_for(candidate, full, retry=True) if full else None


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
    name = effect_name(candidate)
    taken = name in facts.migrations
    return f"a migration named {name} is not gitbot's" if taken else ""


def _node_gate(draft: Selection, candidate: Candidate) -> str:
    maintenance = candidate.approved.terms.maintenance
    nodes = draft.nodes.get(candidate.approved.id)
    if maintenance is None or nodes is None:
        return ""
    move = candidate.move
    for each in _starts_with(draft, candidate):
        target = each.to.node
        if each.after_return and target in nodes and nodes[target].state is not NodeState.RETURNED:
            return f"{target} must return first"
    out = move.takes_out(nodes)
    return may_begin(nodes, out, maintenance, gate=draft.gate) if out else ""


def _starts_with(draft: Selection, candidate: Candidate) -> tuple[Move, ...]:
    """The move, and those that move with it as one: all wait for every node that one waits for."""
    if not candidate.move.as_one:
        return (candidate.move,)
    unit = (candidate.approved.id, candidate.move.group)
    return tuple(
        item.move
        for item in draft.candidates
        if (item.approved.id, item.move.group) == unit and item.move.as_one
    )


def _predecessor(candidate: Candidate, draft: Selection) -> str:
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


def _not_blocking(approved: Approved, draft: Selection) -> frozenset[int]:
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
