"""Concerns about VMs that are not home after a maintenance."""

from __future__ import annotations

from gitbot.execution.ledger_folds import (
    BUSY,
    fold_homes,
    fold_nodes,
    occurrences_of,
    window_as_merged,
)
from gitbot.execution.request_records import RequestRecord
from gitbot.intents import MaintenanceWindowSpec
from gitbot.kubernetes.names import NamespacedName
from gitbot.kubernetes.objects import uid_of
from gitbot.model.ledger.events import MoveState, NodeState
from gitbot.model.ledger.request_id import OccurrenceId, RequestId
from gitbot.model.plan.problem import Request, ReturnHome
from gitbot.model.text.canonical import digest
from gitbot.model.text.names import IntentRef
from gitbot.model.text.wording import first_of
from gitbot.workflows.propose.concerns.concern import (
    Concern,
    ConcernSources,
    concern_name,
    numbered,
    stale_moves,
)


def returns(sources: ConcernSources) -> list[Concern]:
    """One for each occurrence whose VMs are away from home while their nodes are back."""
    concerns = []
    for occurrence in occurrences_of(sources.ledger, sources.cluster):
        ref, return_home, apart = home_terms(sources, occurrence)
        homes = homes_due(sources, occurrence)
        planned = occurrence.homecoming
        record = sources.records.get(planned)
        open_vms = _open_vms(record) | _approved_vms(sources, planned, record)
        stale = {move.vm for move in stale_moves(sources, record)}
        due = {vm: node for vm, node in homes.items() if vm not in open_vms or vm in stale}
        if return_home == "Never" or not due:
            continue
        request = numbered(sources, Request(id=planned, intent=ref, allow_breach=apart))
        concerns.append(
            Concern(
                name=concern_name("return", occurrence.window, occurrence.id),
                intent=ref,
                goal=ReturnHome(request=request, homes=due),
                observation=digest([planned, {str(vm): node for vm, node in due.items()}]),
                why=f"bring {first_of(list(due), 3)} home after {occurrence.window}"
                + _staying_words(stay_away(sources, occurrence)),
                occurrence=occurrence.id,
                auto=return_home == "Auto" and sources.base.settings.allow_auto,
            )
        )
    return concerns


def home_terms(sources: ConcernSources, occurrence: OccurrenceId) -> tuple[IntentRef, str, int]:
    """The window of an occurrence, its `returnHome` and `allowBreach` in seconds.

    If it was removed: as it was merged, without `allowBreach`.
    """
    intent = sources.base.intents.find("MaintenanceWindow", occurrence.window)
    if intent is not None and isinstance(intent.spec, MaintenanceWindowSpec):
        return intent.ref, intent.spec.return_home, intent.spec.allow_breach
    begun = window_as_merged(sources.ledger, cluster=sources.cluster, occurrence=occurrence)
    ref = IntentRef(kind="MaintenanceWindow", namespace="", name=occurrence.window)
    return ref, begun.return_home if begun is not None else "Never", 0


def _open_vms(record: RequestRecord | None) -> set[NamespacedName]:
    """VMs whose return is approved, or was tried and failed: gitbot asks only once."""
    if record is None:
        return set()
    return {
        move.vm
        for move in record.moves.values()
        if not move.final or move.state in (MoveState.FAILED, MoveState.SUCCEEDED)
    }


def _approved_vms(
    sources: ConcernSources, planned: RequestId, record: RequestRecord | None
) -> set[NamespacedName]:
    """VMs of approved plans that the ledger has not accepted yet."""
    known = record.moves if record is not None else {}
    return {
        move.vm.namespaced_name
        for item in sources.approved
        if item.id == planned and not item.terms.void
        for move in item.moves
        if move.id not in known
    }


def homes_due(sources: ConcernSources, occurrence: OccurrenceId) -> dict[NamespacedName, str]:
    """VMs that may go home now, with their homes.

    The home is back, the VM is the same, and it is where gitbot put it: nobody else moved it, and
    nobody cancelled the return.
    """
    way_back = sources.records.get(occurrence.homecoming)
    if way_back is not None and way_back.cancelled:
        return {}
    nodes = fold_nodes(sources.ledger, cluster=sources.cluster, occurrence=occurrence)
    homes = fold_homes(sources.ledger, cluster=sources.cluster, occurrence=occurrence)
    landed = _landed(sources.records.get(occurrence.drain))
    if awaited_nodes(sources, occurrence):
        return {}
    facts = sources.facts
    due = {}
    for vm, home in homes.items():
        back = home in nodes and nodes[home].state is NodeState.RETURNED
        node, uid = landed.get(vm, ("", ""))
        same = uid_of(facts.instances.get(vm, {})) == uid and facts.node_of(vm) == node
        if back and node and node != home and same:
            due[vm] = home
    return due


def awaited_nodes(sources: ConcernSources, occurrence: OccurrenceId) -> tuple[str, ...]:
    """Nodes that must be back before any VM goes home: those of a drain in mode Together.

    After the time of the window, no VM waits any longer.
    """
    begun = window_as_merged(sources.ledger, cluster=sources.cluster, occurrence=occurrence)
    if begun is None or not begun.together or all(end <= sources.now for _, end in begun.allowed):
        return ()
    nodes = fold_nodes(sources.ledger, cluster=sources.cluster, occurrence=occurrence)
    return tuple(name for name in begun.nodes if name in nodes and nodes[name].state in BUSY)


def stay_away(sources: ConcernSources, occurrence: OccurrenceId) -> dict[NamespacedName, str]:
    """VMs that left a returned node and stay where they are, each with the reason."""
    nodes = fold_nodes(sources.ledger, cluster=sources.cluster, occurrence=occurrence)
    homes = fold_homes(sources.ledger, cluster=sources.cluster, occurrence=occurrence)
    landed = _landed(sources.records.get(occurrence.drain))
    brought = _open_vms(sources.records.get(occurrence.homecoming))
    facts, staying = sources.facts, {}
    for vm, home in homes.items():
        instance = facts.instances.get(vm)
        back = home in nodes and nodes[home].state is NodeState.RETURNED
        if instance is None or not back or vm not in landed or vm in brought:
            continue
        here, (node, uid) = facts.node_of(vm), landed[vm]
        if here == home:
            continue
        if uid_of(instance) != uid:
            staying[vm] = f"restarted on {here or 'no node'}"
        elif here != node:
            staying[vm] = f"moved to {here or 'no node'} by somebody else"
    return staying


def _staying_words(staying: dict[NamespacedName, str]) -> str:
    listed = tuple(f"{vm} ({why})" for vm, why in sorted(staying.items()))
    return f"; stay where they are: {first_of(listed, 20)}" if listed else ""


def _landed(record: RequestRecord | None) -> dict[NamespacedName, tuple[str, str]]:
    if record is None:
        return {}
    return {
        move.vm: (move.landed, move.vm_uid)
        for _, move in sorted(record.moves.items())
        if move.state is MoveState.SUCCEEDED
    }
