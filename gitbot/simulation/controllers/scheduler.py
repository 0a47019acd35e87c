"""The scheduler's loop: pending pods are bound to the node that the placement chooses."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Protocol

from gitbot.kubernetes.objects import KubernetesObject, at, labels_of
from gitbot.kubernetes.phases import is_final
from gitbot.model.text.instants import format_instant
from gitbot.simulation.event_recorder import Recorder
from gitbot.simulation.store import Change, Key, Store, with_metadata

KINDS = frozenset({"Namespace", "Node", "PersistentVolume", "PersistentVolumeClaim", "Pod"})
_TOPOLOGY = ("topology.kubernetes.io/region", "topology.kubernetes.io/zone")


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """Where a pod goes: a node's name, or "" and the scheduler's words about why nowhere."""

    node: str
    message: str = ""


class Placement(Protocol):
    """Scheduling decisions, kept up to date with the store."""

    def changed(self, change: Change) -> None:
        """Take note of a change of a node, a pod or anything else that affects scheduling."""

    def choose(self, pod: KubernetesObject) -> Choice:
        """The best node for a pod."""


class Scheduler:
    """Binds pods; a pod that fits nowhere is tried again after a change that may help."""

    kinds = KINDS

    def __init__(
        self, *, store: Store, now: Callable[[], int], placement: Placement, events: Recorder
    ) -> None:
        self._store = store
        self._now = now
        self._placement = placement
        self._events = events
        self._waiting: dict[Key, None] = {}

    def touched(self, change: Change) -> Iterable[Key]:
        """A pending pod itself; every waiting pod if a node opens or a pod goes or moves."""
        self._placement.changed(change)
        keys: list[Key] = []
        if change.kind == "Pod" and change.type != "DELETED" and is_pending(change.new):
            if change.type == "ADDED" or change.key not in self._waiting:
                keys.append(change.key)
        else:
            self._waiting.pop(change.key, None) if change.kind == "Pod" else None
        if self._waiting and _may_help(change):
            keys.extend(self._waiting)
        return keys

    def reconcile(self, key: Key) -> int | None:
        pod = self._store.find("Pod", key)
        if pod is None or not is_pending(pod):
            self._waiting.pop(key, None)
            return None
        choice = self._placement.choose(pod)
        if choice.node:
            self._waiting.pop(key, None)
            self._bind(pod, choice.node)
        else:
            self._waiting[key] = None
            self._refuse(pod, choice.message)
        return None

    def _bind(self, pod: KubernetesObject, node_name: str) -> None:
        node = self._store.get("Node", ("", node_name))
        topology = {key: labels_of(node)[key] for key in _TOPOLOGY if key in labels_of(node)}
        bound = with_metadata(pod, labels={**labels_of(pod), **topology})
        condition = {"type": "PodScheduled", "status": "True"}
        status = {**(pod.get("status") or {}), "conditions": [self._condition(pod, condition)]}
        spec = {**pod["spec"], "nodeName": node_name}
        self._store.replace({**bound, "spec": spec, "status": status})
        name = f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
        self._events.record(
            pod, reason="Scheduled", message=f"Successfully assigned {name} to {node_name}"
        )

    def _refuse(self, pod: KubernetesObject, message: str) -> None:
        condition = {
            "type": "PodScheduled",
            "status": "False",
            "reason": "Unschedulable",
            "message": message,
        }
        status = {**(pod.get("status") or {}), "conditions": [self._condition(pod, condition)]}
        new = self._store.replace({**pod, "status": status})
        if new is not pod:
            self._events.record(pod, reason="FailedScheduling", message=message, warning=True)

    def _condition(self, pod: KubernetesObject, wanted: dict[str, Any]) -> dict[str, Any]:
        """The condition with its transition time, which stays while the status is the same."""
        for old in at(pod, "status", "conditions", default=[]):
            if old["type"] == wanted["type"] and old["status"] == wanted["status"]:
                return {**wanted, "lastTransitionTime": old["lastTransitionTime"]}
        return {**wanted, "lastTransitionTime": format_instant(self._now())}


def is_pending(pod: KubernetesObject) -> bool:
    return (
        not at(pod, "spec", "nodeName")
        and "deletionTimestamp" not in pod["metadata"]
        and at(pod, "status", "phase") in (None, "Pending")
        and not at(pod, "spec", "schedulingGates")
    )


def _may_help(change: Change) -> bool:
    if change.kind != "Pod":
        return True
    if change.type == "DELETED":
        return bool(at(change.new, "spec", "nodeName"))
    if change.old is None:
        return False
    before, after = change.old, change.new
    return (
        at(before, "spec", "nodeName") != at(after, "spec", "nodeName")
        or labels_of(before) != labels_of(after)
        or (at(before, "status", "phase") != at(after, "status", "phase") and is_final(after))
    )
