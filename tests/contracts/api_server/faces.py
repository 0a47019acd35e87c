"""The two API servers that answer the same tests: the simulated cluster's, and the real one."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from gitbot.simulation.building import namespace as namespace_object
from gitbot.simulation.building import node
from gitbot.simulation.http import ApiServer
from gitbot.simulation.simulated_cluster import SimulatedCluster
from gitbot.simulation.status_errors import ApiError
from gitbot.simulation.store import with_metadata
from tests.controlplane.kubevirt.connection import Answer, Connection
from tests.controlplane.waiting import T, eventually

if TYPE_CHECKING:
    from tests.controlplane.kubelet import Kubelets
    from tests.controlplane.plane import ControlPlane

JSON_PATCH = "application/json-patch+json"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
START = 1_796_590_800  # 2026-12-06T21:00:00Z
Object = dict[str, Any]


class Host(Protocol):
    """What differs between the two."""

    def add_nodes(self, *nodes: Object) -> None:
        """Nodes on which pods run."""

    def eventually(self, call: Callable[[], T]) -> T:
        """The first true answer, while the cluster's time goes on."""

    def forget(self) -> None:
        """Make all versions and tokens of the past too old."""


class ApiFace:
    """One API server with a fresh namespace."""

    def __init__(self, connection: Connection, namespace: str, host: Host) -> None:
        self.connection = connection
        self.namespace = namespace
        self.host = host

    def path(self, plural: str, name: str = "", subresource: str = "", group: str = "") -> str:
        """A path in the namespace; `plural` nodes and namespaces lie outside it."""
        root = f"/apis/{group}/v1" if group else "/api/v1"
        inside = "" if plural in ("nodes", "namespaces") else f"/namespaces/{self.namespace}"
        tail = "".join(f"/{part}" for part in (name, subresource) if part)
        return f"{root}{inside}/{plural}{tail}"

    def create(self, obj: Mapping[str, Any], **query: str) -> Object:
        """Create an object of the namespace."""
        path = self.path(*_place(obj))
        return self.connection.request("POST", path, obj, query=query)

    def get(self, plural: str, name: str, group: str = "") -> Object:
        """Read an object."""
        return self.connection.request("GET", self.path(plural, name, group=group))

    def answer(self, method: str, path: str, body: Any = None, **rest: Any) -> Answer:
        """Whatever is answered; {ns} in the path is the namespace."""
        return self.connection.answer(method, path.format(ns=self.namespace), body, **rest)

    def patch(self, path: str, patch: Any, how: str = MERGE, **query: str) -> Object:
        """Patch an object."""
        return self.connection.request("PATCH", path, patch, query=query, content_type=how)

    def refusal(self, call: Callable[[], Any]) -> tuple[int, str, str]:
        """Code, reason and message of a call that is refused."""
        try:
            call()
        except ApiError as refused:
            return refused.code, refused.reason, refused.message
        raise AssertionError("it was not refused")

    def events(self, path: str, **query: str) -> Iterator[tuple[str, Object]]:
        """The events of a watch that ends by itself."""
        answer = self.answer("GET", path, query={"watch": "true", "timeoutSeconds": "1", **query})
        if answer.code >= 400:
            body = answer.body
            raise ApiError(body["message"], code=answer.code, reason=body["reason"])
        for line in answer.data.splitlines():
            event = json.loads(line)
            yield event["type"], event["object"]


def _place(obj: Mapping[str, Any]) -> tuple[str, str, str, str]:
    group = obj["apiVersion"].rpartition("/")[0]
    return f"{obj['kind'].lower()}s", "", "", group


class Simulated:
    """The simulated cluster behind its HTTP face; time goes on while a test waits."""

    def __init__(self, face: ApiServer) -> None:
        self._face = face
        self.cluster = face.cluster

    def add_nodes(self, *nodes: Object) -> None:
        with self._face.lock:
            self._face.cluster.load(list(nodes))

    def eventually(self, call: Callable[[], T]) -> T:
        for _ in range(600):
            try:
                found = call()
                if found:
                    return found
            except (ApiError, AssertionError):
                pass
            with self._face.lock:
                self._face.cluster.advance(1)
        return call()

    def forget(self) -> None:
        with self._face.lock:
            store = self._face.cluster.store
            found = store.get("Namespace", ("", "default"))
            for index in range(20_100):
                found = store.replace(with_metadata(found, annotations={"n": str(index)}))
            self._face.handler.pages.forget()


class Real:
    """The control plane with our kubelets."""

    def __init__(self, plane: ControlPlane, kubelets: Kubelets, admin: Connection) -> None:
        self._plane = plane
        self._kubelets = kubelets
        self._admin = admin

    def add_nodes(self, *nodes: Object) -> None:
        self._kubelets.add(*nodes)

    def eventually(self, call: Callable[[], T]) -> T:
        return eventually(call)

    def forget(self) -> None:
        self._plane.forget()


def simulated_cluster(namespace: str) -> SimulatedCluster:
    """An empty cluster with one namespace of its own."""
    cluster = SimulatedCluster(seed=1, start_time=START, name="contract")
    cluster.apply([namespace_object(namespace)])
    return cluster


def config_map(name: str, /, **metadata: Any) -> Object:
    """A ConfigMap with one entry."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, **metadata},
        "data": {"key": "value"},
    }


def pod(name: str, /, **spec: Any) -> Object:
    """A pod with one container."""
    container = {"name": "main", "image": "registry.example/main:1"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": name}},
        "spec": {"containers": [container], **spec},
    }


__all__ = ["ApiFace", "Real", "Simulated", "config_map", "node", "pod", "simulated_cluster"]
