"""virt-handler on every node: room kubevirt plays it, the dials decide how long it takes."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from gitbot.kubernetes.objects import Json, KubernetesObject, at
from gitbot.kubernetes.quantities import whole
from gitbot.kubevirt.migration_policy import most_bandwidth
from gitbot.simulation.controllers.kubelet import is_ready
from gitbot.simulation.controllers.reconciled import Reconciler, StoreView, Writer
from gitbot.simulation.controllers.workloads import owner_key
from gitbot.simulation.kubevirt.reconcile_result import MIGRATION, VMI
from gitbot.simulation.kubevirt.virt_handler import HandlerTimes, reconcile_handler
from gitbot.simulation.simulation_settings import SimulationSettings
from gitbot.simulation.store import Change, Key, Store


class InjectedFailures:
    """Migrations that shall fail: how often, and why, for each VMI."""

    def __init__(self) -> None:
        self._waiting: dict[Key, list[str]] = {}
        self._given: dict[str, str] = {}

    def add(self, vmi: Key, reason: str) -> None:
        self._waiting.setdefault(vmi, []).append(reason)

    def of(self, vmi: Key, migration_uid: str) -> str:
        """Why this migration fails; "" if it does not."""
        if migration_uid not in self._given:
            reasons = self._waiting.get(vmi)
            self._given[migration_uid] = reasons.pop(0) if reasons else ""
        return self._given[migration_uid]


class NodeHandler(Reconciler):
    """Both virt-handlers of every migration, source and target."""

    kinds = frozenset({MIGRATION, VMI, "Pod"})

    def __init__(
        self,
        *,
        store: Store,
        view: StoreView,
        writer: Writer,
        now: Callable[[], int],
        dials: Callable[[], SimulationSettings],
        failures: InjectedFailures,
    ) -> None:
        super().__init__(store=store, view=view, writer=writer, now=now)
        self._dials = dials
        self._failures = failures

    def touched(self, change: Change) -> Iterable[Key]:
        """A VMI if its migration state changed, or its migration or pod did."""
        keys = [change.key]
        if change.kind == MIGRATION:
            keys = [(change.key[0], at(change.new, "spec", "vmiName", default=""))]
        elif change.kind == "Pod":
            keys = owner_key(change, VMI)
        found = ((key, self._store.find(VMI, key)) for key in keys)
        return [key for key, vmi in found if at(vmi, "status", "migrationState") is not None]

    def reconcile(self, key: Key) -> int | None:
        vmi = self._store.find(VMI, key)
        if vmi is None:
            return None
        times = self._times(key, vmi)
        return self._writer.carry_out(key, reconcile_handler(self._view, vmi, self._now(), times))

    def _times(self, key: Key, vmi: KubernetesObject) -> HandlerTimes:
        dials = self._dials()
        state: Json = at(vmi, "status", "migrationState", default={})
        most = most_bandwidth(state.get("migrationConfiguration") or {})
        bandwidth = min(dials.bandwidth, most or dials.bandwidth)
        copy = max(dials.copy_minimum, estimate_seconds(_memory(vmi), bandwidth))
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
    text = at(vmi, "status", "memory", "guestCurrent") or at(
        vmi, "spec", "domain", "resources", "requests", "memory", default="1Gi"
    )
    return whole(text)


def estimate_seconds(memory_bytes: int, bandwidth: int) -> int:
    """Seconds of a memory copy at `bandwidth` bytes a second, at least one.

    Assumes that every byte of guest memory crosses the network exactly once. A guest that writes
    faster than that needs longer; KubeVirt gives up after completionTimeoutPerGiB.
    """
    return max(1, -(-memory_bytes // max(1, bandwidth)))
