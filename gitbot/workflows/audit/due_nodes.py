"""The nodes that windows are about to empty."""

from __future__ import annotations

from gitbot.audit import Departure
from gitbot.calendar import format_duration
from gitbot.constraints.moves.instances import Instances
from gitbot.intents.compile import nodes_of, opening_of
from gitbot.model.ledger.ledger import Ledger
from gitbot.workflows.core.revision import Revision
from gitbot.workflows.ledger.request_history import request_history


def departures(
    revision: Revision, instances: Instances, ledger: Ledger, *, now: int
) -> tuple[Departure, ...]:
    """Of each window that drains nodes the opening that is now or comes next, unless it is done."""
    finished = request_history(ledger, revision.cluster).finished
    found = []
    for intent, spec in revision.intents.maintenance_windows:
        opening = opening_of(revision.intents, intent.ref.name, now=now, zone=revision.zone)
        if opening is None or spec.nodes is None or opening.drain in finished:
            continue
        wait = opening.allowed.start - now
        found.append(
            Departure(
                window=intent.ref,
                nodes=nodes_of(spec.nodes, instances),
                opens=f"in {format_duration(wait)}" if wait > 0 else "now",
            )
        )
    return tuple(found)
