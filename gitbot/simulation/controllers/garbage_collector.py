"""Garbage collection: the dependents of a deleted owner go too (background propagation)."""

from __future__ import annotations

from collections.abc import Iterable

from gitbot.simulation.served_resources import RESOURCES
from gitbot.simulation.simulated_api import Api
from gitbot.simulation.store import Change, Key, Store, key_of, owner_uids

OWNED_KINDS = tuple(resource.kind for resource in RESOURCES if resource.namespaced)


class GarbageCollector:
    """Deletes the dependents of deleted owners, and everything in deleted namespaces.

    An object that is created for an already deleted owner (its controller had not noticed yet) goes
    as well, as with Kubernetes' collector and absent owners.

    Its key is ("", UID of the owner) or (name of the namespace, "").
    """

    kinds = frozenset({*OWNED_KINDS, "Namespace", "Node"})

    def __init__(self, *, store: Store, api: Api) -> None:
        self._store = store
        self._api = api
        self._gone: set[str] = set()  # UIDs of deleted objects
        for kind in OWNED_KINDS:
            store.add_index(kind, "owner", owner_uids)

    def touched(self, change: Change) -> Iterable[Key]:
        """The UID of a deleted object or of a new object's lost owner; a deleted namespace."""
        if change.type == "ADDED":
            return [("", uid) for uid in owner_uids(change.new) if uid in self._gone]
        if change.type != "DELETED":
            return []
        if change.kind == "Namespace":
            return [(change.key[1], "")]
        return [("", change.new["metadata"]["uid"])]

    def reconcile(self, key: Key) -> int | None:
        """Delete the dependents of one UID, or everything in one namespace."""
        namespace, uid = key
        if uid:
            self._gone.add(uid)
        for kind in OWNED_KINDS:
            found = (
                self._store.indexed(kind, "owner", uid)
                if uid
                else tuple(self._store.all(kind, namespace))
            )
            for child in found:
                if "deletionTimestamp" not in child["metadata"]:
                    self._api.delete(kind, key_of(child))
        return None
