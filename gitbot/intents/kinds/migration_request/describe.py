"""MigrationRequest as a kind: its example, selectors, and times in a calendar."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gitbot.calendar import Appointment
from gitbot.intents.intent import Intent, IntentSet
from gitbot.intents.kinds.kind import (
    AgendaView,
    CompiledGoals,
    DatedEntries,
    GoalInputs,
    Kind,
    Role,
    VmSelector,
)
from gitbot.intents.kinds.migration_request.check import check
from gitbot.intents.kinds.migration_request.spec import MigrationRequestSpec
from gitbot.intents.schedules import is_sound
from gitbot.model.ledger.request_id import MigrationRequestId
from gitbot.model.text.instants import FOREVER, Interval, intersect

if TYPE_CHECKING:  # constraints load numpy
    from gitbot.constraints.moves.instances import Instances


def _selectors(intent: Intent, spec: MigrationRequestSpec) -> Iterator[VmSelector]:
    if spec.vms.selector is not None:
        path, namespaces = ("spec", "vms", "selector"), (intent.ref.namespace,)
        yield VmSelector(path=path, selector=spec.vms.selector, namespaces=namespaces)


def _window(spec: MigrationRequestSpec) -> str | None:
    return spec.window


def _entries(agenda: AgendaView, intent: Intent, spec: MigrationRequestSpec) -> DatedEntries | None:
    if not agenda.concerns(intent.ref.namespace):
        return None
    if MigrationRequestId.of(intent.ref) in agenda.finished:
        return None
    return DatedEntries(
        between=lambda after, before: list(_times(agenda, intent, spec, after, before))
    )


def _times(
    agenda: AgendaView, intent: Intent, spec: MigrationRequestSpec, after: int, before: int
) -> Iterator[Appointment]:
    """[notBefore, deadline) inside the openings of its window."""
    start = spec.not_before if spec.not_before is not None else 0
    end = spec.deadline if spec.deadline is not None else FOREVER
    if start >= min(end, before) or end <= after:
        return
    times: tuple[Interval, ...] = (Interval(start=start, end=end),)
    zone = agenda.zone or "UTC"
    found = agenda.intents.window(spec.window or "")
    schedule = found[1].schedule if found is not None else None
    if schedule is not None and is_sound(plain := schedule.schedule(agenda.zone)):
        times = intersect(times, agenda.openings(plain, max(after, start), min(before, end)))
        zone = plain.time_zone
    for time in times:
        yield Appointment(
            kind="request",
            name=f"{intent.ref.namespace}/{intent.ref.name}",
            time=time,
            zone=zone,
            what=f"in window {spec.window}" if spec.window else "",
            frozen=agenda.frozen(time, intent.ref.namespace),
            file=intent.ref.where,
        )


def _goals(intents: IntentSet, instances: Instances, asked: GoalInputs) -> CompiledGoals:
    from gitbot.intents.kinds.migration_request.compile import goals  # noqa: PLC0415 - numpy

    return goals(intents, instances, asked)


_EXAMPLE = """\
# A one-off: move one VM, exactly once. Merging the pull request that adds this file approves
# the plan that the bot showed on it. Name your own VM and node, then open a pull request.
apiVersion: API_VERSION
kind: MigrationRequest
metadata: {name: example-db-1-away, namespace: example}
spec:
  vms: {names: [example-db-1]}
  target: {node: example-node-2}    # or zone, or nodeSelector; absent: anywhere but here
  reason: Maintenance
  note: new power supplies for the rack
  deadline: "2027-01-10T06:00Z"     # latest estimated end
  window: example-firmware          # only while that window is open
"""

KIND = Kind(
    name="MigrationRequest",
    spec=MigrationRequestSpec,
    namespaced=True,
    role=Role.REQUEST,
    check=check,
    description="A one-off move of VMs; runs exactly once.",
    example=_EXAMPLE,
    window=_window,
    selectors=_selectors,
    entries=_entries,
    goals=_goals,
)
