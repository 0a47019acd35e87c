"""The types of forge, by their name in `spec.forge.type`. A new forge adds one line.

`settings.REPOSITORY_RULES` has the rule for `spec.forge.repository` under the same name.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from gitbot.adapters.forges.forge_type import Choices, Connection, ForgeSetup, ForgeType
from gitbot.adapters.forges.gitea import GITEA
from gitbot.adapters.forges.github import GITHUB
from gitbot.adapters.forges.gitlab import GITLAB
from gitbot.adapters.forges.local import LOCAL
from gitbot.errors import UsageError

if TYPE_CHECKING:
    from gitbot.settings import ForgeSettings

__all__ = ["FORGES", "Choices", "ForgeSetup", "commented", "connect"]

FORGES: dict[str, ForgeType] = {
    "local": LOCAL,
    "github": GITHUB,
    "gitea": GITEA,
    "gitlab": GITLAB,
}


def connect(root: Path, forge: ForgeSettings) -> Connection:
    """The forge that the configuration names. Raises UsageError and ForgeError."""
    opener = FORGES[forge.type].connect
    return opener(
        root,
        address=forge.address,
        repository=forge.repository,
        base_branch=forge.base_branch,
    )


def commented(environment: Mapping[str, str]) -> tuple[int, int]:
    """The numbers of issue and comment that a CI job is about. Raises UsageError."""
    events = [event for forge in FORGES.values() if (event := forge.comment_event)]
    for event in events:
        if text := environment.get(event.variable, ""):
            return event.read(text)
    known = " or ".join(event.variable for event in events)
    raise UsageError(
        "which comment is meant is not said",
        hint=f"give --issue and --comment, or run in a job that has {known}",
    )
