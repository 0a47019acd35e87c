"""Concerns about windows that are announced: empty these nodes."""

from __future__ import annotations

from dataclasses import replace

from gitbot.execution.requests import RequestRecord
from gitbot.intents import Intent
from gitbot.intents.compile import Opening
from gitbot.intents.kinds.maintenance_window import MaintenanceWindowSpec
from gitbot.model.canonical import digest
from gitbot.workflows.concerns.value import (
    Concern,
    Scene,
    concern_name,
    is_approved,
    numbered,
    some,
    stale_moves,
    stale_words,
)


def drains(scene: Scene, records: dict[str, RequestRecord]) -> list[Concern]:
    """One for each window whose opening is announced and whose nodes hold VMs."""
    concerns = []
    for intent, spec in scene.base.intents.maintenance_windows:
        opening = scene.base.opening(intent) if spec.nodes is not None else None
        if opening is None or not _is_announced(scene, opening):
            continue
        concern = _drain(scene, records, intent, opening)
        if concern is not None:
            concerns.append(concern)
    return concerns


def _is_announced(scene: Scene, opening: Opening) -> bool:
    announce = scene.base.settings.proposals.announce
    return opening.allowed.start - announce <= scene.now < opening.allowed.end


def _drain(
    scene: Scene,
    records: dict[str, RequestRecord],
    intent: Intent,
    opening: Opening,
) -> Concern | None:
    planned = opening.drain
    record = records.get(planned)
    stale = stale_moves(scene, record)
    if record is not None and record.spent:
        return None  # what is left of it is a concern of its own
    if is_approved(scene, planned) and not stale:
        return None
    goal = scene.base.drain_goal(intent, opening, scene.problem.snapshot)
    if goal is None:
        return None
    if stale:
        nodes = {move.source for move in stale}
        goal = replace(goal, nodes=tuple(node for node in goal.nodes if node in nodes))
    elif not _occupied(scene, goal.nodes):
        return None
    return Concern(
        name=concern_name("drain", intent.ref.name, opening.id),
        intent=intent.ref,
        goal=replace(goal, request=numbered(goal.request, records)),
        observation=digest([planned, list(goal.nodes)]),
        why=stale_words(stale) or f"empty {some(goal.nodes)} for {intent.ref.name}",
        occurrence=opening.id,
        auto=bool(stale) and _within_policy(intent),
    )


def _within_policy(intent: Intent) -> bool:
    spec = intent.spec
    return isinstance(spec, MaintenanceWindowSpec) and spec.reapprove == "WithinPolicy"


def _occupied(scene: Scene, nodes: tuple[str, ...]) -> bool:
    return any(scene.facts.instances_on(node) for node in nodes)
