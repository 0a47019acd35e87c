"""A copy of an API server's objects, kept current by watches; writes to it go to the server.

It is a store of the simulator, so the simulator's controllers run on it as they are. What a write
answered is in the copy at once: a controller sees its own writes.
"""

import bisect
import contextlib
import queue
from collections.abc import Callable, Mapping
from typing import Any, Literal

from gitbot.kubernetes.objects import KubernetesObject
from gitbot.simulation.served_resources import BY_KIND
from gitbot.simulation.simulated_api import Answer, Api, WriteOptions
from gitbot.simulation.status_errors import ApiError
from gitbot.simulation.store import Change, Key, Store, key_of, version_of, with_metadata
from tests.controlplane.kubevirt.connection import Connection, path_of
from tests.doubles.no_admission import NoAdmission

_STATUS_WRITERS = frozenset({"Pod", "Node"})  # what kubelets write is always the status


class Mirror(Store):
    """Objects with the server's own resourceVersions."""

    def __init__(self, connection: Connection, *, now: Callable[[], int]) -> None:
        super().__init__(seed=0, now=now, history=1)
        self.connection = connection
        self.writes = 0
        self.outbox: queue.SimpleQueue[tuple[str, str, KubernetesObject] | None]
        self.outbox = queue.SimpleQueue()

    # What the server says

    def take(self, kind: str, obj: Mapping[str, Any]) -> KubernetesObject:
        """An object as the server has it, unless something newer is here already."""
        new = _trimmed(kind, obj)
        key = key_of(new)
        old = self.find(kind, key)
        if old is not None and version_of(old) >= version_of(new):
            return old
        self._reindex(kind, key, old, new)
        self._objects[kind][key] = new
        if old is None:
            bisect.insort(self._keys[kind], key)
        self._tell("MODIFIED" if old is not None else "ADDED", kind, key, old, new)
        return new

    def drop(self, kind: str, obj: Mapping[str, Any]) -> None:
        """An object is gone from the server; a deletion older than our state changes nothing."""
        last = _trimmed(kind, obj)
        key = key_of(last)
        old = self.find(kind, key)
        if old is None or version_of(old) > version_of(last):
            return
        self._reindex(kind, key, old, None)
        del self._objects[kind][key]
        keys = self._keys[kind]
        del keys[bisect.bisect_left(keys, key)]
        self._tell("DELETED", kind, key, old, last)

    def reset(self, kind: str, objects: list[Mapping[str, Any]], version: int) -> None:
        """All objects of a kind as a list of that version has them; what is newer stays."""
        present = {key_of(obj) for obj in objects}
        for known in list(self.all(kind)):
            if key_of(known) not in present and version_of(known) <= version:
                self.drop(kind, known)
        for obj in objects:
            self.take(kind, obj)

    def _tell(
        self,
        kind_of_change: Literal["ADDED", "MODIFIED", "DELETED"],
        kind: str,
        key: Key,
        old: KubernetesObject | None,
        new: KubernetesObject,
    ) -> None:
        change = Change(
            version=version_of(new), type=kind_of_change, kind=kind, key=key, old=old, new=new
        )
        for listener in self.listeners:
            listener(change)

    # Writing

    def create(self, obj: KubernetesObject) -> KubernetesObject:
        """POST; raises ApiError. Events are sent by and by, as from a real recorder."""
        resource = BY_KIND[obj["kind"]]
        path = path_of(resource, str(obj["metadata"].get("namespace") or ""))
        if resource.kind == "Event":
            return self._tell_later("POST", path, obj)
        return self._send("POST", resource.kind, path, obj)

    def replace(self, obj: KubernetesObject, *, check_version: bool = True) -> KubernetesObject:
        """PUT of the object, for pods and nodes of their status; raises ApiError."""
        del check_version
        if obj["kind"] == "Event":
            return self._tell_later("PUT", path_of(BY_KIND["Event"], *key_of(obj)), obj)
        return self.put(obj, "status" if obj["kind"] in _STATUS_WRITERS else "")

    def _tell_later(self, method: str, path: str, event: KubernetesObject) -> KubernetesObject:
        self.outbox.put((method, path, event))
        self._objects["Event"][key_of(event)] = event
        return event

    def send_events(self) -> None:
        """Send what is in the outbox until None comes; a refused Event is lost."""
        while (message := self.outbox.get()) is not None:
            with contextlib.suppress(ApiError):
                self.connection.request(*message)

    def put(self, obj: KubernetesObject, subresource: str = "") -> KubernetesObject:
        """PUT; on a conflict the copy is brought up to date before it is raised."""
        resource, (namespace, name) = BY_KIND[obj["kind"]], key_of(obj)
        path = path_of(resource, namespace, name)
        try:
            return self._send("PUT", resource.kind, _joined(path, subresource), obj)
        except ApiError as refusal:
            if refusal.code in (404, 409):
                self._refresh(resource.kind, path, obj)
            raise

    def remove(self, kind: str, key: Key, options: Mapping[str, Any]) -> None:
        """DELETE; what it answered is in the copy."""
        path = path_of(BY_KIND[kind], *key)
        answer = self.connection.request(
            "DELETE", path, {"propagationPolicy": "Background"} | {**options}
        )
        self.writes += 1
        if answer.get("kind") == kind and answer["metadata"].get("deletionTimestamp"):
            self.take(kind, answer)

    def _send(self, method: str, kind: str, path: str, obj: KubernetesObject) -> KubernetesObject:
        answer = self.connection.request(method, path, obj)
        self.writes += 1
        return self.take(kind, answer)

    def _refresh(self, kind: str, path: str, obj: KubernetesObject) -> None:
        try:
            self.take(kind, self.connection.request("GET", path))
        except ApiError as refusal:
            if refusal.code == 404:
                self.drop(kind, obj)


def _joined(path: str, subresource: str) -> str:
    return f"{path}/{subresource}" if subresource else path


def _trimmed(kind: str, obj: Mapping[str, Any]) -> dict[str, Any]:
    """With kind and apiVersion (items of lists have none), without managedFields."""
    named = {"apiVersion": BY_KIND[kind].api_version, "kind": kind, **obj}
    return with_metadata(named, managedFields=None)


class RemoteApi(Api):
    """The writes of controllers, made on the server behind a mirror."""

    def __init__(self, mirror: Mirror) -> None:
        super().__init__(mirror, NoAdmission())
        self._mirror = mirror

    def create(
        self, obj: KubernetesObject, *, namespace: str = "", asked: WriteOptions | None = None
    ) -> Answer:
        """POST."""
        del namespace, asked
        return Answer(object=self._mirror.create(obj))

    def update(
        self, obj: KubernetesObject, *, subresource: str = "", asked: WriteOptions | None = None
    ) -> Answer:
        """PUT."""
        del asked
        return Answer(object=self._mirror.put(obj, subresource))

    def delete(
        self,
        kind: str,
        key: Key,
        *,
        options: Mapping[str, Any] | None = None,
        asked: WriteOptions | None = None,
    ) -> KubernetesObject:
        """DELETE; returns what was known of the object."""
        del asked
        known = self._mirror.find(kind, key)
        self._mirror.remove(kind, key, options or {})
        return known or {}
