"""MaintenanceWindow as a kind: its example and its openings in a calendar."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gitbot.calendar import CHANGE_WINDOW, Appointment, Occurrence
from gitbot.intents.intent import Intent, IntentSet
from gitbot.intents.kinds.kind import (
    AgendaView,
    CompiledGoals,
    GoalInputs,
    Kind,
    Role,
    ScheduledEntries,
)
from gitbot.intents.kinds.maintenance_window.check import check
from gitbot.intents.kinds.maintenance_window.spec import AUTO, MaintenanceWindowSpec, NodesSpec
from gitbot.model.ledger.request_id import OccurrenceId

if TYPE_CHECKING:  # constraints load numpy
    from gitbot.constraints.moves.instances import Instances


def _takes_nodes(spec: Mapping[str, Any]) -> bool:
    """A change window names no nodes, and so concerns no VMs."""
    return "nodes" in spec


def _entries(agenda: AgendaView, intent: Intent, spec: MaintenanceWindowSpec) -> ScheduledEntries:
    def entry(occurrence: Occurrence | None) -> Appointment:
        event = agenda.event(intent, "window", spec.schedule, occurrence)
        event = replace(event, frozen=agenda.frozen(event.time, ""))
        if spec.nodes is None:
            return replace(event, what=CHANGE_WINDOW)
        count = agenda.count(spec.nodes)
        what = _nodes_words(spec.nodes) if count is None else _counted(count)
        if occurrence is None:
            standing = agenda.standings.get(intent.ref.name, "")
            return replace(event, what=f"{what}, {standing}" if standing else what)
        drain = OccurrenceId(window=intent.ref.name, id=occurrence.id).drain
        lead = spec.drain.longest_lead
        approved = drain in agenda.begins and drain not in agenda.cancelled
        begins = agenda.begins[drain] if approved and spec.drain.lead == AUTO else 0
        return replace(
            event,
            what=f"{what}, approved" if approved else what,
            lead=occurrence.start - begins if begins else lead,
            lead_is_open=spec.drain.lead == AUTO and not begins,
            announced=0 if approved else occurrence.start - lead - agenda.announce,
            cancelled="by a person" if drain in agenda.cancelled else "",
        )

    return ScheduledEntries(schedule=spec.schedule, entry=entry)


def _goals(intents: IntentSet, instances: Instances, asked: GoalInputs) -> CompiledGoals:
    from gitbot.intents.kinds.maintenance_window.compile import goals  # noqa: PLC0415 - numpy

    return goals(intents, instances, asked)


def _nodes_words(nodes: NodesSpec) -> str:
    """`4 nodes`, or the labels that select them."""
    if nodes.names is not None:
        return _counted(len(nodes.names))
    plain = nodes.selector.plain() if nodes.selector is not None else {}
    labels = [f"{key}={value}" for key, value in plain.get("matchLabels", {}).items()]
    more = len(plain.get("matchExpressions", ()))
    labels += [f"{more} expression{'s' if more > 1 else ''}"] if more else []
    return f"nodes with {', '.join(labels)}"


def _counted(count: int) -> str:
    return f"{count} node{'' if count == 1 else 's'}"


_EXAMPLE = """\
# Nodes leave service: the bot proposes a drain plan for each opening, three days ahead, and
# brings the VMs home afterwards.
apiVersion: API_VERSION
kind: MaintenanceWindow
metadata: {name: example-firmware}
spec:
  nodes: {names: [example-node-1]}
  schedule:
    start: "2027-01-03T22:00"       # local time, in quotes
    timeZone: UTC
    duration: PT4H
    recurrence: "FREQ=MONTHLY;BYDAY=1SU"
  drain: {lead: PT2H, maxNodesAtOnce: 1, order: ByZone, notMigratable: BlockNode}
  returnHome: Propose
"""

KIND = Kind(
    name="MaintenanceWindow",
    spec=MaintenanceWindowSpec,
    namespaced=False,
    role=Role.WINDOW,
    check=check,
    description="Nodes leave service; without nodes, a change window for requests.",
    example=_EXAMPLE,
    everywhere=_takes_nodes,
    entries=_entries,
    goals=_goals,
)
