"""The object store: versions, UIDs, finalizers, indexes and the watch history.

It has Kubernetes' storage semantics and no controller's rules. Stored objects are never changed in
place: a write replaces the whole object, so readers may keep the objects they got.
"""

from __future__ import annotations

import bisect
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from gitbot.kubernetes.objects import KubernetesObject, at
from gitbot.model.text.canonical import short_digest
from gitbot.model.text.instants import format_instant
from gitbot.simulation.served_resources import BY_KIND, ServedResource
from gitbot.simulation.status_errors import STALE, already_exists, conflict, gone, not_found

Key = tuple[str, str]  # namespace ("" for cluster-scoped objects), name
Indexer = Callable[[KubernetesObject], Iterable[str]]
_SUFFIX_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"  # k8s.io/apimachinery/pkg/util/rand
HISTORY = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One write: `new` is the object after it (the last state, for DELETED)."""

    version: int
    type: Literal["ADDED", "MODIFIED", "DELETED"]
    kind: str
    key: Key
    old: KubernetesObject | None
    new: KubernetesObject


def key_of(obj: KubernetesObject) -> Key:
    metadata = obj["metadata"]
    return (metadata.get("namespace") or "", metadata["name"])


def version_of(obj: KubernetesObject) -> int:
    """The resourceVersion as a number, 0 if there is none."""
    return int(at(obj, "metadata", "resourceVersion", default="0"))


def with_metadata(obj: KubernetesObject, **fields: Any) -> dict[str, Any]:
    """The object with metadata fields set; None removes one."""
    metadata = {**obj["metadata"], **fields}
    metadata = {name: value for name, value in metadata.items() if value is not None}
    return {**obj, "metadata": metadata}


class Store:
    """All objects of one cluster. `now` gives the virtual time for creation timestamps."""

    def __init__(self, *, seed: int, now: Callable[[], int], history: int = HISTORY) -> None:
        self._seed = seed
        self._now = now
        self._version = 1
        self._drawn: dict[str, int] = {}
        self._objects: dict[str, dict[Key, KubernetesObject]] = {kind: {} for kind in BY_KIND}
        self._keys: dict[str, list[Key]] = {kind: [] for kind in BY_KIND}
        self._changed = dict.fromkeys(BY_KIND, 0)
        self._history: deque[Change] = deque(maxlen=history)
        self._indexers: dict[str, dict[str, Indexer]] = {kind: {} for kind in BY_KIND}
        self._indexes: dict[tuple[str, str], dict[str, set[Key]]] = {}
        self.listeners: list[Callable[[Change], None]] = []

    # Reading

    @property
    def version(self) -> int:
        return self._version

    def changed(self, kind: str) -> int:
        """The version of the last change of any object of a kind, 0 if there was none."""
        return self._changed[kind]

    def find(self, kind: str, key: Key) -> KubernetesObject | None:
        return self._objects[kind].get(key)

    def get(self, kind: str, key: Key) -> KubernetesObject:
        """One object; raises 404 if it does not exist."""
        found = self.find(kind, key)
        if found is None:
            raise not_found(BY_KIND[kind], key[1])
        return found

    def all(self, kind: str, namespace: str = "") -> Iterator[KubernetesObject]:
        """All objects of a kind (of one namespace), sorted by (namespace, name)."""
        objects, keys = self._objects[kind], self._keys[kind]
        if not namespace:
            return iter([objects[key] for key in keys])
        low = bisect.bisect_left(keys, (namespace, ""))
        high = bisect.bisect_left(keys, (namespace + "\0", ""))
        return iter([objects[key] for key in keys[low:high]])

    def all_at(self, kind: str, version: int, namespace: str = "") -> Iterator[KubernetesObject]:
        """The same at an earlier version. Raises 410 if history is too short."""
        found = {key_of(obj): obj for obj in self.all(kind, namespace)}
        for change in reversed(self.history_since(version)):
            if change.kind != kind or (namespace and change.key[0] != namespace):
                continue
            if change.old is None:
                found.pop(change.key, None)
            else:
                found[change.key] = change.old
        return iter([found[key] for key in sorted(found)])

    def add_index(self, kind: str, name: str, indexer: Indexer) -> None:
        """Index a kind by the texts that `indexer` gives for each object."""
        self._indexers[kind][name] = indexer
        index = self._indexes.setdefault((kind, name), {})
        for key in self._keys[kind]:
            for value in indexer(self._objects[kind][key]):
                index.setdefault(value, set()).add(key)

    def indexed(self, kind: str, name: str, value: str) -> tuple[KubernetesObject, ...]:
        """The objects of an index entry, sorted by (namespace, name)."""
        keys = self._indexes[(kind, name)].get(value)
        if not keys:
            return ()
        objects = self._objects[kind]
        return tuple(objects[key] for key in sorted(keys))

    def history_since(self, version: int) -> list[Change]:
        """All changes after a version, oldest first. Raises 410 if history is too short."""
        if self._history and version < self._history[0].version - 1:
            oldest = self._history[0].version - 1
            raise gone(f"too old resource version: {version} ({oldest})")
        found: list[Change] = []
        for change in reversed(self._history):
            if change.version <= version:
                break
            found.append(change)
        return found[::-1]

    # Writing

    def new_name(self, prefix: str, scope: str = "") -> str:
        """A name for `generateName`: the prefix and five letters.

        They depend on seed, scope (kind and namespace), prefix and the number of earlier calls with
        these, so that a story keeps its names when it gets other objects.
        """
        number = self._draw(f"name/{scope}/{prefix}")
        letters = []
        for _ in range(5):
            number, rest = divmod(number, len(_SUFFIX_ALPHABET))
            letters.append(_SUFFIX_ALPHABET[rest])
        return prefix[:58] + "".join(letters)

    def prepare(self, obj: KubernetesObject) -> dict[str, Any]:
        """The object as it would be created: name, UID, creationTimestamp, generation."""
        metadata = dict(obj["metadata"])
        scope = f"{obj['kind']}/{metadata.get('namespace', '')}"
        if not metadata.get("name"):
            metadata["name"] = self.new_name(metadata.get("generateName", ""), scope)
        number = self._draw(f"uid/{scope}/{metadata['name']}")
        digits = f"{number:032x}"
        metadata["uid"] = "-".join(
            (digits[:8], digits[8:12], "4" + digits[13:16], "a" + digits[17:20], digits[20:])
        )
        metadata["creationTimestamp"] = format_instant(self._now())
        if BY_KIND[obj["kind"]].counted:
            metadata.setdefault("generation", 1)
        return {**obj, "metadata": metadata}

    def _draw(self, what: str) -> int:
        """The next number (128 bits) of a series that seed and name decide."""
        count = self._drawn[what] = self._drawn.get(what, 0) + 1
        return int(short_digest(f"{self._seed}/{what}/{count}", 32), 16)

    def create(self, obj: KubernetesObject) -> KubernetesObject:
        resource = BY_KIND[obj["kind"]]
        prepared = self.prepare(obj)
        key = key_of(prepared)
        if key in self._objects[resource.kind]:
            raise already_exists(resource, key[1])
        return self._put("ADDED", resource, None, prepared)

    def replace(self, obj: KubernetesObject, *, check_version: bool = True) -> KubernetesObject:
        """Store a changed object; removes it if it is being deleted and has no finalizer left.

        Raises 404, and 409 Conflict if resourceVersion or UID are not the stored ones. A write
        without a change makes no new version, as in etcd3 storage.
        """
        resource = BY_KIND[obj["kind"]]
        old = self.check_current(obj, check_version=check_version)
        new = self._carry_over(resource, old, obj)
        if new == old:
            return old
        metadata = new["metadata"]
        if metadata.get("deletionTimestamp") and self._may_go(resource, new):
            return self._remove(resource, old, new)
        return self._put("MODIFIED", resource, old, new)

    def check_current(
        self, obj: KubernetesObject, *, check_version: bool = True
    ) -> KubernetesObject:
        """The stored object; raises 404, and 409 if `obj` is based on another state of it."""
        resource, key = BY_KIND[obj["kind"]], key_of(obj)
        old = self.get(resource.kind, key)
        sent = at(obj, "metadata", "resourceVersion", default="")
        if check_version and sent and sent != old["metadata"]["resourceVersion"]:
            raise conflict(resource, key[1], STALE)
        uid = at(obj, "metadata", "uid", default="")
        if uid and uid != old["metadata"]["uid"]:
            why = f"Precondition failed: UID in precondition: {uid}, UID in object meta: "
            raise conflict(resource, key[1], why + old["metadata"]["uid"])
        return old

    def marked(self, old: KubernetesObject, grace: int = 0) -> dict[str, Any]:
        """The object in the state of being deleted."""
        metadata = old["metadata"]
        return with_metadata(
            old,
            deletionTimestamp=metadata.get("deletionTimestamp") or format_instant(self._now()),
            deletionGracePeriodSeconds=min(
                grace, metadata.get("deletionGracePeriodSeconds", grace)
            ),
        )

    def delete(self, kind: str, key: Key, *, grace: int = 0) -> KubernetesObject:
        """Delete an object: at once, or marked until finalizers and grace (seconds) are over."""
        resource, old = BY_KIND[kind], self.get(kind, key)
        marked = self.marked(old, grace)
        if self._may_go(resource, marked):
            return self._remove(resource, old, marked)
        return old if marked == old else self._put("MODIFIED", resource, old, marked)

    @staticmethod
    def _may_go(resource: ServedResource, obj: KubernetesObject) -> bool:
        metadata = obj["metadata"]
        waits = resource.kind == "Pod" and metadata.get("deletionGracePeriodSeconds", 0) > 0
        return not metadata.get("finalizers") and not waits

    @staticmethod
    def _carry_over(
        resource: ServedResource, old: KubernetesObject, obj: KubernetesObject
    ) -> dict[str, Any]:
        """Keep the fields that no write can change; count the generation if the spec changes.

        For a custom resource without status subresource the status counts as well.
        """
        kept = {
            name: old["metadata"].get(name)
            for name in (
                "uid",
                "creationTimestamp",
                "generateName",
                "deletionTimestamp",
                "deletionGracePeriodSeconds",
                "resourceVersion",
            )
        }
        if not resource.counted:
            return with_metadata(obj, **kept, generation=old["metadata"].get("generation"))
        generation = old["metadata"].get("generation", 1)
        parts = ("spec",) if resource.status or not resource.custom else ("spec", "status")
        if any(obj.get(part) != old.get(part) for part in parts):
            generation += 1
        return with_metadata(obj, **kept, generation=generation)

    def _put(
        self,
        kind_of_change: Literal["ADDED", "MODIFIED"],
        resource: ServedResource,
        old: KubernetesObject | None,
        obj: KubernetesObject,
    ) -> KubernetesObject:
        self._version += 1
        finalizers = obj["metadata"].get("finalizers") or None  # an empty list counts as none
        new = with_metadata(obj, resourceVersion=str(self._version), finalizers=finalizers)
        key = key_of(new)
        self._reindex(resource.kind, key, old, new)
        self._objects[resource.kind][key] = new
        if old is None:
            bisect.insort(self._keys[resource.kind], key)
        self._announce(kind_of_change, resource.kind, key, old, new)
        return new

    def _remove(
        self, resource: ServedResource, old: KubernetesObject, obj: KubernetesObject
    ) -> KubernetesObject:
        self._version += 1
        last = with_metadata(obj, resourceVersion=str(self._version))
        key = key_of(last)
        self._reindex(resource.kind, key, old, None)
        del self._objects[resource.kind][key]
        keys = self._keys[resource.kind]
        del keys[bisect.bisect_left(keys, key)]
        self._announce("DELETED", resource.kind, key, old, last)
        return last

    def _reindex(
        self,
        kind: str,
        key: Key,
        old: KubernetesObject | None,
        new: KubernetesObject | None,
    ) -> None:
        for name, indexer in self._indexers[kind].items():
            index = self._indexes[(kind, name)]
            before = set(indexer(old)) if old is not None else set()
            after = set(indexer(new)) if new is not None else set()
            for value in before - after:
                index[value].discard(key)
                if not index[value]:
                    del index[value]
            for value in after - before:
                index.setdefault(value, set()).add(key)

    def _announce(
        self,
        kind_of_change: Literal["ADDED", "MODIFIED", "DELETED"],
        kind: str,
        key: Key,
        old: KubernetesObject | None,
        new: KubernetesObject,
    ) -> None:
        change = Change(
            version=self._version, type=kind_of_change, kind=kind, key=key, old=old, new=new
        )
        self._history.append(change)
        self._changed[kind] = self._version
        for listener in self.listeners:
            listener(change)


def owner_uids(obj: KubernetesObject) -> Iterable[str]:
    owners: list[Mapping[str, Any]] = at(obj, "metadata", "ownerReferences", default=[])
    return [owner["uid"] for owner in owners]
