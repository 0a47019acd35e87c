"""The kubelets: bound pods start, deleted pods stop. virt-handler does what is inside a VM."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from gitbot.kubernetes.objects import KubernetesObject, at, condition_of
from gitbot.model.text.canonical import short_digest
from gitbot.model.text.instants import format_instant, parse_instant
from gitbot.simulation.simulation_settings import SimulationSettings
from gitbot.simulation.store import Change, Key, Store

KINDS = frozenset({"Node", "Pod"})


class Kubelet:
    """All kubelets of the cluster. A node without a True Ready condition has none."""

    kinds = KINDS

    def __init__(
        self, *, store: Store, now: Callable[[], int], dials: Callable[[], SimulationSettings]
    ) -> None:
        self._store = store
        self._now = now
        self._dials = dials

    def touched(self, change: Change) -> Iterable[Key]:
        """The pod; all pods of a node whose readiness changed."""
        if change.kind == "Pod":
            moving = change.type != "DELETED" and _needs_kubelet(change.new)
            return [change.key] if moving else []
        if is_ready(change.old) == is_ready(change.new):
            return []
        pods = self._store.indexed("Pod", "node", change.key[1])
        return [(pod["metadata"]["namespace"], pod["metadata"]["name"]) for pod in pods]

    def reconcile(self, key: Key) -> int | None:
        """Start or stop one pod when it is due."""
        pod = self._store.find("Pod", key)
        if pod is None or not _needs_kubelet(pod):
            return None
        node = self._store.find("Node", ("", pod["spec"]["nodeName"]))
        if node is None or not is_ready(node):
            return None
        if pod["metadata"].get("deletionTimestamp"):
            return self._stop(key, pod)
        return self._start(pod)

    def _start(self, pod: KubernetesObject) -> int | None:
        scheduled = condition_of(pod, "PodScheduled") or {}
        created = pod["metadata"]["creationTimestamp"]  # for a pod that came with its node
        since = parse_instant(scheduled.get("lastTransitionTime", created))
        left = since + self._dials().pod_start - self._now()
        if left > 0:
            return left
        self._store.replace({**pod, "status": running_status(pod, self._now())})
        return None

    def _stop(self, key: Key, pod: KubernetesObject) -> int | None:
        metadata = pod["metadata"]
        grace = min(metadata.get("deletionGracePeriodSeconds", 0), self._dials().pod_stop)
        left: int = parse_instant(metadata["deletionTimestamp"]) + grace - self._now()
        if left > 0:
            return left
        self._store.delete("Pod", key, grace=0)
        return None


def _needs_kubelet(pod: KubernetesObject) -> bool:
    if not at(pod, "spec", "nodeName"):
        return False
    deleting = "deletionTimestamp" in pod["metadata"]
    return deleting or at(pod, "status", "phase") == "Pending"


def is_ready(node: KubernetesObject | None) -> bool:
    ready = condition_of(node, "Ready") if node is not None else None
    return ready is not None and ready.get("status") == "True"


def _digest(image: str) -> str:
    """A made-up digest of an image, in a container runtime's form."""
    return image if "@sha256:" in image else f"{image}@sha256:{short_digest(image, 64)}"


def running_status(pod: KubernetesObject, now: int) -> dict[str, Any]:
    text = format_instant(now)
    scheduled = condition_of(pod, "PodScheduled")
    kept = [scheduled] if scheduled else []
    added = [
        {"type": name, "status": "True", "lastTransitionTime": text, "lastProbeTime": None}
        for name in ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady")
    ]
    containers = [
        {
            "name": container["name"],
            "image": container.get("image", ""),
            "imageID": _digest(container.get("image", "")),
            "ready": True,
            "started": True,
            "restartCount": 0,
            "state": {"running": {"startedAt": text}},
        }
        for container in pod["spec"].get("containers", [])
    ]
    status = {**(pod.get("status") or {}), "phase": "Running", "startTime": text}
    return {**status, "conditions": [*kept, *added], "containerStatuses": containers}
