"""History: lines of the ledger that answer who moved what, when and why."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gitbot.errors import LedgerError
from gitbot.kubernetes.names import NamespacedName
from gitbot.kubernetes.objects import labels_of, name_of
from gitbot.kubernetes.selectors import LabelMatcher
from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.model.ledger.events import (
    LedgerEvent,
    MoveApproved,
    MoveChanged,
    NodeChanged,
    RequestEvent,
    UnknownEvent,
)
from gitbot.model.ledger.ledger import Ledger
from gitbot.model.text.instants import FOREVER
from gitbot.published import PastMove, published
from gitbot.published.ledger_lines import line_value
from gitbot.workflows.core.context import RunContext
from gitbot.workflows.ledger.anchor import Anchor, known_migrations, read_anchor
from gitbot.workflows.ledger.kept_plans import check_plans


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


def verified(shell: RunContext) -> tuple[Ledger, Anchor]:
    """The ledger and what its anchors say. Raises LedgerError if it is damaged, or went back."""
    anchor = read_anchor(shell)
    there = known_migrations(shell, anchor)
    ledger = shell.ledger_store.read()
    check_plans(ledger)
    missed = anchor.moved(ledger) or anchor.missed(ledger)
    if missed := missed or anchor.forgotten(ledger, there):
        raise LedgerError(missed)
    return ledger, anchor


def history(ledger: Ledger, cluster: str, query: Query) -> tuple[LedgerEvent, ...]:
    return tuple(
        event
        for event in ledger.events
        if event.cluster in ("", cluster) and _matches(event, query)
    )


def moves_of(
    ledger: Ledger, events: Iterable[LedgerEvent], *, until: int = FOREVER
) -> list[list[LedgerEvent]]:
    """The lines before `until` of each move that one of the events is about, in their order.

    The move that changed last is last. All attempts belong to their move; an event about anything
    else is alone.
    """
    wanted = {_move_of(event) for event in events}
    found: dict[object, list[LedgerEvent]] = {}
    for event in ledger.events:
        if event.time < until and (key := _move_of(event)) in wanted:
            found.setdefault(key, []).append(event)
    return sorted(found.values(), key=lambda lines: lines[-1].seq)


def past_move(lines: Sequence[LedgerEvent], values: Sequence[Mapping[str, Any]]) -> PastMove:
    """A move by its lines and their values, which is the longer work.

    Of each field it takes the newest value, of how it ended what the last line says.
    """
    known: dict[str, Any] = {"request": lines[-1].file}
    for value in values:
        known |= value
    value = values[-1]
    intent = next((line for line in lines if isinstance(line, MoveApproved)), None)
    last = value.get("reason", "") if lines[-1] is not intent else ""
    doubt = "?" if isinstance(lines[-1], UnknownEvent) else ""  # an event of a newer gitbot
    return published(
        {
            "time": lines[-1].time,
            "vm": known.get("vm", ""),
            "from": known.get("from", ""),
            "to": value.get("landed") or known.get("to", ""),
            "seconds": value.get("seconds", 0),  # an earlier attempt's are none of this one
            "state": f"{lines[-1].state}{doubt}",
            "reason": last,
            "by": known.get("merger") or known.get("author", ""),
            "pullRequest": known.get("pullRequest", 0),
            "why": ": ".join(filter(None, (intent.reason, intent.note))) if intent else "",
            "request": known["request"],
        },
        PastMove,
    )


def _move_of(event: LedgerEvent) -> object:
    if isinstance(event, MoveApproved | MoveChanged):
        return event.file, event.request, event.move
    return event.seq


def unknown_names(ledger: Ledger, cluster: str, query: Query) -> Iterator[tuple[str, list[str]]]:
    """VM and node of the query that no line names, each with the names that lines have."""
    if not (query.vm or query.node):
        return
    vms: set[str] = set()
    nodes: set[str] = set()
    for event in ledger.events:
        if event.cluster in ("", cluster):
            line = line_value(event)
            if vm := line.get("vm", ""):
                vms |= {vm, NamespacedName.parse(vm).name}
            nodes |= _places(event, line)
    for word, known in ((query.vm, vms), (query.node, nodes)):
        if word and word not in known:
            yield word, sorted(name for name in known if ("/" in name) == ("/" in word))


def of_labels(
    events: Iterable[LedgerEvent], snapshot: ClusterSnapshot, labels: LabelMatcher
) -> tuple[LedgerEvent, ...]:
    """The events of VMs whose VMIs have these labels now."""
    machines = snapshot.of("VirtualMachineInstance")
    chosen = {str(name_of(vmi)) for vmi in machines if labels.matches(labels_of(vmi))}
    return tuple(event for event in events if line_value(event).get("vm") in chosen)


def _matches(event: LedgerEvent, query: Query) -> bool:
    asked = query.everything or isinstance(event, RequestEvent | UnknownEvent)
    if not (asked and query.since <= event.time < query.until):
        return False  # before the line is encoded, which takes most of the time
    line = line_value(event)
    vm = line.get("vm", "")
    people = {line.get("author"), line.get("merger"), *line.get("approvers", ())}
    places = _places(event, line)
    return (
        (query.everything or bool(vm) or isinstance(event, UnknownEvent))
        and (not query.namespace or (vm and NamespacedName.parse(vm).namespace == query.namespace))
        and (not query.vm or query.vm in (vm, NamespacedName.parse(vm).name))
        and (not query.node or query.node in places)
        and (not query.by or query.by in people)
        and query.reason.lower() in f"{line.get('reason', '')} {line.get('note', '')}".lower()
    )


def _places(event: LedgerEvent, line: Mapping[str, Any]) -> set[str]:
    """The nodes that a line names."""
    places = {line.get("from"), line.get("to"), line.get("landed")}
    if isinstance(event, NodeChanged):
        places.add(event.facts.node)
    return {place for place in places if place}
