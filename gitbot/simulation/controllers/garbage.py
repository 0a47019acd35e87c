"""Garbage collection: what a deleted owner leaves behind goes too (background propagation)."""

from __future__ import annotations

from collections.abc import Iterable

from gitbot.simulation.api import Api
from gitbot.simulation.resources import RESOURCES
from gitbot.simulation.store import Change, Key, Store, owner_uids

OWNED_KINDS = tuple(resource.kind for resource in RESOURCES if resource.namespaced)


class GarbageCollector:
    """Deletes the dependents of deleted owners. Its key is ("", UID of the owner)."""

    kinds = frozenset({*OWNED_KINDS, "Node"})

    def __init__(self, *, store: Store, api: Api) -> None:
        self._store = store
        self._api = api
        for kind in OWNED_KINDS:
            store.add_index(kind, "owner", owner_uids)

    def touched(self, change: Change) -> Iterable[Key]:
        """The UID of a deleted object."""
        return [("", change.new["metadata"]["uid"])] if change.type == "DELETED" else []

    def reconcile(self, key: Key) -> int | None:
        """Delete the dependents of one UID."""
        for kind in OWNED_KINDS:
            for child in self._store.indexed(kind, "owner", key[1]):
                metadata = child["metadata"]
                if "deletionTimestamp" not in metadata:
                    self._api.delete(kind, (metadata["namespace"], metadata["name"]))
        return None
