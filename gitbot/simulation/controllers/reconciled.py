"""Runs the pure reconcilers of room `kubevirt` on the store."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import assert_never

from gitbot.kubernetes.names import NamespacedName
from gitbot.kubernetes.objects import KubernetesObject
from gitbot.simulation.event_recorder import Recorder
from gitbot.simulation.kubevirt.reconcile_result import (
    INDEXES,
    Create,
    Delete,
    Index,
    Reconciled,
    RecordEvent,
    Update,
    Write,
)
from gitbot.simulation.simulated_api import CONTROLLER, Api, WriteOptions
from gitbot.simulation.status_errors import ApiError
from gitbot.simulation.store import Indexer, Store

FIRST_RETRY = 1  # seconds; doubles with each refusal, as virt-controller's rate limiter does
LAST_RETRY = 960
_ASKED = WriteOptions(user=CONTROLLER, validation="Ignore")


class StoreView:
    """The View of a reconciler: the store itself, never stale."""

    def __init__(self, store: Store) -> None:
        self._store = store
        for index in INDEXES:
            store.add_index(index.kind, index.name, _indexer(index))

    def get(self, kind: str, name: NamespacedName) -> KubernetesObject | None:
        return self._store.find(kind, (name.namespace, name.name))

    def list(self, kind: str, namespace: str = "") -> Sequence[KubernetesObject]:
        return tuple(self._store.all(kind, namespace))

    def select(self, index: Index, value: str) -> Sequence[KubernetesObject]:
        return self._store.indexed(index.kind, index.name, value)


def _indexer(index: Index) -> Indexer:
    def values(obj: KubernetesObject) -> list[str]:
        value = index.key(obj)
        return [value] if value else []

    return values


class Reconciler:
    """The base of loops that run KubeVirt's reconcilers: what they read, and who writes."""

    def __init__(
        self, *, store: Store, view: StoreView, writer: Writer, now: Callable[[], int]
    ) -> None:
        self._store = store
        self._view = view
        self._writer = writer
        self._now = now


class Writer:
    """Makes the writes of one answer, in order; a refusal drops the rest."""

    def __init__(self, *, api: Api, now: Callable[[], int], source: str) -> None:
        self._api = api
        self._events = Recorder(store=api.store, now=now, source=source)
        self._refusals: dict[tuple[str, str], int] = {}

    def carry_out(
        self,
        key: tuple[str, str],
        answer: Reconciled,
        waits: Callable[[str], None] = lambda _: None,
    ) -> int | None:
        """Returns the seconds until the next call, None for "when something changes".

        `waits` gets the reason if a refusal stops the writes.
        """
        for write in answer.writes:
            try:
                self._write(write)
            except ApiError as refusal:
                if refusal.reason == "Conflict":
                    return 0
                if isinstance(write, Create) and write.refused is not None:
                    after = write.refused(refusal.message)
                    self.carry_out((key[0], f"{key[1]}/refused"), after)
                    waits(after.waits_for)
                    return after.requeue_after or self._back_off(key)
                return self._back_off(key)
        self._refusals.pop(key, None)
        return answer.requeue_after

    def _back_off(self, key: tuple[str, str]) -> int:
        count = self._refusals.get(key, 0)
        self._refusals[key] = count + 1
        return min(FIRST_RETRY << min(count, 10), LAST_RETRY)

    def _write(self, write: Write) -> None:
        match write:
            case Create(object=obj, event=event):
                stored = self._api.create(obj, asked=_ASKED).object
                if event is not None:
                    text = event.message.replace("{name}", stored["metadata"]["name"])
                    self._write(replace(event, message=text))
            case Update(object=obj, subresource=subresource):
                self._api.update(obj, subresource=subresource, asked=_ASKED)
            case Delete(kind=kind, name=name, uid=uid):
                self._delete(kind, name, uid)
            case RecordEvent(object=obj, type=kind, reason=reason, message=message):
                warning = kind == "Warning"
                self._events.record(obj, reason=reason, message=message, warning=warning)
            case _:
                assert_never(write)

    def _delete(self, kind: str, name: NamespacedName, uid: str) -> None:
        options = {"preconditions": {"uid": uid}}
        try:
            self._api.delete(kind, (name.namespace, name.name), options=options, asked=_ASKED)
        except ApiError as refusal:
            if refusal.code != 404 and refusal.reason != "Conflict":
                raise
