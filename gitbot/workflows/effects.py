"""Doing one effect on the cluster, and the ledger line that says what came of it."""

from __future__ import annotations

from dataclasses import replace

from gitbot.errors import ClusterForbidden, ClusterRefused, OutcomeUnknown
from gitbot.execution.values import (
    CreateMigration,
    DeleteMigration,
    Effect,
    LabelNode,
    SetUnschedulable,
)
from gitbot.model.ledger import Entry, MoveState
from gitbot.model.names import NamespacedName
from gitbot.model.objects import KubernetesObject, annotations_of, at, name_of, uid_of
from gitbot.workflows.shell import Base, Shell

IDENTITY = tuple(f"placement.gitbot.dev/{key}" for key in ("request", "move", "attempt"))


def do_effect(shell: Shell, base: Base, effect: Effect) -> tuple[Entry, ...]:
    """Do it once. ClusterError where nothing is known to have come of it but a failure."""
    match effect:
        case CreateMigration():
            return _create(shell, base, effect)
        case DeleteMigration():
            _delete(shell, effect)
        case SetUnschedulable():
            shell.cluster.set_unschedulable(effect.node, effect.unschedulable)
            what = "cordoned" if effect.unschedulable else "uncordoned"
            shell.say(f"{effect.node} {what}", request=effect.request)
        case LabelNode():
            _label(shell, effect)
    return ()


def _create(shell: Shell, base: Base, effect: CreateMigration) -> tuple[Entry, ...]:
    wanted = base.manifest(effect)
    if str(name_of(wanted)) != effect.entry.migration:
        message = f"the manifest is named {name_of(wanted)}, the ledger {effect.entry.migration}"
        raise ClusterRefused(f"BUG: {message}", code=0, reason="Name")
    try:
        stored = shell.cluster.create_migration(wanted)
    except ClusterForbidden:
        raise
    except (ClusterRefused, OutcomeUnknown) as error:
        return _after_trouble(shell, effect, wanted, error)
    if at(stored, "spec", default={}) != at(wanted, "spec", default={}):
        shell.cluster.delete_migration(name_of(stored), uid=uid_of(stored))
        return (_failed(shell, effect, "the server stored another spec than was sent"),)
    return (_created(shell, effect, stored),)


def _after_trouble(
    shell: Shell,
    effect: CreateMigration,
    wanted: KubernetesObject,
    error: ClusterRefused | OutcomeUnknown,
) -> tuple[Entry, ...]:
    """Read before anything else: the effect may be there, by us or by another run."""
    found = shell.cluster.get_migration(name_of(wanted))
    if found is not None and _is_same(found, wanted):
        return (_created(shell, effect, found),)
    if found is not None:
        return (_failed(shell, effect, f"a migration named {name_of(wanted).name} is not ours"),)
    if isinstance(error, OutcomeUnknown):
        return ()  # the next look decides
    if "in-flight" in error.message or "in flight" in error.message:
        shell.say(f"{effect.entry.vm} waits: {error.message}", request=effect.approved.id)
        return ()
    return (_failed(shell, effect, error.message),)


def _is_same(found: KubernetesObject, wanted: KubernetesObject) -> bool:
    have, want = annotations_of(found), annotations_of(wanted)
    same = all(have.get(key) == want.get(key) for key in IDENTITY)
    return same and at(found, "spec", default={}) == at(wanted, "spec", default={})


def _created(shell: Shell, effect: CreateMigration, stored: KubernetesObject) -> Entry:
    entry = effect.entry
    shell.say(
        f"{entry.vm}: {entry.source} -> {entry.to} created",
        request=effect.approved.id,
        vm=entry.vm,
        state=str(MoveState.CREATED),
    )
    return replace(
        entry,
        state=str(MoveState.CREATED),
        time=shell.clock.now(),
        migration_uid=uid_of(stored),
    )


def _failed(shell: Shell, effect: CreateMigration, reason: str) -> Entry:
    entry = effect.entry
    shell.say(
        f"{entry.vm}: {entry.source} -> {entry.to} refused: {reason}",
        request=effect.approved.id,
        vm=entry.vm,
        state=str(MoveState.FAILED),
    )
    return replace(
        entry,
        state=str(MoveState.FAILED),
        time=shell.clock.now(),
        outcome="Refused",
        reason=reason,
    )


def _delete(shell: Shell, effect: DeleteMigration) -> None:
    name = NamespacedName.parse(effect.name)
    shell.cluster.delete_migration(name, uid=effect.uid)
    shell.say(f"{effect.name} withdrawn: {effect.reason}", request=effect.request)


def _label(shell: Shell, effect: LabelNode) -> None:
    """Labels tell others; a missing right to set them stops no maintenance."""
    try:
        shell.cluster.patch_node_labels(effect.node, effect.labels)
    except ClusterForbidden as error:
        shell.say(f"{effect.node} is not labelled: {error}")
