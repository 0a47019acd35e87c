"""Watches: the change log as a stream, with initial events, bookmarks and an end."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

from gitbot.kubernetes.objects import KubernetesObject
from gitbot.simulation.http.list_requests import Query, Wanted, matcher, shaper
from gitbot.simulation.http.routes import Route
from gitbot.simulation.http.tables import partial
from gitbot.simulation.selectors import Match
from gitbot.simulation.status_errors import ApiError
from gitbot.simulation.store import Change, Store

SLICE = 0.25  # real seconds of one wait: the delay until a stop is noticed
BOOKMARK_SLICES = 40
_INITIAL_END = {"k8s.io/initial-events-end": "true"}


class Watch:
    """One watch request. Iterating gives the events; it ends on timeout, stop or expiry."""

    def __init__(
        self,
        *,
        store: Store,
        lock: threading.Condition,
        stopping: Callable[[], bool],
        now: Callable[[], int],
        route: Route,
        query: Query,
        wanted: Wanted,
    ) -> None:
        self._store = store
        self._lock = lock
        self._stopping = stopping
        self._route = route
        self._query = query
        self._holds: Match = matcher(route, query)
        self._shape = shaper(wanted, now)
        self._table = wanted.form == "table"
        timeout = query.get("timeoutSeconds") or "0"
        self._slices = int(float(timeout) / SLICE) if timeout != "0" else 3600 * 4
        self._bookmarks = query.get("allowWatchBookmarks") == "true"
        self._version = 0

    def start(self) -> list[dict[str, Any]]:
        """The client's first events, sent at once. Call it under the lock; raises 410."""
        sent = self._query.get("resourceVersion") or "0"
        initial = self._query.get("sendInitialEvents") == "true"
        if sent not in ("", "0") and not initial:
            self._version = int(sent)
            self._store.history_since(self._version)
            return []
        self._version = self._store.version
        events = [
            self._event("ADDED", obj)
            for obj in self._store.all(self._route.resource.kind, self._route.namespace)
            if self._holds(obj)
        ]
        if initial and self._bookmarks:
            events.append(self._bookmark(annotations=_INITIAL_END))
        return events

    def follow(self) -> Iterator[list[dict[str, Any]]]:
        """Batches of events until the watch ends."""
        idle = 0
        for _ in range(max(self._slices, 1)):
            with self._lock:
                if self._store.version == self._version:
                    self._lock.wait(SLICE)
                if self._stopping():
                    return
                events, ended = self._news()
            if events:
                idle = 0
                yield events
            if ended:
                return
            idle += 1
            if self._bookmarks and idle % BOOKMARK_SLICES == 0:
                yield [self._bookmark()]
        if self._bookmarks:
            yield [self._bookmark()]

    def _news(self) -> tuple[list[dict[str, Any]], bool]:
        try:
            changes = self._store.history_since(self._version)
        except ApiError as expired:
            return [{"type": "ERROR", "object": expired.status()}], True
        self._version = self._store.version
        events = [
            event
            for change in changes
            if change.kind == self._route.resource.kind
            if (event := self._seen(change)) is not None
        ]
        return events, False

    def _seen(self, change: Change) -> dict[str, Any] | None:
        before = change.old is not None and self._holds(change.old)
        after = change.type != "DELETED" and self._holds(change.new)
        if before and not after:
            return self._event("DELETED", change.new)
        if after:
            return self._event("MODIFIED" if before else "ADDED", change.new)
        return None

    def _event(self, kind: str, obj: KubernetesObject) -> dict[str, Any]:
        return {"type": kind, "object": self._shape(obj)}

    def _bookmark(self, annotations: dict[str, str] | None = None) -> dict[str, Any]:
        resource = self._route.resource
        metadata: dict[str, Any] = {"resourceVersion": str(self._version)}
        if annotations:
            metadata["annotations"] = annotations
        obj: dict[str, Any] = {
            "kind": resource.kind,
            "apiVersion": resource.api_version,
            "metadata": metadata,
        }
        if self._table:
            row = {"cells": [], "object": partial(obj)}
            obj = {
                "kind": "Table",
                "apiVersion": "meta.k8s.io/v1",
                "metadata": metadata,
                "columnDefinitions": [],
                "rows": [row],
            }
        return {"type": "BOOKMARK", "object": obj}
