"""What the played handler did in a recording, step by step: the dials that nobody wrote down.

Its behaviour is input. A dial says it in advance; where none does, the recording shows how long a
step took or that a copy failed.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from gitbot.kubernetes.objects import at

MIGRATION, VMI = "VirtualMachineInstanceMigration", "VirtualMachineInstance"
_ABORTED = "Live migration aborted"
_BY_CONTROLLER = "Target pod is down"
_MARKS = {
    "targetNodeAddress": "address",
    "startTimestamp": "start",
    "targetNodeDomainDetected": "detected",
    "endTimestamp": "ended",
    "completed": "completed",
}
# step -> the moments between which it lies
_SPANS = {
    "prepare": ("PreparingTarget", "address"),
    "start": ("TargetReady", "start"),
    "detect": ("start", "detected"),
    "switch": ("detected", "ended"),
    "abort": ("abortRequested", "ended"),
    "settle": ("ended", "completed"),
}


class HandlerSteps:
    """The moments (milliseconds) of each migration, and how it ended."""

    def __init__(self, events: Iterable[Mapping[str, Any]]) -> None:
        self._moments: dict[str, dict[str, int]] = {}
        self._states: dict[str, dict[str, Any]] = {}
        self._booted: dict[str, dict[str, int]] = {}
        for event in events:
            changes = event.get("changed")
            if changes is None or "event" in event:
                continue
            now = round(float(event["t"]) * 1000)
            if event.get("kind") == MIGRATION and "phase" in changes:
                self._at(event["name"]).setdefault(str(changes["phase"]), now)
            elif event.get("kind") == VMI:
                self._see(str(event["name"]), changes, now)

    def _at(self, migration: str) -> dict[str, int]:
        return self._moments.setdefault(migration, {})

    def _see(self, vmi: str, changes: Mapping[str, Any], now: int) -> None:
        if changes.get("phase") in ("Scheduled", "Running"):
            self._booted.setdefault(vmi, {})[str(changes["phase"])] = now
        state = self._states.setdefault(vmi, {})
        for path, value in changes.items():
            part, slash, key = path.partition("/")
            if part != "migrationState":
                continue
            if slash:
                state[key] = value
            else:
                state.clear()
                state.update(value or {})
        name = str(state.get("migrationUid") or "").removesuffix(">").rpartition(" ")[2]
        if not name:
            return
        moments = self._at(name)
        for key, mark in _MARKS.items():
            if state.get(key):
                moments.setdefault(mark, now)
        if state.get("abortRequested"):
            moments.setdefault("abortRequested", now)
        if state.get("failed"):
            self._states.setdefault(f"end of {name}", {"reason": state.get("failureReason")})

    def wait(self, migration: str, step: str) -> int | None:
        """How long a step took, None where that is not to be seen."""
        moments = self._moments.get(migration, {})
        begin, end = (moments.get(mark) for mark in _SPANS.get(step, ("", "")))
        if step == "detect" and end is None:  # a copy that fails is never detected
            end = moments.get("ended")
        return None if begin is None or end is None else max(0, end - begin)

    def failure(self, migration: str) -> str:
        """With which reason the handler let it fail, "" where it did not."""
        reason = at(self._states.get(f"end of {migration}"), "reason", default="")
        return "" if reason in (_ABORTED, _BY_CONTROLLER) else str(reason)

    def boot(self, vmi: str) -> int | None:
        """How long a guest took to boot, None where it is not to be seen that it did."""
        moments = self._booted.get(vmi, {})
        if "Scheduled" not in moments or "Running" not in moments:
            return None
        return max(0, moments["Running"] - moments["Scheduled"])
