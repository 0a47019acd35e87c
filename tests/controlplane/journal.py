"""What happened to pods and nodes, in the order of the API server's revisions.

Revisions are one series over all kinds, so the state of the cluster just before any change can be
put together afterwards: what the scheduler saw when it bound a pod.
"""

import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Self

from gitbot.kubernetes.objects import KubernetesObject, at
from gitbot.simulation.served_resources import BY_KIND
from gitbot.simulation.store import Key, key_of, version_of
from tests.controlplane.kubevirt.connection import Connection, path_of

KINDS = ("Node", "Pod", "VirtualMachineInstance")
State = dict[tuple[str, Key], KubernetesObject]


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One change: the object after it, None where it was deleted."""

    version: int
    kind: str
    key: Key
    object: KubernetesObject | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Binding:
    """A pod got its node. `before` is the state of the cluster at that moment, without it."""

    pod: KubernetesObject
    node: str
    before: Mapping[tuple[str, Key], KubernetesObject]


class Journal:
    """Listens from `__enter__` on. A context manager."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._events: list[Event] = []
        self._start: State = {}
        self._threads: list[threading.Thread] = []
        self._failures: list[str] = []

    def __enter__(self) -> Self:
        for kind in KINDS:
            path = path_of(BY_KIND[kind])
            items, version = self._connection.list(path)
            for item in items:
                self._start[kind, key_of(item)] = _named(kind, item)
            thread = threading.Thread(target=self._listen, args=(kind, path, version), daemon=True)
            thread.start()
            self._threads.append(thread)
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(timeout=5)
        assert self._failures == [], "the journal has gaps"

    def _listen(self, kind: str, path: str, version: str) -> None:
        last = version
        while not self._stop.is_set():
            try:
                for what, obj in self._connection.watch(path, last, self._stop):
                    last = obj["metadata"]["resourceVersion"]
                    if what != "BOOKMARK":
                        self._note(kind, what, obj)
            except Exception as failure:  # noqa: BLE001 - said at the end
                self._failures.append(f"{kind}: {failure!r}")
                return

    def _note(self, kind: str, what: str, obj: KubernetesObject) -> None:
        event = Event(
            version=version_of(obj),
            kind=kind,
            key=key_of(obj),
            object=None if what == "DELETED" else _named(kind, obj),
        )
        with self._lock:
            self._events.append(event)

    def quiet(self, seconds: float = 0.3) -> None:
        """Wait until nothing was heard for a while."""
        known = -1
        while known != len(self._events):
            known = len(self._events)
            time.sleep(seconds)

    def events(self) -> list[Event]:
        """What was heard so far, in order."""
        with self._lock:
            return sorted(self._events, key=lambda event: event.version)

    def states(self) -> Iterator[tuple[Event, State]]:
        """Each event with the state before it; the state is changed in place, copy what is kept."""
        state = dict(self._start)
        for event in self.events():
            yield event, state
            if event.object is None:
                state.pop((event.kind, event.key), None)
            else:
                state[event.kind, event.key] = event.object

    def bindings(self) -> list[Binding]:
        """Each pod that got a node, with the cluster as it was."""
        found = []
        for event, state in self.states():
            if event.kind != "Pod" or event.object is None:
                continue
            node = at(event.object, "spec", "nodeName")
            old = state.get(("Pod", event.key))
            if node and old is not None and not at(old, "spec", "nodeName"):
                before = {**state, ("Pod", event.key): old}
                found.append(Binding(pod=old, node=node, before=before))
        return found


def _named(kind: str, obj: Mapping[str, Any]) -> KubernetesObject:
    metadata = {key: value for key, value in obj["metadata"].items() if key != "managedFields"}
    return {**obj, "apiVersion": BY_KIND[kind].api_version, "kind": kind, "metadata": metadata}
