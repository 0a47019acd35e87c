"""What the cluster shows about running moves, as ledger events and deletions.

An absent VMIM proves little: KubeVirt collects finished ones, another executor may still create it,
and the objects of one read are not of the same moment. Each function says which trace it trusts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gitbot.execution.claims import is_free
from gitbot.execution.cluster_facts import (
    ClusterFacts,
    is_of_ledger,
    is_own,
    ledger_mark,
    new_breaches,
)
from gitbot.execution.executor_types import (
    STORED_DIFFERENTLY,
    STORED_OTHERWISE,
    Approved,
    DeleteMigration,
    ExecutorInput,
)
from gitbot.execution.request_records import MoveRecord, RequestRecord
from gitbot.kubernetes.names import NamespacedName
from gitbot.kubernetes.objects import KubernetesObject, at, uid_of
from gitbot.kubernetes.phases import phase_of
from gitbot.model.ledger.events import FINAL_STATES, MoveChanged, MoveState
from gitbot.model.ledger.ledger import request_file
from gitbot.model.plan.plan import Move

UNEXPECTED = "unexpected-landing"
VANISHED = "vanished"
RECALLED = {
    "withdrawing": MoveState.WITHDRAWN,
    "expiring": MoveState.EXPIRED,
    "overdue": MoveState.FAILED,
    STORED_DIFFERENTLY: MoveState.FAILED,
}
"""Outcomes of moves whose VMIM gitbot deletes, and the state in which they end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """One running move: what was approved, and what the ledger knows about it."""

    view: ExecutorInput
    facts: ClusterFacts
    approved: Approved
    move: Move
    record: MoveRecord
    request: RequestRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """What one read shows: events and deletions. `missing`: the VMIM was never created.

    `absent`: the conclusion holds only if the VMIM does not exist, so the workflow asks for it by
    name. `claimed`: its claimer may still create it, so nothing can be concluded.
    """

    events: tuple[MoveChanged, ...] = ()
    deletions: tuple[DeleteMigration, ...] = ()
    missing: bool = False
    absent: bool = False
    claimed: bool = False


def move_fields(view: ExecutorInput, approved: Approved, move: Move) -> dict[str, Any]:
    """The fields that `MoveApproved` and `MoveChanged` share: the move, and who approved it."""
    approval = approved.approval
    return {
        "file": request_file(view.cluster, approved.id),
        "time": view.now,
        "cluster": view.cluster,
        "request": approved.id,
        "vm": str(move.vm.namespaced_name),
        "vm_uid": move.vm.uid,
        "move": move.id,
        "to": move.to.node,
        "author": approval.author,
        "approvers": approval.approvers,
        "merger": approval.merger,
        "pull_request": approval.pull_request,
        "commit": approval.commit,
        "digest": approval.digest,
    }


def move_event(
    view: ExecutorInput,
    approved: Approved,
    move: Move,
    state: MoveState,
    *,
    attempt: int = 0,
    source: str = "",
    landed: str = "",
    reason: str = "",
    migration: str = "",
    migration_uid: str = "",
    outcome: str = "",
    seconds: int = 0,
) -> MoveChanged:
    """An event of one move with its identity. Pass `source` if it is not the planned one."""
    return MoveChanged(
        **move_fields(view, approved, move),
        state=state,
        attempt=attempt,
        source=source or move.source.node,
        landed=landed,
        reason=reason,
        migration=migration,
        migration_uid=migration_uid,
        outcome=outcome,
        seconds=seconds,
    )


def observe(subject: Subject) -> Observation:
    name = NamespacedName.parse(subject.record.migration)
    migration = subject.facts.migrations.get(name)
    if _may_come(subject, migration):
        return Observation(claimed=True)
    if migration is None or not _is_ours(subject, migration):
        event = _without_migration(subject)
        in_pods = subject.record.state is MoveState.INTENDED and _in_pods(subject)
        absent = migration is None and not in_pods
        events = () if event is None else (event,)
        return Observation(events=events, missing=event is None, absent=absent)
    match phase_of(migration):
        case "Succeeded":
            # Without a place it cannot be judged; the next read has it.
            known = _landing(subject, migration)
            return Observation(events=(_landed(subject, migration),) if known else ())
        case "Failed":
            return Observation(events=(_failed(subject, migration),))
        case phase:
            recall = _recall(subject, migration, phase)
            if recall is not None:
                return _withdraw(subject, migration, recall)
            return Observation(events=_progress(subject, migration, phase))


def _may_come(subject: Subject, migration: KubernetesObject | None) -> bool:
    """Whether the migration may still be created: announced, claimed, and no trace of it yet."""
    record = subject.record
    if record.state is not MoveState.INTENDED or is_free(subject.view, record):
        return False
    if migration is not None:
        # A foreign migration has the name now. If it is deleted, the claimer can still create ours.
        return not _is_ours(subject, migration)
    return not _in_pods(subject)


def _in_pods(subject: Subject) -> bool:
    """Whether a launcher pod has the migration's name in a label: then it was created.

    If a foreign migration has the name now, the pod may belong to that one.
    """
    name = NamespacedName.parse(subject.record.migration)
    known = (name.namespace, name.name) in subject.facts.job_names
    return known and name not in subject.facts.migrations


def _changed(
    subject: Subject,
    state: MoveState,
    *,
    uid: str = "",
    landed: str = "",
    reason: str = "",
    outcome: str = "",
) -> MoveChanged:
    """An event of the current attempt; `uid` is that of its VMIM, if it was unknown before."""
    record = subject.record
    since = record.created_at or record.intended_at
    return move_event(
        subject.view,
        subject.approved,
        subject.move,
        state,
        attempt=record.attempt,
        source=record.source,
        landed=landed,
        reason=reason,
        migration=record.migration,
        migration_uid=uid or record.migration_uid,
        outcome=outcome,
        seconds=max(0, subject.view.now - since) if state in FINAL_STATES else 0,
    )


def _is_ours(subject: Subject, migration: KubernetesObject) -> bool:
    ours = is_own(migration) and is_of_ledger(migration, ledger_mark(subject.view.ledger))
    return ours and subject.record.migration_uid in ("", uid_of(migration))


def _restarted(subject: Subject) -> bool:
    instance = subject.facts.instances.get(subject.record.vm)
    return instance is not None and uid_of(instance) != subject.record.vm_uid


def _progress(subject: Subject, migration: KubernetesObject, phase: str) -> tuple[MoveChanged, ...]:
    state = MoveState.CREATED if phase in ("", "Pending") else MoveState.RUNNING
    known = subject.record.state
    if known is state or known is MoveState.RUNNING:
        return ()
    return (_changed(subject, state, uid=uid_of(migration)),)


def _landing(subject: Subject, migration: KubernetesObject | None) -> str:
    """The VM's node after a successful migration; "" if nothing shows it yet.

    If the VMI is still on its source, it was read before the VMIM was. virt-controller fills the
    VMIM's migrationState a moment after its phase.
    """
    node = subject.facts.node_of(subject.record.vm)
    if migration is None or node not in ("", subject.record.source):
        return node
    return str(at(migration, "status", "migrationState", "targetNode", default=""))


def _landed(subject: Subject, migration: KubernetesObject | None) -> MoveChanged:
    record, facts = subject.record, subject.facts
    landed = _landing(subject, migration)
    uid = uid_of(migration) if migration else record.migration_uid
    if _restarted(subject):
        reason = "the VM was restarted: the migration moved another VM than was approved"
        return _changed(subject, MoveState.OBSOLETE, landed=landed, uid=uid, reason=reason)
    if not facts.satisfies(landed, subject.move):
        reason = f"landed on {landed or 'no known node'}, which is not what was approved"
    else:
        problem, follow = subject.view.problem, _followers(subject)
        breaches = new_breaches(problem, facts, record.vm, record.source, follow)
        reason = breaches[0].message if breaches else ""
    state = MoveState.FAILED if reason else MoveState.SUCCEEDED
    outcome = UNEXPECTED if reason else "Succeeded"
    return _changed(subject, state, outcome=outcome, landed=landed, uid=uid, reason=reason)


def _followers(subject: Subject) -> Mapping[NamespacedName, str]:
    """The VMs that still move as one with this one from their sources, with their targets.

    The rule that keeps them together is broken until the last has landed, as the plan said.
    """
    move, facts, known = subject.move, subject.facts, subject.request.moves
    others = (
        other
        for other in subject.approved.moves
        if other.group == move.group and move.as_one and other.as_one
    )
    return {
        vm: other.to.node
        for other in others
        if (vm := other.vm.namespaced_name) != subject.record.vm
        and facts.node_of(vm) == other.source.node
        and (record := known.get(other.id)) is not None
        and not record.final
    }


def _failed(subject: Subject, migration: KubernetesObject) -> MoveChanged:
    if subject.record.outcome in RECALLED:
        return _recalled(subject)
    why = str(at(migration, "status", "migrationState", "failureReason", default=""))
    return _changed(
        subject,
        MoveState.FAILED,
        uid=uid_of(migration),
        outcome="Failed",
        reason=why or "KubeVirt says Failed without a reason",
    )


def _recalled(subject: Subject) -> MoveChanged:
    record = subject.record
    return _changed(subject, RECALLED[record.outcome], outcome=record.outcome, reason=record.reason)


def _without_migration(subject: Subject) -> MoveChanged | None:
    """The outcome of a VMIM that does not exist; None if it was never created.

    KubeVirt keeps only five finished VMIMs of a VM, and none of a deleted VM. Two traces outlast
    it: the VMI records its last migration, and launcher pods have the name of theirs.
    """
    record, facts = subject.record, subject.facts
    instance = facts.instances.get(record.vm)
    if instance is None or uid_of(instance) != record.vm_uid:
        what = "the VM is gone" if instance is None else "the VM was restarted"
        return _changed(subject, MoveState.OBSOLETE, reason=what)
    moved = at(instance, "status", "migrationState", default={})
    remembered = bool(record.migration_uid) and at(moved, "migrationUid") == record.migration_uid
    if remembered and at(moved, "completed") and not at(moved, "failed"):
        return _landed(subject, None)
    if record.state is MoveState.INTENDED and not _in_pods(subject):
        return None
    node = facts.node_of(record.vm)
    if node != record.source and facts.satisfies(node, subject.move):
        reason = (
            f"the VM is on {node} already, and no migration of gitbot's is known to have moved it"
        )
        return _changed(subject, MoveState.OBSOLETE, landed=node, reason=reason)
    if record.outcome in RECALLED:
        return _recalled(subject)
    why = str(at(moved, "failureReason", default="")) if remembered else ""
    why = why or f"somebody deleted {record.migration}: gitbot does not create it again"
    return _changed(subject, MoveState.WITHDRAWN, outcome=VANISHED, reason=why)


def _withdraw(
    subject: Subject, migration: KubernetesObject, recall: tuple[str, str]
) -> Observation:
    """The ledger line (once) and the deletion (repeated until the server accepts it)."""
    if at(migration, "metadata", "deletionTimestamp"):
        return Observation()
    outcome, reason = recall
    record = subject.record
    state = MoveState.CREATED if record.state is MoveState.INTENDED else record.state
    uid = uid_of(migration)
    event = _changed(subject, state, uid=uid, outcome=outcome, reason=reason)
    deletion = DeleteMigration(
        request=subject.approved.id, name=record.migration, uid=uid, reason=reason
    )
    known = record.outcome in RECALLED
    return Observation(events=() if known else (event,), deletions=(deletion,))


def _recall(subject: Subject, migration: KubernetesObject, phase: str) -> tuple[str, str] | None:
    """Outcome and reason if gitbot must delete its own unfinished VMIM; None if it may go on."""
    if subject.record.outcome in RECALLED:
        return subject.record.outcome, subject.record.reason
    if subject.request.cancelled:
        return "withdrawing", f"the request was cancelled: {subject.request.cancelled}"
    # KubeVirt is copying memory: only a person's cancel stops it now.
    if phase not in ("", "Pending"):
        return None
    if at(migration, "spec", "addedNodeSelector", default={}) != subject.move.added_node_selector:
        return STORED_DIFFERENTLY, STORED_OTHERWISE
    if _restarted(subject):
        return "withdrawing", "the VM was restarted since the plan was made"
    if subject.approved.terms.void:
        return "withdrawing", subject.approved.terms.void
    return _overdue(subject)


def _overdue(subject: Subject) -> tuple[str, str] | None:
    """Outcome and reason if a migration that has not begun must not begin any more."""
    view, record, terms = subject.view, subject.record, subject.approved.terms
    ends = [span.end for span in terms.allowed if span.contains(view.now)]
    if not terms.finish and not ends:
        return "expiring", "its allowed time is over and it has not begun"
    if not terms.finish and view.now + subject.move.estimated_seconds > max(ends):
        return "expiring", "it has not begun, and would not end within its allowed time"
    for freeze in view.problem.freezes:
        if record.vm in freeze.vms and any(span.contains(view.now) for span in freeze.times):
            return "withdrawing", f"freeze {freeze.intent.name}: {freeze.reason}"
    since = record.created_at or record.intended_at
    if since and view.now - since > view.pending_timeout:
        return "overdue", f"it has not begun within {view.pending_timeout} s"
    return None
