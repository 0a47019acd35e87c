"""virt-handler's part of a migration: the writes on `vmi.status.migrationState` after hand-off.

Source of the sequence: KubeVirt 1.9.0, pkg/virt-handler/migration-{source,target}.go.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

from gitbot.kubevirt import names
from gitbot.kubevirt.edits import with_value, without, without_condition
from gitbot.model.instants import format_instant
from gitbot.model.objects import KubernetesObject, annotations_of, at, labels_of
from gitbot.model.quantities import whole
from gitbot.simulation.controllers.kubelet import is_ready
from gitbot.simulation.controllers.machines import INSTANCE
from gitbot.simulation.dials import Dials
from gitbot.simulation.store import Change, Key, Store, key_of, with_metadata


class Failures:
    """Migrations that are to fail: how often, and why, for each VMI."""

    def __init__(self) -> None:
        self._left: dict[Key, list[str]] = {}

    def add(self, vmi: Key, reason: str) -> None:
        """Let the next migration of a VMI fail."""
        self._left.setdefault(vmi, []).append(reason)

    def take(self, vmi: Key) -> str:
        """The reason why the migration that runs now fails, "" where it does not."""
        reasons = self._left.get(vmi)
        return reasons.pop(0) if reasons else ""


class Handler:
    """Both virt-handlers of every migration, source and target."""

    kinds = frozenset({INSTANCE})

    def __init__(
        self,
        *,
        store: Store,
        now: Callable[[], int],
        dials: Callable[[], Dials],
        failures: Failures,
    ) -> None:
        self._store = store
        self._now = now
        self._dials = dials
        self._failures = failures
        self._reached: dict[tuple[str, str], int] = {}  # (migration UID, step) -> since when

    def touched(self, change: Change) -> Iterable[Key]:
        """A VMI that has a migration state, or a leftover label of one."""
        if change.type == "DELETED" or at(change.new, "status", "migrationState") is None:
            return []
        return [change.key]

    def reconcile(self, key: Key) -> int | None:
        """Make the next write of the sequence when its time has come."""
        vmi = self._store.find(INSTANCE, key)
        state = at(vmi, "status", "migrationState")
        if vmi is None or state is None or not state.get("migrationUid"):
            return None
        if state.get("completed") or state.get("endTimestamp"):
            return self._finish(vmi, state)
        if not state.get("targetNode") or at(vmi, "status", "phase") != "Running":
            return None
        if state.get("abortRequested") and state.get("startTimestamp"):
            self._fail(vmi, "Live migration aborted", abort="Succeeded")
            return None
        step, seconds = self._next_step(vmi, state)
        since = self._reached.setdefault((state["migrationUid"], step), self._now())
        left = since + seconds - self._now()
        if left > 0:
            return left
        self._reached.pop((state["migrationUid"], step), None)
        self._take(vmi, state, step)
        return None

    def _next_step(self, vmi: KubernetesObject, state: Any) -> tuple[str, int]:
        dials = self._dials()
        if not state.get("targetNodeAddress"):
            return "prepare", dials.handler_step
        if not state.get("startTimestamp"):
            return "start", dials.handler_step
        if not state.get("targetNodeDomainReadyTimestamp"):
            return "copy", max(dials.copy_minimum, math.ceil(_memory(vmi) / dials.bandwidth))
        return "acknowledge", 0

    def _take(self, vmi: KubernetesObject, state: Any, step: str) -> None:
        text = format_instant(self._now())
        match step:
            case "prepare":
                self._state(
                    vmi, targetNodeAddress="10.0.0.1", targetDirectMigrationNodePorts={"0": 0}
                )
            case "start":
                self._state(vmi, startTimestamp=text, mode="PreCopy")
            case "copy":
                self._end_of_copy(vmi, state)
            case _:
                self._acknowledge(vmi, state)

    def _end_of_copy(self, vmi: KubernetesObject, state: Any) -> None:
        reason = self._failures.take(key_of(vmi))
        for side in ("source", "target"):
            node = self._store.find("Node", ("", state.get(f"{side}Node", "")))
            if not is_ready(node):
                reason = reason or f"the {side} node is not reachable"
        if reason:
            self._fail(vmi, reason)
            return
        self._state(
            without_condition(vmi, "MigrationRequired"),
            targetNodeDomainDetected=True,
            targetNodeDomainReadyTimestamp=format_instant(self._now()),
        )

    def _acknowledge(self, vmi: KubernetesObject, state: Any) -> None:
        """The switch: the VMI runs on the target from here on; the eviction mark goes."""
        target = state["targetNode"]
        labels = {**labels_of(vmi), names.NODE_NAME: target}
        labels.pop(names.OUTDATED_LAUNCHER, None)
        node = self._store.find("Node", ("", target))
        for key in ("topology.kubernetes.io/region", "topology.kubernetes.io/zone"):
            if node is not None and key in labels_of(node):
                labels[key] = labels_of(node)[key]
        annotations = {
            key: value for key, value in annotations_of(vmi).items() if key != names.EVICTION_SOURCE
        }
        moved = with_metadata(vmi, labels=labels, annotations=annotations or None)
        moved = with_value(moved, target, "status", "nodeName")
        moved = without(moved, "status", "evacuationNodeName")
        self._state(
            without_condition(moved, "EvictionRequested"), endTimestamp=format_instant(self._now())
        )

    def _finish(self, vmi: KubernetesObject, state: Any) -> int | None:
        if not state.get("completed"):
            self._state(vmi, completed=True)
            return None
        if names.TARGET_NODE_NAME in labels_of(vmi):
            labels = {k: v for k, v in labels_of(vmi).items() if k != names.TARGET_NODE_NAME}
            self._store.replace(with_metadata(vmi, labels=labels))
            self._end_pod(vmi, state.get("targetPod" if state.get("failed") else "sourcePod"))
        return None

    def _fail(self, vmi: KubernetesObject, reason: str, abort: str = "") -> None:
        extra = {"abortStatus": abort} if abort else {}
        self._state(
            vmi,
            failed=True,
            completed=True,
            failureReason=reason,
            endTimestamp=format_instant(self._now()),
            **extra,
        )

    def _state(self, vmi: KubernetesObject, **fields: Any) -> None:
        state = {**vmi["status"]["migrationState"], **fields}
        self._store.replace(with_value(vmi, state, "status", "migrationState"))

    def _end_pod(self, vmi: KubernetesObject, name: str | None) -> None:
        pod = self._store.find("Pod", (vmi["metadata"]["namespace"], name or ""))
        if pod is not None and at(pod, "status", "phase") not in ("Succeeded", "Failed"):
            self._store.replace(with_value(pod, "Succeeded", "status", "phase"))


def _memory(vmi: KubernetesObject) -> int:
    """Guest memory in bytes."""
    text = at(vmi, "status", "memory", "guestCurrent") or at(
        vmi, "spec", "domain", "resources", "requests", "memory", default="1Gi"
    )
    return whole(text)
