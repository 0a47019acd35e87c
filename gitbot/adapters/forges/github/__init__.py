"""The Forge port on GitHub, through PyGithub. Only this room imports PyGithub.

PyGithub signs and sends; this room decides what to read, repeat and cut, and how to understand it.
It never merges on its own initiative, reads state back from comments, or repeats a write blindly.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from gitbot.adapters.clock import SystemClock
from gitbot.adapters.forges.forge_type import CommentEvent, Connection, ForgeType
from gitbot.adapters.forges.github.setup import CAPABILITIES, SETUP
from gitbot.errors import UsageError

__all__ = ["GITHUB"]


def _connect(root: Path, *, address: str, repository: str, base_branch: str) -> Connection:  # noqa: ARG001
    """GitHub with the credentials of the environment.

    Waits for GitHub take real time, no matter what the clock of the run says.
    """
    from gitbot.adapters.forges.github.connect import open_github  # noqa: PLC0415 - one forge a run
    from gitbot.adapters.git import remote_address  # noqa: PLC0415

    return open_github(
        named=repository,
        origin=remote_address(root, "origin"),
        base_branch=base_branch,
        clock=SystemClock(),
    ).connection


def _commented(path: str) -> tuple[int, int]:
    """Numbers of issue and comment in the event file of a job; nothing else in it is trusted."""
    try:
        event: Any = json.loads(Path(path).read_text(encoding="utf-8"))
        return int(event["issue"]["number"]), int(event["comment"]["id"])
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from error
    except (ValueError, KeyError, TypeError) as error:
        raise UsageError(f"{path} is not an event about a comment") from error


GITHUB = ForgeType(
    title="GitHub",
    capabilities=CAPABILITIES,
    connect=_connect,
    setup=SETUP,
    comment_event=CommentEvent(variable="GITHUB_EVENT_PATH", read=_commented),
)
