"""Concerns about windows that are announced: empty these nodes."""

from __future__ import annotations

from dataclasses import replace

from gitbot.calendar import local_text
from gitbot.execution.ledger_folds import BUSY, fold_nodes
from gitbot.execution.request_records import RequestRecord
from gitbot.intents import Intent, MaintenanceWindowSpec
from gitbot.intents.compile import Opening, compile_drain
from gitbot.kubernetes.objects import uid_of
from gitbot.model.ledger.request_id import RequestId
from gitbot.model.plan.findings import Severity
from gitbot.model.plan.problem import EmptyNodes
from gitbot.model.text.canonical import digest
from gitbot.model.text.wording import first_of
from gitbot.workflows.propose.concerns.concern import (
    Concern,
    ConcernSources,
    concern_name,
    is_approved,
    numbered,
    stale_moves,
    stale_words,
)

_ENDED = "intents/finished-window"


def drains(sources: ConcernSources) -> list[Concern]:
    """One for each window whose opening is announced and whose nodes have VMs."""
    concerns = []
    for intent, spec in sources.base.intents.maintenance_windows:
        opening = sources.base.opening(intent, now=sources.now) if spec.nodes is not None else None
        if opening is None or not _is_announced(sources, opening):
            continue
        concern = _drain(sources, intent, spec, opening)
        if concern is not None:
            concerns.append(concern)
    return concerns


def ended_windows(sources: ConcernSources) -> dict[str, tuple[RequestId, str]]:
    """Windows that were edited after their only opening ended or was cancelled: they never act.

    The ledger id and why, by the name of the concern.
    """
    base, past = sources.base, sources.past
    found: dict[str, tuple[RequestId, str]] = {}
    for intent, spec in base.intents.maintenance_windows:
        opening = base.opening(intent, now=sources.now) if spec.nodes is not None else None
        if opening is None or opening.drain not in past.finished:
            continue
        _, findings = compile_drain(
            base.intents,
            sources.problem.snapshot,
            window=intent.ref.name,
            now=sources.now,
            zone=base.revision.zone,
            past=past,
        )
        for item in findings:
            if item.code == _ENDED and item.severity is Severity.ERROR:
                name = concern_name("drain", intent.ref.name, opening.id)
                found[name] = (opening.drain, f"{item.message}; {item.hint}")
    return found


def ended_at(sources: ConcernSources, intent: Intent) -> int | None:
    """When a window without schedule was over: all of its nodes are back. None if it is not."""
    spec, base = intent.spec, sources.base
    if not isinstance(spec, MaintenanceWindowSpec) or spec.nodes is None or spec.schedule:
        return None
    opening = base.opening(intent, now=sources.now)
    record = sources.records.get(opening.drain) if opening is not None else None
    if opening is None or (record is not None and record.moves and not record.spent):
        return None
    occurrence = opening.drain.occurrence
    nodes = fold_nodes(sources.ledger, cluster=sources.cluster, occurrence=occurrence)
    goal = base.drain_goal(intent, opening, sources.problem.snapshot, now=sources.now)
    if not nodes and (record is None or not record.spent):
        return None
    cancelled = record is not None and bool(record.cancelled)
    left = set(goal.nodes if goal is not None and not cancelled else ())
    if left - nodes.keys() or any(node.state in BUSY for node in nodes.values()):
        return None
    changed = record.changed_at if record is not None else 0
    return max(changed, *(node.since for node in nodes.values()), 0)


def _is_announced(sources: ConcernSources, opening: Opening) -> bool:
    announce = sources.base.settings.proposals.announce
    return opening.allowed.start - announce <= sources.now < opening.allowed.end


def _local(spec: MaintenanceWindowSpec, opening: Opening, zone: str | None) -> str:
    """`Sun 2026-12-06 22:00-02:00 Europe/Madrid`; "" without schedule."""
    if spec.schedule is None:
        return ""
    named = spec.schedule.time_zone or zone or "UTC"
    begins, ends = (local_text(time, named) for time in (opening.open.start, opening.open.end))
    short = opening.open.end - opening.open.start < 24 * 3600
    return f"{begins}{f'-{ends.split()[-1]}' if short else f' to {ends}'} {named}"


def _drain(
    sources: ConcernSources,
    intent: Intent,
    spec: MaintenanceWindowSpec,
    opening: Opening,
) -> Concern | None:
    planned = opening.drain
    record = sources.records.get(planned)
    stale = stale_moves(sources, record)
    goal = sources.base.drain_goal(intent, opening, sources.problem.snapshot, now=sources.now)
    if goal is None:
        return None
    known = fold_nodes(sources.ledger, cluster=sources.cluster, occurrence=planned.occurrence)
    if record is None or not record.moves:  # a node that is back has had its turn, and takes VMs
        left = tuple(node for node in goal.nodes if node not in known or known[node].state in BUSY)
        goal = replace(goal, nodes=left, cordons_empty=goal.cordons_empty and not known)
    else:
        goal = replace(goal, cordons_empty=False)
    if not goal.nodes:
        return None
    new = "" if stale else _new_vms(sources, planned, record, goal)
    if record is not None and record.spent and (record.cancelled or not new):
        return None  # its rest is a concern of its own
    if is_approved(sources, planned) and not (stale or new):
        return None
    if stale and not goal.together:
        nodes = {move.source for move in stale}
        goal = replace(goal, nodes=tuple(node for node in goal.nodes if node in nodes))
    elif not (stale or goal.cordons_empty or any(map(sources.facts.instances_on, goal.nodes))):
        return None
    return Concern(
        name=concern_name("drain", intent.ref.name, opening.id),
        intent=intent.ref,
        goal=replace(goal, request=numbered(sources, goal.request)),
        observation=digest([planned, list(goal.nodes)]),
        why=stale_words(stale) or new or f"empty {first_of(goal.nodes, 3)} for {intent.ref.name}",
        occurrence=opening.id,
        opening=_local(spec, opening, sources.base.revision.zone),
        auto=bool(stale or new) and spec.reapprove == "WithinPolicy",
    )


def _new_vms(
    sources: ConcernSources, planned: RequestId, record: RequestRecord | None, goal: EmptyNodes
) -> str:
    """VMs on the nodes that the plan on a window's own pull request does not have; "" for none.

    Such a plan may be much older than the announcement. Once its moves have begun, what is left is
    a concern of its own.
    """
    plans = [item for item in sources.approved if item.id == planned and not item.terms.void]
    begun = record is not None and any(move.effects for move in record.moves.values())
    if begun or not plans or any(item.approval.concern for item in plans):
        return ""
    known = {move.vm.uid for item in plans for move in item.moves}
    known |= {hold.vm.uid for item in plans if item.plan for hold in item.plan.holds}
    found = [
        str(vm)
        for node in goal.nodes
        for vm in sources.facts.instances_on(node)
        if uid_of(sources.facts.instances[vm]) not in known
    ]
    return f"the approved plan does not have {first_of(found, 3)}" if found else ""
