"""Concerns: what gitbot would open a pull request about, from base branch, ledger and cluster."""

from __future__ import annotations

from gitbot.execution.requests import fold_requests
from gitbot.workflows.concerns.cooldown import in_cooldown
from gitbot.workflows.concerns.drains import drains
from gitbot.workflows.concerns.healings import heals
from gitbot.workflows.concerns.requests import meaningless, requests
from gitbot.workflows.concerns.rests import rests
from gitbot.workflows.concerns.returns import returns
from gitbot.workflows.concerns.value import Concern, Scene, concern_name

__all__ = ["Concern", "Scene", "concern_name", "find_concerns", "in_cooldown", "meaningless"]


def find_concerns(scene: Scene) -> tuple[Concern, ...]:
    """Every concern that stands now, sorted by name."""
    records = dict(fold_requests(scene.ledger, scene.cluster))
    found = [
        *drains(scene, records),
        *returns(scene, records),
        *heals(scene, records),
        *requests(scene, records),
        *rests(scene, records),
    ]
    return tuple(sorted(found, key=lambda concern: concern.name))
