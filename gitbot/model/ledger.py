"""The ledger as a value: append-only entries by file, with sequence numbers and a hash chain.

Files of the branch: `requests/<cluster>/<id>.jsonl`, `nodes/<cluster>/<window>/<occurrence>.jsonl`,
`concerns/<cluster>/<concern>.jsonl`, `plans/<digest>.json`, `pulls/<N>.jsonl`, `hold.jsonl`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class MoveState(StrEnum):
    """State of one move of a request. The last four are final, each for its attempt."""

    PLANNED = "planned"
    APPROVED = "approved"
    WAITING = "waiting"
    HELD = "held"
    INTENDED = "intended"
    CREATED = "created"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    OBSOLETE = "obsolete"
    EXPIRED = "expired"
    WITHDRAWN = "withdrawn"
    OBSERVED = "observed"  # somebody else's migration, seen


FINAL_STATES = frozenset(
    {
        MoveState.SUCCEEDED,
        MoveState.FAILED,
        MoveState.OBSOLETE,
        MoveState.EXPIRED,
        MoveState.WITHDRAWN,
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One line of one file.

    `file` is the path inside the branch; `seq` and `previous` (digest of line seq-1, in any file)
    are given by the store. `time` in seconds UTC. `state` is a MoveState in request files, a node
    state in node files, an event in the others. `data` holds what a file family needs beyond the
    fields of moves, as plain JSON. In JSON the names are camelCase, empty fields are absent.
    """

    file: str
    time: int
    cluster: str = ""
    state: str = ""
    seq: int = 0
    previous: str = ""
    request: str = ""
    vm: str = ""  # namespace/name
    vm_uid: str = ""
    move: int = 0
    attempt: int = 0
    source: str = ""  # "from" in JSON
    to: str = ""
    landed: str = ""
    reason: str = ""
    note: str = ""
    author: str = ""
    approvers: tuple[str, ...] = ()
    merger: str = ""
    pull_request: int = 0
    commit: str = ""
    digest: str = ""
    migration: str = ""  # namespace/name of the VMIM
    migration_uid: str = ""
    outcome: str = ""
    seconds: int = 0
    data: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ledger:
    """The whole ledger at one commit: entries in order of `seq`, plans by digest.

    `head` is the commit id of the branch, "" where the branch does not exist yet.
    """

    entries: tuple[Entry, ...] = ()
    plans: Mapping[str, bytes] = field(default_factory=dict)
    head: str = ""

    def of(self, file: str) -> tuple[Entry, ...]:
        """The entries of one file, oldest first."""
        return tuple(entry for entry in self.entries if entry.file == file)


def request_file(cluster: str, request: str) -> str:
    """The file of one request (or occurrence, or healing)."""
    return f"requests/{cluster}/{request}.jsonl"


def node_file(cluster: str, window: str, occurrence: str) -> str:
    """The file of the nodes of one occurrence."""
    return f"nodes/{cluster}/{window}/{occurrence}.jsonl"


def concern_file(cluster: str, concern: str) -> str:
    """The file of one concern."""
    return f"concerns/{cluster}/{concern}.jsonl"


def pull_file(number: int) -> str:
    """The file of the records of one pull request."""
    return f"pulls/{number}.jsonl"


HOLD_FILE = "hold.jsonl"
