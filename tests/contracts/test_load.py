"""Every source of load gives the same values for the same cluster, and never fails a read."""

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from gitbot.adapters.kubernetes import KubernetesCluster, MetricsApi, Transport
from gitbot.adapters.load_file import LoadFile
from gitbot.adapters.prometheus import DIRTY_RATE, PRESETS, Prometheus
from gitbot.kubernetes.names import NamespacedName
from gitbot.model.cluster.load import METRICS, ClusterLoad, DirtyRate, fresh
from gitbot.ports.load import LoadSource
from gitbot.simulation.http import kubeconfig_text
from gitbot.snapshot import from_objects
from tests.contracts.cluster_server import Reply, ScriptedServer, Seen
from tests.doubles import canaries
from tests.doubles.problems import NOW, node

SNAPSHOT = from_objects("prod", [node("a", cpu="4", memory="8Gi"), node("b", cpu="8")], NOW)
TIME = "2026-12-06T20:59:30Z"
USED = {("a", "cpu"): 2500, ("a", "memory"): 5000, ("b", "cpu"): 100}  # hundredths of a percent
METRICS_PATH = "/apis/metrics.k8s.io/v1beta1/nodes"


def node_metrics() -> dict[str, Any]:
    """As metrics-server 0.8 answers: cpu in nanocores, memory in Ki, RFC 3339 without fractions."""
    usage = {"a": {"cpu": "1000000000n", "memory": "4194304Ki"}, "b": {"cpu": "80m"}}
    return {
        "kind": "NodeMetricsList",
        "apiVersion": "metrics.k8s.io/v1beta1",
        "metadata": {},
        "items": [
            {"metadata": {"name": name}, "timestamp": TIME, "window": "20.05s", "usage": used}
            for name, used in usage.items()
        ],
    }


def instant_vector(seen: Seen) -> dict[str, Any]:
    """As Prometheus answers an instant query: values are text, times may have a fraction."""
    query = seen.query["query"]
    samples = {
        PRESETS["cpu"]: {"a": "0.25", "b": "0.01", "gone": "0.5"},
        PRESETS["memory"]: {"a": "0.5", "b": "NaN"},
    }.get(query, {})
    result = [
        {"metric": {"node": name}, "value": [NOW - 29.781, value]}
        for name, value in samples.items()
    ]
    return {"status": "success", "data": {"resultType": "vector", "result": result}}


def transport(server: ScriptedServer, tmp_path: Path) -> Transport:
    file = tmp_path / "kubeconfig"
    file.write_text(kubeconfig_text(server=server.url, context="prod"))
    return Transport(kubeconfig=str(file), sleep=lambda _: None)


def load_file(tmp_path: Path) -> LoadFile:
    values = [
        {"node": name, "metric": metric, "percent": amount / 100, "time": TIME, "source": "me"}
        for (name, metric), amount in USED.items()
    ]
    (tmp_path / "load.json").write_text(json.dumps({"kind": "ClusterLoad", "values": values}))
    return LoadFile(str(tmp_path / "load.json"))


@contextmanager
def serving(answer: Callable[[Seen], Reply]) -> Iterator[ScriptedServer]:
    with ScriptedServer(answer) as server:
        yield server


@pytest.fixture(params=["File", "Metrics", "Prometheus"])
def source(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[LoadSource]:
    if request.param == "File":
        yield load_file(tmp_path)
    elif request.param == "Metrics":
        with serving(lambda _: Reply(body=node_metrics())) as server:
            yield MetricsApi(transport(server, tmp_path))
    else:
        with serving(lambda seen: Reply(body=instant_vector(seen))) as server:
            yield Prometheus(server.url)


def test_a_source_gives_the_values_with_source_and_time(source: LoadSource) -> None:
    load = source.read(SNAPSHOT)
    assert {(value.node, value.metric): value.amount for value in load.values} == USED
    assert {value.time for value in load.values} == {NOW - 30}
    assert all(value.source and value.metric in METRICS for value in load.values)
    assert list(load.values) == sorted(load.values)
    assert source.read(SNAPSHOT) == load


def test_prometheus_gives_the_dirty_rates_of_vms() -> None:
    samples = [
        ({"namespace": "shop", "name": "db"}, "73400320.5"),
        ({"namespace": "shop", "name": "web"}, "NaN"),
        ({"namespace": "shop", "name": "big"}, "1e300"),
        ({"namespace": "shop"}, "1"),
    ]

    def answer(seen: Seen) -> Reply:
        found = samples if seen.query["query"] == DIRTY_RATE else []
        result = [{"metric": labels, "value": [NOW - 9.5, text]} for labels, text in found]
        return Reply(body={"status": "success", "data": {"result": result}})

    with serving(answer) as server:
        load = Prometheus(server.url).read(SNAPSHOT)
    rate = DirtyRate(vm=NamespacedName(namespace="shop", name="db"), rate=73400320, time=NOW - 10)
    assert load.dirty == (rate,)
    assert fresh(load, now=NOW, nodes=("a", "b")).dirty == (rate,)
    assert fresh(load, now=NOW + 1791, nodes=("a", "b")).dirty == ()


@contextmanager
def raw_server(said: bytes, slowly: bytes = b"") -> Iterator[str]:
    """Answers with bytes as they are, `slowly` one after the other."""

    def answer() -> None:
        with suppress(OSError):
            while True:
                connection, _ = listening.accept()
                with connection, suppress(OSError):
                    connection.recv(65_536)
                    connection.sendall(said)
                    for each in slowly:
                        connection.sendall(bytes([each]))
                        time.sleep(0.01)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            listening.shutdown(socket.SHUT_RDWR)
            thread.join(10)


def missing(load: ClusterLoad) -> str:
    assert load.values == ()
    (said,) = load.missing
    return said


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (Reply(code=404, body={"kind": "Status", "message": "404 page not found"}), "answer 404"),
        (Reply(code=403, body={"kind": "Status", "reason": "Forbidden"}), "answer 403"),
        (Reply(code=503, body={"kind": "Status"}), "answer 503"),
        (Reply(body=b"<html>"), "not JSON"),
        (Reply(body={"kind": "NodeMetricsList"}), "an answer other than a NodeMetricsList"),
        (Reply(drop=True, body={}), "cannot be read"),
    ],
)
def test_a_metrics_api_without_an_answer_is_said_once(
    reply: Reply, said: str, tmp_path: Path
) -> None:
    with serving(lambda _: reply) as server:
        assert said in missing(MetricsApi(transport(server, tmp_path)).read(SNAPSHOT))


def test_the_metrics_api_is_asked_once_and_only_for_nodes(tmp_path: Path) -> None:
    seen: list[str] = []

    def answer(asked: Seen) -> Reply:
        seen.append(asked.path)
        return Reply(body=node_metrics())

    with serving(answer) as server:
        MetricsApi(transport(server, tmp_path)).read(SNAPSHOT)
    assert seen == [METRICS_PATH]


def test_a_prometheus_that_is_away_is_said_once() -> None:
    assert "Prometheus gave no cpu: it does not answer" in missing(
        Prometheus("http://127.0.0.1:9").read(SNAPSHOT)
    )
    assert "is not an http address" in missing(Prometheus("file:///etc/passwd").read(SNAPSHOT))


def test_a_query_that_prometheus_refuses_leaves_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    bad = {"status": "error", "errorType": "bad_data", "error": 'unknown function "rat"'}
    tokens: set[str] = set()

    def answer(seen: Seen) -> Reply:
        tokens.add(seen.headers.get("authorization", ""))
        refused = "rat(" in seen.query["query"]
        return Reply(code=400, body=bad) if refused else Reply(body=instant_vector(seen))

    monkeypatch.setenv("GITBOT_PROMETHEUS_TOKEN", canaries.plant("c4n4ry-of-a-load"))
    with serving(answer) as server:
        load = Prometheus(server.url, {"memory": "rat(x)", "system": ""}).read(SNAPSHOT)
    assert [value.metric for value in load.values] == ["cpu", "cpu"]
    assert 'Prometheus gave no memory: answer 400: unknown function "rat"' in load.missing
    assert [words for words in load.missing if "system" in words] == []
    assert tokens == {"Bearer c4n4ry-of-a-load"}
    assert "c4n4ry" not in str(load)


def test_the_token_goes_to_no_other_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITBOT_PROMETHEUS_TOKEN", canaries.plant("c4n4ry-of-a-redirect"))
    with serving(lambda seen: Reply(body=instant_vector(seen))) as other:
        elsewhere = Reply(code=302, headers={"Location": f"{other.url}/api/v1/query"})
        with serving(lambda _: elsewhere) as server:
            load = Prometheus(server.url).read(SNAPSHOT)
        assert other.seen == []
    assert load.values == ()
    assert "Prometheus gave no cpu: answer 302: Found" in load.missing


@pytest.mark.parametrize("value", ["1e9999999999", "1e-9999999999", "1/0", "9" * 5000, "", "x\x1b"])
@pytest.mark.parametrize("place", ["value", "time"])
def test_a_number_that_none_is_ends_nothing(value: str, place: str) -> None:
    sample = [value, "0.5"] if place == "time" else [NOW, value]
    body = {"data": {"result": [{"metric": {"node": "a"}, "value": sample}]}}
    with serving(lambda _: Reply(body=body)) as server:
        load = Prometheus(server.url).read(SNAPSHOT)
    assert not load.values or "e-" in value  # which is a number, and very small


@pytest.mark.parametrize(
    "said",
    [
        b"garbage\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nA: " + b"a" * 70_000 + b"\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"A: a\r\n" * 500 + b"\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n",
        b"HTTP/1.1 500 No\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n",
    ],
)
def test_what_is_not_http_is_said(said: bytes) -> None:
    with raw_server(said) as url:
        assert "Prometheus gave no cpu" in Prometheus(url).read(SNAPSHOT).missing[0]


def test_an_answer_that_never_ends_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gitbot.adapters.prometheus.SECONDS", 0.2)
    drops = b" " * 200
    with raw_server(b"HTTP/1.1 200 OK\r\n\r\n", slowly=drops) as url:
        assert "it does not end, or too slowly" in missing(Prometheus(url).read(SNAPSHOT))


@pytest.mark.parametrize("percent", ["1e9999999999", True, "nan", -1, 10**7, None, [], "1/0"])
def test_a_number_of_a_file_that_is_no_percent_is_named(percent: Any, tmp_path: Path) -> None:
    value = {"node": "a", "metric": "cpu", "percent": percent, "time": TIME}
    (tmp_path / "load.json").write_text(json.dumps({"kind": "ClusterLoad", "values": [value]}))
    said = missing(LoadFile(str(tmp_path / "load.json")).read(SNAPSHOT))
    assert "values[0].percent: found" in said


def test_a_file_that_is_away_or_wrong_is_said_once(tmp_path: Path) -> None:
    assert "No such file" in missing(LoadFile(str(tmp_path / "none.json")).read(SNAPSHOT))
    (tmp_path / "bad.json").write_text('{"kind": "ClusterLoad", "values": [{"metric": "cpo"}]}')
    assert "did you mean" not in missing(LoadFile(str(tmp_path / "bad.json")).read(SNAPSHOT))


def test_a_cluster_without_a_source_has_no_load_and_with_one_carries_it(tmp_path: Path) -> None:
    def answer(seen: Seen) -> Reply | None:
        return Reply(body=node_metrics()) if seen.path == METRICS_PATH else None

    with ScriptedServer(answer) as server:
        link = transport(server, tmp_path)
        assert KubernetesCluster(transport=link).snapshot().load is None
        found = KubernetesCluster(transport=link, load=MetricsApi(link)).snapshot()
    assert found.load is not None
