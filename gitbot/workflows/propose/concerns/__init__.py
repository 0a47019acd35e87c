"""Concerns: topics of pull requests that gitbot finds in base branch, ledger and cluster."""

from __future__ import annotations

from gitbot.workflows.propose.concerns.concern import (
    Concern,
    ConcernSources,
    concern_name,
    heal_concern,
)
from gitbot.workflows.propose.concerns.drains import drains, ended_at, ended_windows
from gitbot.workflows.propose.concerns.healings import breaches_of, heals, heals_of_intents
from gitbot.workflows.propose.concerns.partial import rests
from gitbot.workflows.propose.concerns.returns import (
    awaited_nodes,
    home_terms,
    homes_due,
    returns,
    stay_away,
)
from gitbot.workflows.propose.concerns.unapproved_requests import requests, unplannable_requests

__all__ = [
    "Concern",
    "ConcernSources",
    "awaited_nodes",
    "breaches_of",
    "concern_name",
    "drains",
    "ended_at",
    "ended_windows",
    "find_concerns",
    "heal_concern",
    "heals_of_intents",
    "home_terms",
    "homes_due",
    "requests",
    "stay_away",
    "unplannable_requests",
]


def find_concerns(sources: ConcernSources) -> tuple[Concern, ...]:
    found = [
        *drains(sources),
        *returns(sources),
        *heals(sources),
        *requests(sources),
        *rests(sources),
    ]
    return tuple(sorted(found, key=lambda concern: concern.name))
