"""Node lifecycle: cordon taints, lost heartbeats, eviction by taint, and recovery.

Times and taints: k8s.io/kubernetes pkg/controller/nodelifecycle and tainteviction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from gitbot.kubernetes.objects import KubernetesObject, at
from gitbot.kubernetes.phases import is_final
from gitbot.model.text.canonical import short_digest
from gitbot.model.text.instants import format_instant
from gitbot.simulation.simulated_api import Api
from gitbot.simulation.simulation_settings import SimulationSettings
from gitbot.simulation.store import Change, Key, Store, key_of

CORDONED = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
UNREACHABLE = "node.kubernetes.io/unreachable"


class Nodes:
    """Writes taints and readiness. A node passed to `lose` is silent until `give_back`."""

    kinds = frozenset({"Node"})

    def __init__(
        self,
        *,
        store: Store,
        api: Api,
        now: Callable[[], int],
        dials: Callable[[], SimulationSettings],
    ) -> None:
        self._store = store
        self._api = api
        self._now = now
        self._dials = dials
        self._lost: dict[str, int] = {}  # node -> when its heartbeats ended

    def touched(self, change: Change) -> Iterable[Key]:
        return [change.key] if change.type != "DELETED" else []

    def lose(self, name: str) -> None:
        self._store.get("Node", ("", name))
        self._lost.setdefault(name, self._now())

    def give_back(self, name: str, *, rebooted: bool) -> None:
        """The node reports again; after a reboot its containers are gone and its bootID is new."""
        self._lost.pop(name, None)
        node = self._store.get("Node", ("", name))
        status = dict(node.get("status") or {})
        if rebooted:
            text = short_digest(f"boot/{name}/{self._now()}", 32)
            info = dict(status.get("nodeInfo") or {})
            info["bootID"] = f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"
            status["nodeInfo"] = info
            self._end_pods(name)
        status["conditions"] = self._conditions(node, "True", "KubeletReady", "kubelet is ready")
        self._store.replace({**self._store.get("Node", ("", name)), "status": status})

    def reconcile(self, key: Key) -> int | None:
        """Taints of one node; readiness and eviction of a lost one."""
        node = self._store.find("Node", key)
        if node is None:
            return None
        since = self._lost.get(key[1])
        gone_for = 0 if since is None else self._now() - since
        dials = self._dials()
        silent = since is not None and gone_for >= dials.not_ready_after
        if silent:
            status = dict(node.get("status") or {})
            text = "Kubelet stopped posting node status."
            status["conditions"] = self._conditions(node, "Unknown", "NodeStatusUnknown", text)
            node = self._store.replace({**node, "status": status})
        self._write_taints(node, silent=silent)
        if since is None:
            return None
        if not silent:
            return dials.not_ready_after - gone_for
        if gone_for < dials.not_ready_after + dials.evict_after:
            return dials.not_ready_after + dials.evict_after - gone_for
        self._evict(key[1])
        return None

    def _write_taints(self, node: KubernetesObject, *, silent: bool) -> None:
        taints: list[dict[str, Any]] = at(node, "spec", "taints", default=[])
        kept = [t for t in taints if t["key"] not in (CORDONED["key"], UNREACHABLE)]
        if at(node, "spec", "unschedulable", default=False):
            kept.append(CORDONED)
        if silent:
            kept += [
                {"key": UNREACHABLE, "effect": "NoSchedule"},
                {"key": UNREACHABLE, "effect": "NoExecute"},
            ]
        if kept == taints:
            return
        spec = {name: value for name, value in node["spec"].items() if name != "taints"}
        if kept:
            spec["taints"] = kept
        self._store.replace({**node, "spec": spec})

    def _conditions(
        self, node: KubernetesObject, status: str, reason: str, message: str
    ) -> list[dict[str, Any]]:
        conditions: list[dict[str, Any]] = at(node, "status", "conditions", default=[])
        old = next((item for item in conditions if item["type"] == "Ready"), None)
        since = (
            old["lastTransitionTime"]
            if old and old["status"] == status
            else format_instant(self._now())
        )
        ready = {
            "type": "Ready",
            "status": status,
            "reason": reason,
            "message": message,
            "lastTransitionTime": since,
        }
        return [*(item for item in conditions if item["type"] != "Ready"), ready]

    def _evict(self, name: str) -> None:
        for pod in self._store.indexed("Pod", "node", name):
            tolerations = at(pod, "spec", "tolerations", default=[])
            forever = any(
                item.get("key") in (UNREACHABLE, None, "")
                and item.get("effect") in ("NoExecute", None, "")
                and item.get("tolerationSeconds") is None
                for item in tolerations
            )
            if not forever and "deletionTimestamp" not in pod["metadata"]:
                self._api.delete("Pod", key_of(pod))

    def _end_pods(self, name: str) -> None:
        """After a reboot: pods that never restart have failed, deleted ones are gone."""
        for pod in self._store.indexed("Pod", "node", name):
            if "deletionTimestamp" in pod["metadata"]:
                self._store.delete("Pod", key_of(pod), grace=0)
            elif at(pod, "spec", "restartPolicy") == "Never" and not is_final(pod):
                status = {**pod["status"], "phase": "Failed", "reason": "NodeRebooted"}
                self._store.replace({**pod, "status": status})
