"""The control plane itself: real, with RBAC and an audit log, and kubelets that can be steered."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from gitbot.kubernetes.objects import at, condition_of
from gitbot.simulation.building import ZONE, node
from gitbot.simulation.status_errors import ApiError
from tests.controlplane.waiting import eventually
from tests.doubles.workloads import deployment

if TYPE_CHECKING:
    from tests.controlplane.fixtures import UserMaker
    from tests.controlplane.kubelet import Kubelets
    from tests.controlplane.kubevirt.connection import Connection
    from tests.controlplane.plane import ControlPlane

pytestmark = pytest.mark.controlplane
PODS: dict[str, Any] = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]}


def _pods(admin: Connection, namespace: str) -> list[dict[str, Any]]:
    return admin.list(f"/api/v1/namespaces/{namespace}/pods")[0]


def _deploy(admin: Connection, namespace: str, replicas: int, **spec: Any) -> None:
    made = deployment(
        "web",
        namespace=namespace,
        replicas=replicas,
        labels={"app": "web"},
        spec={"containers": [{"name": "web", "image": "web:1"}], **spec},
    )
    admin.request("POST", f"/apis/apps/v1/namespaces/{namespace}/deployments", made)


def _running(admin: Connection, namespace: str, count: int) -> list[dict[str, Any]]:
    def look() -> list[dict[str, Any]]:
        pods = _pods(admin, namespace)
        phases = [at(pod, "status", "phase") for pod in pods]
        assert phases == ["Running"] * count
        return pods

    return eventually(look)


def test_it_is_the_pinned_kubernetes(admin: Connection) -> None:
    assert admin.request("GET", "/version")["gitVersion"] == "v1.36.3"


def test_a_user_may_do_what_its_rules_say_and_nothing_else(
    plane: ControlPlane, admin: Connection, user: UserMaker, namespace: str
) -> None:
    from tests.controlplane.kubevirt.connection import Connection  # noqa: PLC0415

    reader = Connection(str(user("reader", rules=[PODS])))
    eventually(lambda: reader.list(f"/api/v1/namespaces/{namespace}/pods"))
    with pytest.raises(ApiError) as refused:
        reader.request("DELETE", f"/api/v1/namespaces/{namespace}/pods/x")
    assert refused.value.code == 403
    verbs = {
        (event["verb"], event["responseStatus"]["code"]) for event in plane.audit(user="reader")
    }
    assert {("list", 200), ("delete", 403)} <= verbs


def test_a_deployment_runs_on_the_nodes_of_the_kubelets(
    admin: Connection, kubelets: Kubelets, namespace: str
) -> None:
    kubelets.add(*(node(name, labels={ZONE: name}) for name in ("w1", "w2")))
    _deploy(admin, namespace, 4)
    pods = _running(admin, namespace, 4)
    assert {pod["spec"]["nodeName"] for pod in pods} == {"w1", "w2"}
    assert len({pod["status"]["podIP"] for pod in pods}) == 4
    assert all(pod["metadata"]["labels"][ZONE] for pod in pods)
    gone = pods[0]["metadata"]
    admin.request("DELETE", f"/api/v1/namespaces/{namespace}/pods/{gone['name']}")
    eventually(
        lambda: gone["name"] not in {pod["metadata"]["name"] for pod in _pods(admin, namespace)}
    )
    _running(admin, namespace, 4)


def test_a_held_node_is_not_ready_and_its_pods_wait(
    admin: Connection, kubelets: Kubelets, namespace: str
) -> None:
    kubelets.add(node("w1"))
    _deploy(admin, namespace, 1)
    (pod,) = _running(admin, namespace, 1)
    kubelets.hold("w1")

    def taints() -> set[str]:
        found = admin.request("GET", "/api/v1/nodes/w1")
        assert (condition_of(found, "Ready") or {})["status"] == "False"
        return {taint["key"] for taint in at(found, "spec", "taints", default=[])}

    eventually(lambda: "node.kubernetes.io/not-ready" in taints())
    path = f"/api/v1/namespaces/{namespace}/pods/{pod['metadata']['name']}"
    assert admin.request("DELETE", path)["metadata"]["deletionTimestamp"]
    kubelets.release("w1")
    eventually(lambda: not at(admin.request("GET", "/api/v1/nodes/w1"), "spec", "taints"))
    _running(admin, namespace, 1)


def test_a_reboot_restarts_what_restarts_and_fails_the_rest(
    admin: Connection, kubelets: Kubelets, namespace: str
) -> None:
    kubelets.add(node("w1"))
    _deploy(admin, namespace, 1)
    once = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "once"},
        "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "c:1"}]},
    }
    admin.request("POST", f"/api/v1/namespaces/{namespace}/pods", once)
    _running(admin, namespace, 2)
    boot = kubelets.reboot("w1")
    assert at(admin.request("GET", "/api/v1/nodes/w1"), "status", "nodeInfo", "bootID") == boot

    def phases() -> bool:
        found = {pod["metadata"]["name"][:3]: pod for pod in _pods(admin, namespace)}
        restarts = found["web"]["status"]["containerStatuses"][0]["restartCount"]
        return (restarts, found["onc"]["status"]["phase"]) == (1, "Failed")

    eventually(phases)


def test_a_node_that_refuses_pods_fails_them(
    admin: Connection, kubelets: Kubelets, namespace: str
) -> None:
    kubelets.add(node("w1"))
    kubelets.refuse("w1", reason="OutOfmemory", message="Node didn't have enough memory")
    _deploy(admin, namespace, 1)
    failed = eventually(
        lambda: [pod for pod in _pods(admin, namespace) if at(pod, "status", "phase") == "Failed"]
    )
    assert failed[0]["status"]["reason"] == "OutOfmemory"
    kubelets.accept("w1")
    eventually(lambda: "Running" in {at(pod, "status", "phase") for pod in _pods(admin, namespace)})
