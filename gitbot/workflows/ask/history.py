"""History: lines of the ledger that answer who moved what, when and why."""

from __future__ import annotations

from dataclasses import dataclass

from gitbot.kubernetes.names import NamespacedName
from gitbot.model.events import LedgerEvent, NodeChanged, RequestEvent, UnknownEvent
from gitbot.model.instants import FOREVER
from gitbot.model.ledger import Ledger
from gitbot.published.ledger_lines import line_value


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """What to look for; an empty field matches all. Times in seconds UTC, `until` exclusive."""

    since: int = 0
    until: int = FOREVER
    vm: str = ""  # NAME or NAMESPACE/NAME
    namespace: str = ""  # of the VM
    node: str = ""
    by: str = ""
    reason: str = ""
    everything: bool = False  # all lines, not only those of moves


def history(ledger: Ledger, cluster: str, query: Query) -> tuple[LedgerEvent, ...]:
    return tuple(
        event
        for event in ledger.events
        if event.cluster in ("", cluster) and _matches(event, query)
    )


def _matches(event: LedgerEvent, query: Query) -> bool:
    line = line_value(event)
    vm = line.get("vm", "")
    people = {line.get("author"), line.get("merger"), *line.get("approvers", ())}
    places = {line.get("from"), line.get("to"), line.get("landed")}
    if isinstance(event, NodeChanged):
        places.add(event.facts.node)
    moved = bool(vm) and isinstance(event, RequestEvent)
    return (
        query.since <= event.time < query.until
        and (query.everything or moved or isinstance(event, UnknownEvent))
        and (not query.namespace or (vm and NamespacedName.parse(vm).namespace == query.namespace))
        and (not query.vm or query.vm in (vm, NamespacedName.parse(vm).name))
        and (not query.node or query.node in places)
        and (not query.by or query.by in people)
        and query.reason.lower() in f"{line.get('reason', '')} {line.get('note', '')}".lower()
    )
