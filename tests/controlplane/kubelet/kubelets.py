"""All kubelets of a control plane in one object: it registers nodes and plays their pods.

kubelets = Kubelets(plane.connection())
kubelets.start()
kubelets.add(node("worker-1", labels={...}))
kubelets.hold("worker-1")        # NotReady, no heartbeats: its pods neither start nor stop
kubelets.release("worker-1")
kubelets.reboot("worker-1")      # new bootID, containers restart, pods that never restart fail
kubelets.refuse("worker-1", reason="OutOfmemory", message="...")
kubelets.keep_pending = lambda pod: ...   # bound pods that do not start yet; then look_again()
kubelets.finish("apps", "job", "Succeeded")
kubelets.stop()
"""

import contextlib
import itertools
import threading
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from gitbot.kubernetes.objects import KubernetesObject, at, condition_of
from gitbot.model.text.instants import parse_instant
from gitbot.simulation.status_errors import ApiError
from tests.controlplane.kubelet import statuses
from tests.controlplane.kubelet.leases import Heartbeats
from tests.controlplane.kubelet.work import Key, WorkQueue
from tests.controlplane.kubevirt.connection import Connection
from tests.controlplane.waiting import eventually

STRATEGIC = "application/strategic-merge-patch+json"
WORKERS = 16
BOUND = {"fieldSelector": "spec.nodeName!="}
NOT_READY = "node.kubernetes.io/not-ready"
AGAIN_SECONDS = 0.5  # after a request that failed


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """A node of ours. A held one is NotReady; `refusal` is reason and message for new pods."""

    name: str
    address: str
    held: bool = False
    refusal: tuple[str, str] | None = None


class Kubelets:
    """Watches bound pods; `start_seconds` and `stop_seconds` are what pods take."""

    def __init__(
        self, connection: Connection, *, start_seconds: float = 0.0, stop_seconds: float = 0.0
    ) -> None:
        self.keep_pending: Callable[[KubernetesObject], bool] = lambda _pod: False
        self._connection = connection
        self._start_seconds, self._stop_seconds = start_seconds, stop_seconds
        self._hosts: dict[str, Host] = {}
        self._pods: dict[Key, KubernetesObject] = {}
        self._lock = threading.Lock()
        self._addresses = itertools.count(256)
        self._work = WorkQueue()
        self._stop = threading.Event()
        self._heartbeats = Heartbeats(connection, self._beating, self._stop)
        loops = [self._follow, self._heartbeats.run, *[self._handle_all] * WORKERS]
        self._threads = [threading.Thread(target=loop, daemon=True) for loop in loops]

    def start(self) -> None:
        """Begin to watch and to beat."""
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """End all threads; nodes and pods stay as they are."""
        self._stop.set()
        self._work.close()
        for thread in self._threads:
            thread.join(timeout=10)

    # Nodes

    def add(self, *nodes: KubernetesObject) -> None:
        """Register nodes (as `gitbot.simulation.building.node` makes them), wait until usable.

        The API server taints every new node not-ready; the controller manager takes that away.
        """
        for node in nodes:
            self._add(node)
        for node in nodes:
            eventually(partial(self._usable, node["metadata"]["name"]))

    def _usable(self, name: str) -> bool:
        node = self._connection.request("GET", f"/api/v1/nodes/{name}")
        taints = at(node, "spec", "taints", default=[])
        return NOT_READY not in [taint["key"] for taint in taints]

    def _add(self, node: KubernetesObject) -> None:
        name = node["metadata"]["name"]
        number = len(self._hosts) + 1
        host = Host(name=name, address=f"10.64.{number >> 8}.{number & 255}")
        addresses = [
            {"type": "InternalIP", "address": host.address},
            {"type": "Hostname", "address": name},
        ]
        conditions = statuses.node_conditions(now=_now(), ready=True)
        status = {**node["status"], "addresses": addresses, "conditions": conditions}
        created = self._connection.request("POST", "/api/v1/nodes", {**node, "status": status})
        self._heartbeats.register(created)
        with self._lock:
            self._hosts[name] = host

    def remove(self, name: str) -> None:
        """Take a node away: the machine is gone and nobody plays its pods any more."""
        with self._lock:
            self._hosts.pop(name, None)
        self._connection.request("DELETE", f"/api/v1/nodes/{name}")

    def remove_all(self) -> None:
        """Take all nodes away, and what ran on them."""
        with self._lock:
            hosts, self._hosts = self._hosts, {}
        for pod in self._pods_of(""):
            if pod["spec"]["nodeName"] in hosts:
                self._forgiving("DELETE", _path(pod), {"gracePeriodSeconds": 0})
        for name in hosts:
            self._forgiving("DELETE", f"/api/v1/nodes/{name}")

    def _forgiving(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> None:
        with contextlib.suppress(ApiError):
            self._connection.request(method, path, body)

    def hold(self, name: str, *, reason: str = "KubeletNotReady") -> None:
        """The node says NotReady, and then nothing."""
        self._change(name, held=True)
        self._write_node(name, {"conditions": _conditions(ready=False, reason=reason)})

    def release(self, name: str) -> None:
        """The node is Ready again, and looks after its pods."""
        self._change(name, held=False)
        self._write_node(name, {"conditions": _conditions(ready=True)})
        self.look_again(name)

    def reboot(self, name: str) -> str:
        """The machine went down and is up again. Returns the new bootID."""
        boot = str(uuid.uuid4())
        self.hold(name)
        self._write_node(name, {"nodeInfo": {"bootID": boot}})
        for pod in self._pods_of(name):
            if at(pod, "status", "phase") == "Running":
                self._write_pod(pod, _after_reboot(pod))
        self.release(name)
        return boot

    def refuse(self, name: str, *, reason: str, message: str) -> None:
        """New pods of the node fail at once, as after a kubelet's own admission."""
        self._change(name, refusal=(reason, message))

    def accept(self, name: str) -> None:
        """Take back `refuse`."""
        self._change(name, refusal=None)

    # Pods

    def finish(self, namespace: str, name: str, phase: str, *, reason: str = "") -> None:
        """The containers of a pod end: phase Succeeded or Failed."""
        pod = self._connection.request("GET", f"/api/v1/namespaces/{namespace}/pods/{name}")
        self._write_pod(pod, statuses.finished(pod, now=_now(), phase=phase, reason=reason))

    def look_again(self, node: str = "") -> None:
        """Look at the pods of a node again, or at all, after `keep_pending` was changed."""
        for pod in self._pods_of(node):
            self._work.add(_key(pod))

    # The loops

    def _follow(self) -> None:
        while not self._stop.is_set():
            try:
                items, version = self._connection.list("/api/v1/pods", BOUND)
                self._replace_all(items)
                while not self._stop.is_set():
                    for kind, pod in self._connection.watch(
                        "/api/v1/pods", version, self._stop, BOUND
                    ):
                        version = pod["metadata"]["resourceVersion"]
                        self._hear(kind, pod)
            except Exception:  # noqa: BLE001 - the server is down or has forgotten: list again
                self._stop.wait(AGAIN_SECONDS)

    def _replace_all(self, items: list[KubernetesObject]) -> None:
        with self._lock:
            self._pods = {_key(pod): pod for pod in items}
        self.look_again()

    def _hear(self, kind: str, pod: KubernetesObject) -> None:
        if kind == "BOOKMARK":
            return
        with self._lock:
            if kind == "DELETED":
                self._pods.pop(_key(pod), None)
                return
            self._pods[_key(pod)] = pod
        self._work.add(_key(pod))

    def _handle_all(self) -> None:
        while (key := self._work.get()) is not None:
            later: float | None = None
            try:
                later = self._handle(key)
            except ApiError as refusal:
                later = None if refusal.code in (404, 409, 422) else AGAIN_SECONDS
            except Exception:  # noqa: BLE001 - the server is going or gone
                later = AGAIN_SECONDS
            self._work.done(key)
            if later is not None:
                self._work.add(key, later)

    def _handle(self, key: Key) -> float | None:
        """Do what is due for a pod; seconds until it must be looked at again."""
        with self._lock:
            pod = self._pods.get(key)
            host = self._hosts.get(pod["spec"]["nodeName"]) if pod else None
        if pod is None or host is None or host.held:
            return None
        if pod["metadata"].get("deletionTimestamp"):
            return self._end(pod)
        phase = at(pod, "status", "phase")
        if phase == "Pending":
            return self._begin(pod, host)
        if phase == "Running":
            wanted = statuses.readiness(pod, _now())
            if (condition_of(pod, "Ready") or {}).get("status") != wanted["status"]:
                self._write_pod(pod, {"conditions": [wanted]})
        return None

    def _begin(self, pod: KubernetesObject, host: Host) -> float | None:
        if host.refusal is not None:
            reason, message = host.refusal
            self._write_pod(pod, statuses.refused(now=_now(), reason=reason, message=message))
            return None
        if self.keep_pending(pod):
            return None
        left = self._since(pod, condition_of(pod, "PodScheduled")) + self._start_seconds
        if self._start_seconds and left > time.time():  # noqa: TID251 - the real time
            return left - time.time()  # noqa: TID251
        number = next(self._addresses)
        address = f"10.{128 + (number >> 16)}.{(number >> 8) & 255}.{number & 255}"
        status = statuses.running(pod, now=_now(), address=address, host=host.address)
        self._write_pod(pod, status)
        return None

    def _since(self, pod: KubernetesObject, condition: Mapping[str, Any] | None) -> float:
        created = pod["metadata"]["creationTimestamp"]
        return float(parse_instant((condition or {}).get("lastTransitionTime") or created))

    def _end(self, pod: KubernetesObject) -> float | None:
        metadata = pod["metadata"]
        grace = metadata.get("deletionGracePeriodSeconds") or 0
        # the timestamp is when the grace ends; an immediate deletion needs no waiting at all
        asked = parse_instant(metadata["deletionTimestamp"]) - grace
        left = asked + min(grace, self._stop_seconds) - time.time()  # noqa: TID251
        if self._stop_seconds and left > 0:
            return left
        options = {"gracePeriodSeconds": 0, "preconditions": {"uid": metadata["uid"]}}
        self._connection.request("DELETE", _path(pod), options)
        return None

    # Small things

    def _pods_of(self, node: str) -> list[KubernetesObject]:
        with self._lock:
            pods = list(self._pods.values())
        return [pod for pod in pods if node in ("", pod["spec"]["nodeName"])]

    def _beating(self) -> list[str]:
        with self._lock:
            return [host.name for host in self._hosts.values() if not host.held]

    def _change(self, name: str, **changes: Any) -> None:
        with self._lock:
            self._hosts[name] = replace(self._hosts[name], **changes)

    def _write_node(self, name: str, status: Mapping[str, Any]) -> None:
        path = f"/api/v1/nodes/{name}/status"
        self._connection.request("PATCH", path, {"status": status}, content_type=STRATEGIC)

    def _write_pod(self, pod: KubernetesObject, status: Mapping[str, Any]) -> None:
        body = {"metadata": {"uid": pod["metadata"]["uid"]}, "status": status}
        self._connection.request("PATCH", f"{_path(pod)}/status", body, content_type=STRATEGIC)


def _after_reboot(pod: KubernetesObject) -> dict[str, Any]:
    if at(pod, "spec", "restartPolicy", default="Always") == "Never":
        return statuses.finished(pod, now=_now(), phase="Failed", reason="Terminated")
    return statuses.restarted(pod, now=_now())


def _conditions(*, ready: bool, reason: str = "") -> list[dict[str, Any]]:
    return statuses.node_conditions(now=_now(), ready=ready, reason=reason)


def _key(pod: KubernetesObject) -> Key:
    return pod["metadata"]["namespace"], pod["metadata"]["name"]


def _path(pod: KubernetesObject) -> str:
    namespace, name = _key(pod)
    return f"/api/v1/namespaces/{namespace}/pods/{name}"


def _now() -> int:
    return int(time.time())  # noqa: TID251 - kubelets live in the real time
