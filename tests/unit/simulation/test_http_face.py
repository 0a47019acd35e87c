import json
import threading
import time
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from gitbot.simulation import ApiServer, Runner, SimulatedCluster
from gitbot.simulation.building import node
from gitbot.simulation.http.run_server import TICK
from tests.doubles.workloads import deployment


@pytest.fixture
def cluster() -> SimulatedCluster:
    made = SimulatedCluster()
    made.apply([node("a"), node("b")])
    return made


def web(replicas: int) -> dict[str, Any]:
    spec = {"containers": [{"name": "c"}]}
    return deployment("web", namespace="default", replicas=replicas, labels={"a": "b"}, spec=spec)


def ask(
    face: ApiServer, path: str, *, method: str = "GET", body: Any = None, **headers: str
) -> tuple[int, Any]:
    data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
    named = {key.replace("_", "-"): value for key, value in headers.items()}
    request = Request(face.url + path, data=data, method=method, headers=named)
    try:
        with urlopen(request, timeout=20) as answer:
            return answer.status, json.loads(answer.read())
    except HTTPError as refused:
        with refused:
            return refused.code, json.loads(refused.read())


@pytest.mark.parametrize(
    ("method", "path", "body", "code", "reason"),
    [
        ("GET", "/apis/kubevirt.io/v9", None, 404, "NotFound"),
        ("GET", "/api/v1/nodes/a/eviction", None, 404, "NotFound"),
        ("GET", "/api/v1/namespaces/default/nodes", None, 404, "NotFound"),
        ("POST", "/api/v1/nodes", b"{", 400, "BadRequest"),
    ],
)
def test_requests_that_are_refused(
    cluster: SimulatedCluster, *, method: str, path: str, body: Any, code: int, reason: str
) -> None:
    with ApiServer(cluster) as face:
        answered, status = ask(face, path, method=method, body=body)
    assert (answered, status["reason"], status["kind"]) == (code, reason, "Status")


def test_an_object_that_no_controller_can_digest_is_survived(cluster: SimulatedCluster) -> None:
    pods = "/api/v1/namespaces/default/pods"
    containers = [{"name": "c", "resources": {"requests": {"cpu": "many"}}}]
    damaged = {"metadata": {"name": "p"}, "spec": {"containers": containers}}
    bad = web("two")  # type: ignore[arg-type]
    odd = {"metadata": {"name": "v"}, "spec": {"domain": "x"}}
    born = {
        "kind": "Pod",
        "metadata": {"name": "q"},
        "spec": {"containers": [{"name": "c"}], "nodeName": "a"},
    }
    with ApiServer(cluster) as face:
        assert ask(face, pods, method="POST", body=damaged)[0] == 422
        assert ask(face, pods, method="POST", body=born)[0] == 201
        path = "/apis/kubevirt.io/v1/namespaces/default/virtualmachineinstances"
        assert ask(face, path, method="POST", body=odd)[0] == 422
        path = "/apis/apps/v1/namespaces/default/deployments"
        assert ask(face, path, method="POST", body=bad)[0] == 201
        with face.lock:
            cluster.settle()
        _, running = ask(face, f"{pods}/q")
    assert running["status"]["phase"] == "Running"
    assert cluster.engine.failures[0].startswith("Deployments ('default', 'web'): TypeError")


def test_metadata_only_and_aggregated_discovery(cluster: SimulatedCluster) -> None:
    partial = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
    discovery = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
    with ApiServer(cluster) as face:
        _, listed = ask(face, "/api/v1/nodes", Accept=partial)
        _, groups = ask(face, "/apis", Accept=discovery)
        _, plain = ask(face, "/apis")
        _, group = ask(face, "/apis/kubevirt.io")
    assert {tuple(sorted(item)) for item in listed["items"]} == {("apiVersion", "kind", "metadata")}
    assert groups["kind"] == "APIGroupDiscoveryList"
    assert plain["kind"] == "APIGroupList"
    assert group["preferredVersion"]["groupVersion"] == "kubevirt.io/v1"


def test_stopping_ends_open_watches_and_idle_connections(cluster: SimulatedCluster) -> None:
    before = threading.active_count()
    face = ApiServer(cluster)
    face.start()
    answer = urlopen(f"{face.url}/api/v1/nodes?watch=true", timeout=20)
    answer.readline()
    face.stop()
    with answer:
        assert answer.read().count(b"ADDED") <= 1
    assert threading.active_count() == before
    assert face.cluster.store.listeners == cluster.store.listeners


def test_a_runner_ties_virtual_time_to_the_time_that_it_is_given(
    cluster: SimulatedCluster,
) -> None:
    instants = iter([100.0, 101.0, 101.5])
    last = [100.0]

    def monotonic() -> float:
        last[0] = next(instants, last[0])
        return last[0]

    start = cluster.now()
    with ApiServer(cluster) as face:
        runner = Runner(face, monotonic=monotonic, factor=10)
        runner.start()
        while cluster.now() < start + 15:
            time.sleep(TICK)
        runner.stop()
    assert cluster.now() == start + 15


def test_a_runner_hands_over_what_made_it_fail(cluster: SimulatedCluster) -> None:
    def broken() -> None:
        raise ValueError("broken")

    cluster.at(cluster.now() + 1, broken)
    instants = iter(range(1_000_000))
    with ApiServer(cluster) as face:
        runner = Runner(face, monotonic=lambda: float(next(instants)), factor=1)
        runner.start()
        while runner.failure is None:
            time.sleep(TICK)
        with pytest.raises(ValueError, match="broken"):
            runner.stop()
