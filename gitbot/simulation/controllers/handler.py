"""virt-handler on every node: room kubevirt plays it, the dials say how long it takes."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from gitbot.kubevirt.handler import HandlerTimes, reconcile_handler
from gitbot.kubevirt.limits import estimate_seconds
from gitbot.kubevirt.reconcile import MIGRATION, VMI
from gitbot.model.objects import Json, KubernetesObject, at
from gitbot.model.quantities import whole
from gitbot.simulation.controllers.kubelet import is_ready
from gitbot.simulation.controllers.reconciled import StoreView, Writer
from gitbot.simulation.dials import Dials
from gitbot.simulation.store import Change, Key, Store, controller_of


class Failures:
    """Migrations that are to fail: how often, and why, for each VMI."""

    def __init__(self) -> None:
        self._waiting: dict[Key, list[str]] = {}
        self._given: dict[str, str] = {}

    def add(self, vmi: Key, reason: str) -> None:
        """Let the next memory copy of a VMI fail."""
        self._waiting.setdefault(vmi, []).append(reason)

    def of(self, vmi: Key, migration_uid: str) -> str:
        """The reason why this migration fails, "" where it does not."""
        if migration_uid not in self._given:
            reasons = self._waiting.get(vmi)
            self._given[migration_uid] = reasons.pop(0) if reasons else ""
        return self._given[migration_uid]


class Handler:
    """Both virt-handlers of every migration, source and target."""

    kinds = frozenset({MIGRATION, VMI, "Pod"})

    def __init__(
        self,
        *,
        store: Store,
        view: StoreView,
        writer: Writer,
        now: Callable[[], int],
        dials: Callable[[], Dials],
        failures: Failures,
    ) -> None:
        self._store = store
        self._view = view
        self._writer = writer
        self._now = now
        self._dials = dials
        self._failures = failures

    def touched(self, change: Change) -> Iterable[Key]:
        """A VMI with a migration state that changed, or whose migration or pod did."""
        key = change.key
        if change.kind == MIGRATION:
            key = (key[0], at(change.new, "spec", "vmiName", default=""))
        elif change.kind == "Pod":
            owner = controller_of(change.new)
            if owner is None or owner["kind"] != VMI:
                return []
            key = (key[0], owner["name"])
        vmi = self._store.find(VMI, key)
        return [key] if at(vmi, "status", "migrationState") is not None else []

    def reconcile(self, key: Key) -> int | None:
        """One step of the handlers of one VMI."""
        vmi = self._store.find(VMI, key)
        if vmi is None:
            return None
        times = self._times(key, vmi)
        return self._writer.carry_out(key, reconcile_handler(self._view, vmi, self._now(), times))

    def _times(self, key: Key, vmi: KubernetesObject) -> HandlerTimes:
        dials = self._dials()
        state: Json = at(vmi, "status", "migrationState", default={})
        copy = max(dials.copy_minimum, estimate_seconds(_memory(vmi), dials.bandwidth))
        started = bool(state.get("startTimestamp")) and not state.get("completed")
        return HandlerTimes(
            prepare=dials.handler_step,
            start=dials.handler_step,
            copy=copy,
            leave=dials.handler_step,
            fails=self._failure(key, state) if started else "",
        )

    def _failure(self, key: Key, state: Json) -> str:
        wanted = self._failures.of(key, state["migrationUid"])
        for side in ("source", "target"):
            node = self._store.find("Node", ("", state.get(f"{side}Node", "")))
            if not is_ready(node):
                return wanted or f"the {side} node does not answer"
        return wanted


def _memory(vmi: KubernetesObject) -> int:
    """Guest memory in bytes."""
    text = at(vmi, "status", "memory", "guestCurrent") or at(
        vmi, "spec", "domain", "resources", "requests", "memory", default="1Gi"
    )
    return whole(text)
