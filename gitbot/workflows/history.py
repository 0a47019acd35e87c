"""History: lines of the ledger that answer who moved what, when and why."""

from __future__ import annotations

from dataclasses import dataclass

from gitbot.model.instants import FOREVER
from gitbot.model.ledger import Entry, Ledger


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """What to look for; empty fields ask for nothing. Times in seconds UTC, `until` exclusive."""

    since: int = 0
    until: int = FOREVER
    vm: str = ""  # NAME or NAMESPACE/NAME
    node: str = ""
    by: str = ""
    reason: str = ""
    everything: bool = False  # not the lines of moves alone


def history(ledger: Ledger, cluster: str, query: Query) -> tuple[Entry, ...]:
    """The lines of a cluster that a query asks for, oldest first."""
    return tuple(
        entry
        for entry in ledger.entries
        if entry.cluster in ("", cluster) and _matches(entry, query)
    )


def _matches(entry: Entry, query: Query) -> bool:
    people = {entry.author, entry.merger, *entry.approvers}
    places = {entry.source, entry.to, entry.landed, str(entry.data.get("node", ""))}
    names = {entry.vm, entry.vm.partition("/")[2]}
    return (
        query.since <= entry.time < query.until
        and (query.everything or bool(entry.vm and entry.file.startswith("requests/")))
        and (not query.vm or query.vm in names)
        and (not query.node or query.node in places)
        and (not query.by or query.by in people)
        and query.reason.lower() in f"{entry.reason} {entry.note}".lower()
    )
