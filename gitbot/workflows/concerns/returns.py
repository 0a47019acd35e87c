"""Concerns about VMs that are not home after a maintenance."""

from __future__ import annotations

from gitbot.execution.requests import RequestRecord
from gitbot.execution.state import NodeState, fold_homes, fold_nodes
from gitbot.intents.kinds.maintenance_window import MaintenanceWindowSpec
from gitbot.model.canonical import digest
from gitbot.model.ledger import Ledger, MoveState
from gitbot.model.names import NamespacedName
from gitbot.model.objects import uid_of
from gitbot.model.problem import (
    Request,
    ReturnHome,
)
from gitbot.workflows.concerns.value import (
    Concern,
    Scene,
    concern_name,
    numbered,
    some,
    stale_moves,
)


def returns(scene: Scene, records: dict[str, RequestRecord]) -> list[Concern]:
    """One for each occurrence whose VMs are away from home while their nodes are back."""
    concerns = []
    for window, occurrence in _occurrences(scene.ledger, scene.cluster):
        intent = scene.base.intents.find("MaintenanceWindow", window)
        spec = intent.spec if intent is not None else None
        if intent is None or not isinstance(spec, MaintenanceWindowSpec):
            continue
        homes = homes_due(scene, records, window, occurrence)
        planned = f"return/{window}/{occurrence}"
        record = records.get(planned)
        open_vms = _open_vms(record) | _approved_vms(scene, planned, record)
        stale = {move.vm for move in stale_moves(scene, record)}
        due = {vm: node for vm, node in homes.items() if vm not in open_vms or vm in stale}
        if spec.return_home == "Never" or not due:
            continue
        request = numbered(Request(id=planned, intent=intent.ref), records)
        concerns.append(
            Concern(
                name=concern_name("return", window, occurrence),
                intent=intent.ref,
                goal=ReturnHome(request=request, homes=due),
                observation=digest([planned, {str(vm): node for vm, node in due.items()}]),
                why=f"bring {some(tuple(str(vm) for vm in due))} home after {window}"
                + _staying_words(stay_away(scene, records, window, occurrence)),
                occurrence=occurrence,
                auto=spec.return_home == "Auto" and scene.base.settings.allow_auto,
            )
        )
    return concerns


def _occurrences(ledger: Ledger, cluster: str) -> list[tuple[str, str]]:
    prefix = f"nodes/{cluster}/"
    files = {entry.file for entry in ledger.entries if entry.file.startswith(prefix)}
    pairs = [file.removeprefix(prefix).removesuffix(".jsonl").split("/") for file in files]
    return sorted((pair[0], pair[1]) for pair in pairs if len(pair) == 2)


def _open_vms(record: RequestRecord | None) -> set[NamespacedName]:
    """VMs whose way home is approved, or was tried and failed: nobody is asked twice."""
    if record is None:
        return set()
    return {
        move.vm
        for move in record.moves.values()
        if not move.final or move.state in (MoveState.FAILED, MoveState.SUCCEEDED)
    }


def _approved_vms(scene: Scene, planned: str, record: RequestRecord | None) -> set[NamespacedName]:
    """VMs of approved plans that the ledger has not accepted yet."""
    known = record.moves if record is not None else {}
    return {
        move.vm.namespaced_name
        for item in scene.approved
        if item.id == planned and not item.terms.void
        for move in item.moves
        if move.id not in known
    }


def homes_due(
    scene: Scene, records: dict[str, RequestRecord], window: str, occurrence: str
) -> dict[NamespacedName, str]:
    """VMs that may go home now, with their homes.

    The home is returned, the VM is the same, and it is where gitbot put it: nobody else moved it.
    """
    known = {"cluster": scene.cluster, "window": window, "occurrence": occurrence}
    nodes = fold_nodes(scene.ledger, **known)
    landed = _landed(records.get(f"drain/{window}/{occurrence}"))
    facts = scene.facts
    due = {}
    for vm, home in fold_homes(scene.ledger, **known).items():
        back = home in nodes and nodes[home].state is NodeState.RETURNED
        node, uid = landed.get(vm, ("", ""))
        same = uid_of(facts.instances.get(vm, {})) == uid and facts.node_of(vm) == node
        if back and node and node != home and same:
            due[vm] = home
    return due


def stay_away(
    scene: Scene, records: dict[str, RequestRecord], window: str, occurrence: str
) -> dict[NamespacedName, str]:
    """VMs that were moved off a returned node and are left where they are, each with the reason."""
    known = {"cluster": scene.cluster, "window": window, "occurrence": occurrence}
    nodes = fold_nodes(scene.ledger, **known)
    landed = _landed(records.get(f"drain/{window}/{occurrence}"))
    brought = _open_vms(records.get(f"return/{window}/{occurrence}"))
    facts, staying = scene.facts, {}
    for vm, home in fold_homes(scene.ledger, **known).items():
        instance = facts.instances.get(vm)
        back = home in nodes and nodes[home].state is NodeState.RETURNED
        if instance is None or not back or vm not in landed or vm in brought:
            continue
        here, (node, uid) = facts.node_of(vm), landed[vm]
        if here == home:
            continue
        if uid_of(instance) != uid:
            staying[vm] = f"started anew on {here or 'no node'}"
        elif here != node:
            staying[vm] = f"moved to {here or 'no node'} by somebody else"
    return staying


def _staying_words(staying: dict[NamespacedName, str]) -> str:
    listed = tuple(f"{vm} ({why})" for vm, why in sorted(staying.items()))
    return f"; stay where they are: {some(listed, most=20)}" if listed else ""


def _landed(record: RequestRecord | None) -> dict[NamespacedName, tuple[str, str]]:
    if record is None:
        return {}
    return {
        move.vm: (move.landed, move.vm_uid)
        for _, move in sorted(record.moves.items())
        if move.state is MoveState.SUCCEEDED
    }
