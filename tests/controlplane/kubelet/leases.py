"""The heartbeats of nodes: one lease a node, renewed as kubelets do."""

import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from gitbot.kubernetes.objects import KubernetesObject
from gitbot.simulation.status_errors import ApiError
from tests.controlplane.kubevirt.connection import Connection

PATH = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
LEASE_SECONDS = 40
EVERY_SECONDS = 10.0
MERGE = "application/merge-patch+json"


class Heartbeats:
    """Renews the leases of the nodes that `beating` names, until `stop` is set."""

    def __init__(
        self, connection: Connection, beating: Callable[[], list[str]], stop: threading.Event
    ) -> None:
        self._connection = connection
        self._beating = beating
        self._stop = stop

    def register(self, node: KubernetesObject) -> None:
        """Make the lease of a new node."""
        name, uid = node["metadata"]["name"], node["metadata"]["uid"]
        owner = {"apiVersion": "v1", "kind": "Node", "name": name, "uid": uid}
        lease: dict[str, Any] = {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": name, "ownerReferences": [owner]},
            "spec": {
                "holderIdentity": name,
                "leaseDurationSeconds": LEASE_SECONDS,
                "renewTime": _moment(),
            },
        }
        try:
            self._connection.request("POST", PATH, lease)
        except ApiError as refusal:
            if refusal.code != 409:
                raise

    def run(self) -> None:
        """Renew, pause, renew."""
        while not self._stop.wait(EVERY_SECONDS):
            for name in self._beating():
                try:
                    body = {"spec": {"renewTime": _moment()}}
                    self._connection.request("PATCH", f"{PATH}/{name}", body, content_type=MERGE)
                except Exception:  # noqa: BLE001 - a heartbeat that fails is one missed
                    time.sleep(0.1)
                if self._stop.is_set():
                    return


def _moment() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")  # noqa: TID251 - the real time
