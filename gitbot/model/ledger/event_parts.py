"""Parts of events that are below `data` in a line of the ledger."""

from __future__ import annotations

import msgspec

from gitbot.model.ledger.request_id import RequestId


class Plain(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    omit_defaults=True,
    forbid_unknown_fields=True,
    rename="camel",
):
    """Empty fields are absent in JSON."""


class MoveTerms(Plain, frozen=True, kw_only=True):
    """When and how often an approved move may run. `allowed` in seconds UTC, [start, end).

    `cluster_uid` says in which cluster, and is "" on lines of before it was noted.
    """

    group: str
    wave: int
    attempts: int
    intent: str
    planned: RequestId  # the request's id in the plan
    allowed: tuple[tuple[int, int], ...]
    finish: bool
    cluster_uid: str = ""


class WindowTerms(Plain, frozen=True, kw_only=True):
    """The window as merged when its first node began."""

    allowed: tuple[tuple[int, int], ...]
    nodes: tuple[str, ...]
    max_nodes_at_once: int
    cordon: bool
    done: str
    leave_running: bool
    return_home: str
    finish: bool
    together: bool = False


class ProposalFile(Plain, frozen=True, kw_only=True):
    """The digest of a proposal file that gitbot wrote, and the base that it was planned on."""

    file: str
    base: str = ""
