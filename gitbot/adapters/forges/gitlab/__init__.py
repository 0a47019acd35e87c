"""The Forge port on GitLab: merge requests are its pull requests, notes its comments.

`rest` decides what to send, repeat and cut. GitLab has no check runs with annotations: commit
statuses replace them. No real GitLab was met yet; tests.contracts.live holds one to the contract.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from gitbot.adapters.clock import SystemClock
from gitbot.adapters.forges.forge_type import CommentEvent, Connection, ForgeType
from gitbot.adapters.forges.gitlab.setup import CAPABILITIES, SETUP
from gitbot.errors import UsageError

__all__ = ["GITLAB"]


def _connect(root: Path, *, address: str, repository: str, base_branch: str) -> Connection:
    """GitLab with the token of the environment. Waits take real time."""
    from gitbot.adapters.forges.gitlab.connect import open_gitlab  # noqa: PLC0415 - one forge a run
    from gitbot.adapters.git import remote_address  # noqa: PLC0415

    return open_gitlab(
        address=address,
        named=repository,
        origin=remote_address(root, "origin"),
        base_branch=base_branch,
        clock=SystemClock(),
    )


def _commented(path: str) -> tuple[int, int]:
    """Numbers of merge request and note, in what a webhook said; nothing else there is trusted."""
    try:
        event: Any = json.loads(Path(path).read_text(encoding="utf-8"))
        return int(event["merge_request"]["iid"]), int(event["object_attributes"]["id"])
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from error
    except (ValueError, KeyError, TypeError) as error:
        raise UsageError(f"{path} is not an event about a note on a merge request") from error


GITLAB = ForgeType(
    title="GitLab",
    capabilities=CAPABILITIES,
    connect=_connect,
    setup=SETUP,
    comment_event=CommentEvent(variable="TRIGGER_PAYLOAD", read=_commented),
)
