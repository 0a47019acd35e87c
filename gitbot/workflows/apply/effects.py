"""Performs one effect on the cluster, and reports outcomes of moves to the ledger and to people."""

from __future__ import annotations

from gitbot.errors import (
    ClusterError,
    ClusterForbidden,
    ClusterRefused,
    GitbotError,
    NotSent,
    OutcomeUnknown,
)
from gitbot.execution.cluster_facts import LEDGER, is_of_ledger, ledger_mark
from gitbot.execution.executor_types import (
    FORBIDDEN,
    REFUSED,
    STORED_DIFFERENTLY,
    STORED_OTHERWISE,
    CreateMigration,
    DeleteMigration,
    Effect,
    ExecutorInput,
    LabelNode,
    SetUnschedulable,
)
from gitbot.execution.terminate import reason_not_to_send
from gitbot.kubernetes.names import NamespacedName
from gitbot.kubernetes.objects import KubernetesObject, annotations_of, at, name_of, uid_of
from gitbot.kubevirt.admission import IN_FLIGHT
from gitbot.model.ledger.events import KnownEvent, MoveChanged, MoveEvent, MoveState
from gitbot.model.ledger.ledger import Ledger
from gitbot.model.text.wording import shortened
from gitbot.ports.cluster import EVENT_SOURCE
from gitbot.workflows.apply.held_claims import HeldClaim, HeldClaims
from gitbot.workflows.apply.result import NodeDone
from gitbot.workflows.core.context import RunContext
from gitbot.workflows.core.revision_engine import RevisionEngine

MAY_PASS = frozenset({404, 409, 410, 429})
"""Refusals that another attempt may pass: a namespace or CRD that is being created or updated, a
name that is taken, a version that is gone, a server that is busy. All others end the attempt:
400 and 422 mean that the request is wrong, 403 that a webhook forbids it. A missing right makes
only its move wait; 401 ends the pass.
"""
QUOTA = ("exceeded quota: ", "status unknown for quota: ")
"""Words of a 403 of a ResourceQuota. It may pass later: finished migrations fill the quota, too.

kubernetes/kubernetes: staging/src/k8s.io/apiserver/pkg/admission/plugin/resourcequota
"""
IDENTITY = tuple(f"placement.gitbot.dev/{key}" for key in ("request", "move", "attempt"))


def perform_effect(
    shell: RunContext, base: RevisionEngine, effect: Effect, tickets: HeldClaims, ledger: Ledger
) -> tuple[MoveChanged, ...]:
    """Send the effect once (cordons excepted). Raises ClusterError if it failed for certain."""
    match effect:
        case CreateMigration():
            wanted = _marked(base.manifest(effect), ledger)
            return _create(shell, wanted, effect, tickets.of(effect))
        case DeleteMigration():
            _delete(shell, effect)
        case LabelNode():
            _label(shell, effect)
    return ()


def cordon(shell: RunContext, effect: SetUnschedulable) -> tuple[NodeDone, ...]:
    """Cordon or uncordon. If another cordon is on the node, the next read records that."""
    if shell.cluster.set_unschedulable(effect.node, effect.unschedulable, effect.labels):
        done = NodeDone.of(effect)
        shell.say(f"{effect.node} {done.did}", request=effect.request)
        return (done,)
    shell.say(f"{effect.node} stays cordoned: somebody else did it", request=effect.request)
    return ()


def reason_to_skip(
    shell: RunContext, view: ExecutorInput, ledger: Ledger, effect: CreateMigration
) -> str:
    """Why a decided creation is not sent, or ""; the next read of the cluster decides again."""
    try:
        instance = shell.cluster.get_instance(effect.move.vm.namespaced_name)
    except ClusterError as error:
        return f"the VM cannot be read: {error}"
    return reason_not_to_send(view, ledger, effect, instance, shell.clock.now())


def _create(
    shell: RunContext, wanted: KubernetesObject, effect: CreateMigration, ticket: HeldClaim
) -> tuple[MoveChanged, ...]:
    if str(name_of(wanted)) != effect.event.migration:
        message = f"the manifest is named {name_of(wanted)}, the ledger {effect.event.migration}"
        raise ClusterRefused(f"BUG: {message}", code=0, reason="Name")
    try:
        stored = shell.cluster.create_migration(wanted, gate=ticket.gate)
    except OutcomeUnknown as error:
        return _after_trouble(shell, effect, wanted, error)
    except ClusterError as error:
        ticket.refused()
        if isinstance(error, NotSent) and ticket.late():
            shell.say(f"{effect.event.vm} is not moved: {error}", request=effect.approved.id)
            return ()
        if isinstance(error, ClusterForbidden):  # a right in one namespace: the others go on
            return (waits(shell, effect, str(error), FORBIDDEN),)
        if not isinstance(error, ClusterRefused):
            raise
        return _after_trouble(shell, effect, wanted, error)
    return (_stored(shell, effect, stored, wanted),)


def _marked(manifest: KubernetesObject, ledger: Ledger) -> KubernetesObject:
    """Adds the mark of this ledger: another gitbot on the cluster may use the same VMIM name."""
    annotations = {**annotations_of(manifest), LEDGER: ledger_mark(ledger)}
    return {**manifest, "metadata": {**manifest["metadata"], "annotations": annotations}}


def _after_trouble(
    shell: RunContext,
    effect: CreateMigration,
    wanted: KubernetesObject,
    error: ClusterRefused | OutcomeUnknown,
) -> tuple[MoveChanged, ...]:
    """Read first: this process or another one may have created the VMIM already."""
    found = shell.cluster.get_migration(name_of(wanted))
    if found is not None and _is_effect(found, wanted):
        return (_stored(shell, effect, found, wanted),)
    # a lost request may still arrive, even if the name is taken now
    if isinstance(error, OutcomeUnknown):
        shell.say(f"{effect.event.vm}: {error}", request=effect.approved.id)
        return ()  # the next read of the cluster decides
    if found is not None:
        return (waits(shell, effect, f"a migration named {name_of(wanted)} is not gitbot's"),)
    if IN_FLIGHT in error.message:
        shell.say(f"{effect.event.vm} waits: {error.message}", request=effect.approved.id)
        return ()
    if error.code in MAY_PASS or any(words in error.message for words in QUOTA):
        return (waits(shell, effect, error.message),)
    return (_failed(shell, effect, error.message),)


def _is_effect(found: KubernetesObject, wanted: KubernetesObject) -> bool:
    have, want = annotations_of(found), annotations_of(wanted)
    if not is_of_ledger(found, want[LEDGER]):
        return False
    return all(have.get(key) == want.get(key) for key in IDENTITY)


def waits(
    shell: RunContext, effect: CreateMigration, reason: str, outcome: str = REFUSED
) -> MoveChanged:
    """The line of a move that was announced and is not sent: it is tried again later."""
    now = _tell(shell, effect, MoveState.WAITING, f"waits: {reason}")
    return effect.event.replace(
        state=MoveState.WAITING, time=now, outcome=outcome, reason=reason, claim=None
    )


def _stored(
    shell: RunContext, effect: CreateMigration, stored: KubernetesObject, wanted: KubernetesObject
) -> MoveChanged:
    """The VMIM exists. If its spec differs, the next step deletes it, once it is recorded.

    If it were deleted first, nothing would show that this attempt was used up.
    """
    same = at(stored, "spec", default={}) == at(wanted, "spec", default={})
    now = _tell(shell, effect, MoveState.CREATED, "created" if same else STORED_OTHERWISE)
    return effect.event.replace(
        state=MoveState.CREATED,
        time=now,
        migration_uid=uid_of(stored),
        outcome="" if same else STORED_DIFFERENTLY,
        reason="" if same else STORED_OTHERWISE,
        claim=None,
    )


def _failed(shell: RunContext, effect: CreateMigration, reason: str) -> MoveChanged:
    now = _tell(shell, effect, MoveState.FAILED, f"refused: {reason}")
    return effect.event.replace(
        state=MoveState.FAILED, time=now, outcome=REFUSED, reason=reason, claim=None
    )


def _tell(shell: RunContext, effect: CreateMigration, state: MoveState, words: str) -> int:
    """Report the outcome of a creation; returns the time of its ledger line."""
    event = effect.event
    text = f"{event.vm}: {event.source} -> {event.to} {words}"
    facts = _facts(event)
    shell.say(text, request=effect.approved.id, vm=event.vm, state=str(state), facts=facts)
    return shell.clock.now()


def _delete(shell: RunContext, effect: DeleteMigration) -> None:
    name = NamespacedName.parse(effect.name)
    shell.cluster.delete_migration(name, uid=effect.uid)
    shell.say(f"{effect.name} withdrawn: {effect.reason}", request=effect.request)


def _label(shell: RunContext, effect: LabelNode) -> None:
    """Labels only inform: if the server refuses one, the maintenance goes on."""
    try:
        shell.cluster.patch_node_labels(effect.node, effect.labels)
    except (ClusterForbidden, ClusterRefused) as error:
        shell.say(f"{effect.node} is not labelled: {error}")


def report_moves(shell: RunContext, events: tuple[KnownEvent, ...]) -> None:
    """Report the changes of moves, except announcements."""
    for event in events:
        if not isinstance(event, MoveEvent) or event.state is MoveState.INTENDED:
            continue
        state = str(event.state)
        words = [f"{event.vm}: {event.source} -> {event.landed or event.to} {state}"]
        words += [event.reason] if event.reason and isinstance(event, MoveChanged) else []
        text, facts = ": ".join(words), _facts(event)
        shell.say(text, request=event.request, vm=event.vm, state=state, facts=facts)


def _facts(event: MoveEvent) -> dict[str, str]:
    """Who let a move happen, and its migration: what a log line has besides its text."""
    found = {
        "pullRequest": str(event.pull_request or ""),
        "merger": event.merger,
        "approvers": ",".join(event.approvers),
        "plan": event.digest,
        "migration": event.migration,
    }
    return {key: value for key, value in found.items() if value}


def with_last_event(shell: RunContext, event: KnownEvent) -> KnownEvent:
    """Adds the newest warning about its VMIM or VMI to the event of a failed move."""
    if not isinstance(event, MoveChanged) or event.state is not MoveState.FAILED:
        return event
    if not event.migration or event.note:
        return event
    abouts = (NamespacedName.parse(event.migration), NamespacedName.parse(event.vm))
    try:
        seen = [item for about in abouts for item in shell.cluster.list_events(about)]
    except GitbotError:
        return event
    seen = [item for item in seen if at(item, "source", "component") != EVENT_SOURCE]
    warned = (item for item in seen if str(at(item, "type")) == "Warning")
    warnings = [str(at(item, "message", default="")) for item in warned]
    return event.replace(note=shortened(warnings[-1], 500)) if warnings else event
