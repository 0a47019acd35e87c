"""Folds over the ledger: what became of every node, pull request and concern, and of the stop.

What became of requests and moves is in `requests`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from gitbot.model.instants import parse_instant
from gitbot.model.ledger import (
    HOLD_FILE,
    Entry,
    Ledger,
    MoveState,
    concern_file,
    node_file,
    pull_file,
)
from gitbot.model.names import NamespacedName


class NodeState(StrEnum):
    """Where a node is on its way through a maintenance."""

    WAITING = "waiting"
    DRAINING = "draining"
    READY = "ready"
    RETURNED = "returned"
    CLOSED = "closed"


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeRecord:
    """One node of one occurrence; `since` in seconds UTC, `boot_id` from before the drain."""

    node: str
    state: NodeState = NodeState.WAITING
    since: int = 0
    boot_id: str = ""
    reason: str = ""
    cordoned_by_gitbot: bool = False


def fold_nodes(
    ledger: Ledger, *, cluster: str, window: str, occurrence: str
) -> Mapping[str, NodeRecord]:
    """The nodes of one occurrence that have left state waiting, sorted."""
    nodes: dict[str, NodeRecord] = {}
    states = {state.value for state in NodeState}
    for entry in ledger.of(node_file(cluster, window, occurrence)):
        name = str(entry.data.get("node", ""))
        if not name or entry.state not in states:
            continue
        before = nodes.get(name, NodeRecord(node=name))
        nodes[name] = replace(
            before,
            state=NodeState(entry.state),
            since=entry.time,
            boot_id=str(entry.data.get("bootID", before.boot_id)),
            reason=entry.reason,
            cordoned_by_gitbot=bool(entry.data.get("cordoned", before.cordoned_by_gitbot)),
        )
    return dict(sorted(nodes.items()))


def fold_homes(
    ledger: Ledger, *, cluster: str, window: str, occurrence: str
) -> Mapping[NamespacedName, str]:
    """Home of each VM that an occurrence moved: its node at the first move, sorted by VM."""
    homes: dict[NamespacedName, str] = {}
    for entry in ledger.of(node_file(cluster, window, occurrence)):
        if entry.state == "home":
            homes.setdefault(NamespacedName.parse(entry.vm), entry.source)
    return dict(sorted(homes.items()))


def window_as_merged(
    ledger: Ledger, *, cluster: str, window: str, occurrence: str
) -> Mapping[str, Any]:
    """What the nodes file says of the window at the first drain; empty where nothing began."""
    for entry in ledger.of(node_file(cluster, window, occurrence)):
        if entry.state == "window":
            return entry.data
    return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class PullRecord:
    """What was shown on a pull request: `{head, base, digest, expiresAt}` and when."""

    head: str
    base: str
    digest: str
    expires_at: int
    time: int
    document: str = ""


def fold_pull(ledger: Ledger, number: int, *, cluster: str) -> tuple[PullRecord, ...]:
    """What was shown for one cluster on a pull request, oldest first."""
    return tuple(
        PullRecord(
            head=str(entry.data.get("head", "")),
            base=str(entry.data.get("base", "")),
            digest=entry.digest,
            expires_at=parse_instant(str(entry.data["expiresAt"])),
            time=entry.time,
            document=str(entry.data.get("document", "")),
        )
        for entry in ledger.of(pull_file(number))
        if entry.state == "shown" and entry.cluster == cluster
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ConcernRecord:
    """One concern: since when its observation stands, and what was proposed or refused.

    `closed` holds the digests whose pull requests a person closed without a merge; `commits` the
    heads that gitbot pushed, so that a person's push is recognised; `files` the digests of the
    proposal files that it wrote, so that a person's edit is.
    """

    concern: str
    observation: str = ""
    observed_since: int = 0
    opened: str = ""  # digest of the pull request that is open as far as the ledger knows
    pull_request: int = 0
    opened_at: int = 0
    closed: frozenset[str] = frozenset()
    commits: frozenset[str] = frozenset()
    files: frozenset[str] = frozenset()


def fold_concern(ledger: Ledger, *, cluster: str, concern: str) -> ConcernRecord:
    """What the ledger knows of a concern."""
    record = ConcernRecord(concern=concern)
    for entry in ledger.of(concern_file(cluster, concern)):
        record = _fold_concern(record, entry)
    return record


def _fold_concern(record: ConcernRecord, entry: Entry) -> ConcernRecord:
    match entry.state:
        case "observed":
            return replace(record, observation=entry.digest, observed_since=entry.time)
        case "gone":
            return replace(record, observation="", observed_since=0, opened="")
        case "proposed":
            commits = record.commits | {entry.commit} if entry.commit else record.commits
            files = record.files | {str(entry.data["file"])} if entry.data else record.files
            return replace(record, opened=entry.digest, commits=commits, files=files)
        case "opened":
            return replace(record, pull_request=entry.pull_request, opened_at=entry.time)
        case "closed":
            return replace(record, opened="", closed=record.closed | {entry.digest})
        case "merged" | "withdrawn":
            return replace(record, opened="")
        case _:
            return record


def concerns_of(ledger: Ledger, cluster: str) -> tuple[str, ...]:
    """Names of all concerns that the ledger knows, sorted."""
    prefix = f"concerns/{cluster}/"
    files = {entry.file for entry in ledger.entries if entry.file.startswith(prefix)}
    return tuple(sorted(file.removeprefix(prefix).removesuffix(".jsonl") for file in files))


def stop_flag(ledger: Ledger, cluster: str) -> str:
    """Why everything stands still by the ledger's own stop flag; "" where it does not."""
    reason = ""
    for entry in ledger.of(HOLD_FILE):
        if entry.cluster in ("", cluster):
            reason = (entry.reason or "held") if entry.state == "set" else ""
    return reason


def last_resume(ledger: Ledger, cluster: str) -> int:
    """When a person last resumed; 0 where never."""
    times = [
        entry.time
        for entry in ledger.of(HOLD_FILE)
        if entry.state == "resumed" and entry.cluster in ("", cluster)
    ]
    return max(times, default=0)


def observed_migrations(ledger: Ledger, cluster: str) -> frozenset[str]:
    """UIDs of foreign migrations that the ledger has already."""
    return frozenset(entry.migration_uid for entry in observed_entries(ledger, cluster))


def observed_entries(ledger: Ledger, cluster: str) -> tuple[Entry, ...]:
    """The foreign migrations that were seen, oldest first."""
    prefix = f"requests/{cluster}/"
    return tuple(
        entry
        for entry in ledger.entries
        if entry.state == MoveState.OBSERVED and entry.file.startswith(prefix)
    )
