"""A recorded trace, read: what was given, what people did, and when the played parts acted.

Times are milliseconds since the start of the trace.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from gitbot.kubernetes.objects import at
from tests.recordings.steps import HandlerSteps

MIGRATION, VMI = "VirtualMachineInstanceMigration", "VirtualMachineInstance"
_JOB = "kubevirt.io/migrationJobUID"
_DOMAIN = "vmi.kubevirt.io/id"
INPUTS = ("Node", "ResourceQuota", "MigrationPolicy", "KubeVirt", "PersistentVolumeClaim")
_HANGS = {"PreparingTarget": "prepare", "TargetReady": "start", "Running": "run"}
_PLAYED = (
    "Paused", "AgentConnected", "LiveMigratable", "StorageLiveMigratable", "MigrationRequired",
    "HotVCPUChange", "HotMemoryChange",
)  # fmt: skip
Event = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """What somebody did: the request's text and object, and the answer where it is recorded."""

    millis: int
    text: str
    object: Mapping[str, Any] | None = None
    answered: bool = False
    accepted: bool = True
    code: int = 0
    message: str = ""
    racing: bool = False


@dataclass(slots=True, kw_only=True)
class PodTimes:
    """When the scheduler and the kubelet acted on one pod; None where they never did."""

    created: int
    migration: str = ""
    unschedulable: int | None = None
    bound: int | None = None
    node: str = ""
    started: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """One trace. `inputs` are changes that no part of KubeVirt makes, by their time."""

    record: Mapping[str, Any]
    name: str
    namespace: str
    actions: tuple[Action, ...]
    inputs: tuple[tuple[int, Event], ...]
    pods: Mapping[str, PodTimes]
    migrations: Mapping[str, str]  # name -> VMI, in the order in which they appeared
    end: int
    steps: HandlerSteps
    events: tuple[Event, ...] = field(default_factory=tuple)

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> Story:
        record = _with_whole_kinds(record)
        events = tuple(record["events"])
        name = str(record["scenario"])
        return cls(
            record=record,
            name=name,
            namespace=_namespace(record, name),
            actions=tuple(_actions(events)),
            inputs=tuple(_inputs(events)),
            pods=_pod_times(record, events),
            migrations=_migrations(record, events),
            end=max([millis(event) for event in events], default=0),
            steps=HandlerSteps(events),
            events=events,
        )

    def dials(self, migration: str) -> dict[str, Any]:
        """What the played handler was told of one migration.

        `hang` is kept as null where the handler could be woken: where it slept is then where the
        migration stood for the longest time.
        """
        given = self.record.get("handler_dials") or {}
        told = {**(given.get("namespace") or {}), **(at(given, "vmim", migration, default={}))}
        if "hang" in told and told["hang"] is None:
            told["hang"] = _HANGS.get(self._longest(migration), "prepare")
        failure = self.steps.failure(migration)
        return {**({"fail": failure} if failure else {}), **told}

    def _longest(self, migration: str) -> str:
        """Where a migration stood at the end, or between hand-off and end for the longest time."""
        times = [
            (millis(event), str(changes["phase"]))
            for event in self.events
            if event.get("kind") == MIGRATION and event.get("name") == migration
            for changes in [event.get("changed") or {}]
            if "phase" in changes
        ]
        if times and times[-1][1] in _HANGS:
            return times[-1][1]
        ends = [when for when, _ in times[1:]] + [self.end + 1]
        spans = [
            (end - when, phase)
            for (when, phase), end in zip(times, ends, strict=False)
            if phase in _HANGS
        ]
        return max(spans, default=(0, ""))[1]

    def boot_dials(self, vmi: str) -> dict[str, Any]:
        """What the played handler was told of one VMI."""
        given = self.record.get("handler_dials") or {}
        return {**(given.get("namespace") or {}), **(at(given, "vmi", vmi, default={}))}


def _with_whole_kinds(record: Mapping[str, Any]) -> Mapping[str, Any]:
    """UIDs of objects that controllers made are written with short kinds."""
    text = json.dumps(record)
    for short, kind in (("vmim", MIGRATION), ("vmi", VMI)):
        text = text.replace(f"<uid of {short} ", f"<uid of {kind} ")
    whole: Mapping[str, Any] = json.loads(text)
    return whole


def millis(event: Event) -> int:
    """The time of an event."""
    return round(float(event["t"]) * 1000)


def _namespace(record: Mapping[str, Any], name: str) -> str:
    """A trace tells its namespace in messages alone: `t-<scenario>`, as the recorder names it."""
    return str(record.get("namespace") or f"t-{name}")


def _actions(events: tuple[Event, ...]) -> Iterator[Action]:
    asked: dict[str, Event] = {}
    for event in events:
        text = event.get("actor")
        if text is None:
            continue
        request, arrow, answer = str(text).partition(" -> ")
        if not arrow:
            asked[request] = event
            continue
        before = asked.pop(request, None)
        first = before or event
        yield Action(
            millis=millis(first),
            text=request.strip(),
            object=first.get("object"),
            answered=answer in ("accepted", "refused"),
            accepted=answer != "refused",
            code=int(event.get("code", 0)),
            message=str(event.get("message", "")),
            racing=before is None,
        )
    for text, event in asked.items():
        yield Action(millis=millis(event), text=text.strip(), object=event.get("object"))


def _inputs(events: tuple[Event, ...]) -> Iterator[tuple[int, Event]]:
    for event in events:
        kind = event.get("kind")
        if "event" in event:
            continue
        if kind in INPUTS:
            yield millis(event), event
        elif kind == VMI and "changed" in event:
            played = {
                path: value
                for path, value in event["changed"].items()
                if path.partition("/")[2] in _PLAYED or path in ("nodeSelector", "affinity")
            }
            if played:
                yield millis(event), {**event, "changed": played}


def _pod_times(record: Mapping[str, Any], events: tuple[Event, ...]) -> dict[str, PodTimes]:
    found: dict[str, PodTimes] = {}
    for event in events:
        name, now = event.get("name"), millis(event)
        if event.get("kind") != "Pod" or "event" in event or not isinstance(name, str):
            continue
        if "added" in event:
            job = str(at(event, "added", "labels", _JOB, default=""))
            found[name] = PodTimes(created=now, migration=_named(job))
            _note(found[name], event["added"], now)
        elif name in found and "changed" in event:
            _note(found[name], event["changed"], now)
    return found


def _note(times: PodTimes, changes: Mapping[str, Any], now: int) -> None:
    condition = changes.get("conditions/PodScheduled") or at(changes, "conditions", "PodScheduled")
    unfit = at(condition, "reason") == "Unschedulable"
    if unfit and times.unschedulable is None:
        times.unschedulable = now
    if changes.get("nodeName") and times.bound is None:
        times.bound, times.node = now, str(changes["nodeName"])
    if changes.get("phase") in ("Running", "Failed") and times.started is None:
        times.started = now


def _named(uid: str) -> str:
    """The name in a normalised UID, `<uid of KIND NAME>`."""
    return uid.removesuffix(">").rpartition(" ")[2]


def _migrations(record: Mapping[str, Any], events: tuple[Event, ...]) -> dict[str, str]:
    found = {
        item["name"]: str(at(item, "state", "spec", "vmiName", default=""))
        for item in record["initial"]
        if item["kind"] == MIGRATION
    }
    for event in events:
        if event.get("kind") == MIGRATION and "added" in event:
            found[event["name"]] = str(at(event, "added", "spec", "vmiName", default=""))
    return found


def vmi_of_pod(state: Mapping[str, Any]) -> str:
    """The VMI of a launcher pod's recorded state."""
    annotated = at(state, "annotations", "kubevirt.io/domain")
    return str(annotated or at(state, "labels", _DOMAIN, default=""))
