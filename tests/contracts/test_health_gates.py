"""Health gates ask real servers; a gate that cannot be asked is closed."""

from typing import Any

import pytest

from gitbot.adapters.health_gates import HealthGates
from gitbot.settings import HealthGateSettings
from tests.contracts.cluster_server import Reply, ScriptedServer, Seen
from tests.controlplane.component import free_ports

ALERTS = 'ALERTS{alertstate="firing"}'


def vector(*results: dict[str, str]) -> dict[str, Any]:
    found = [{"metric": labels, "value": [1.0, "1"]} for labels in results]
    return {"status": "success", "data": {"resultType": "vector", "result": found}}


def asked(body: Any, *, status: int = 200, probe: bool = False) -> tuple[str, list[Seen]]:
    """What a fresh gate says of a server that answers so, and what the server saw."""
    with ScriptedServer(lambda _: Reply(code=status, body=body)) as server:
        where = {"probe": f"{server.url}/healthz"}
        if not probe:
            where = {"prometheus": server.url, "query": ALERTS}
        gate = HealthGateSettings.model_validate({"name": "g", **where})
        return HealthGates()(gate), server.seen


def test_a_query_without_a_result_opens_the_gate() -> None:
    why, (seen,) = asked(vector())
    assert why == ""
    assert (seen.path, seen.query["query"]) == ("/api/v1/query", ALERTS)


def test_a_result_closes_it_and_the_first_is_named() -> None:
    labels = {"alertname": "CephDown", "severity": "critical"}
    why, _ = asked(vector(labels, {"alertname": "Other"}))
    said = "2 results, first alertname=CephDown, severity=critical"
    assert why == f"health gate g is closed: {said}"


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        ({"status": "error", "error": "bad query"}, 400, "answer 400: bad query"),
        ({"status": "success", "data": {"resultType": "scalar"}}, 200, "other than an instant"),
        ([], 200, "other than an instant vector"),
    ],
)
def test_what_is_no_result_is_no_open_gate(body: Any, status: int, said: str) -> None:
    why, _ = asked(body, status=status)
    assert why.startswith("health gate g is closed: Prometheus gave no result from here: ")
    assert said in why


def test_a_probe_is_well_if_it_answers() -> None:
    assert asked({}, probe=True)[0] == ""
    why, (seen,) = asked({}, status=503, probe=True)
    assert why.endswith("/healthz answers 503")
    assert seen.path == "/healthz"
    assert asked({}, status=302, probe=True)[0].endswith("/healthz answers 302")


def test_nobody_who_answers_is_a_closed_gate() -> None:
    address = f"http://127.0.0.1:{free_ports(1)[0]}"
    for where in ({"probe": address}, {"prometheus": address, "query": ALERTS}):
        gate = HealthGateSettings.model_validate({"name": "g", **where})
        assert "from here" in HealthGates()(gate)
    gate = HealthGateSettings(name="g", probe="file:///etc/passwd")
    assert HealthGates()(gate).endswith("is not an http address")


def test_an_answer_is_kept_for_a_moment() -> None:
    seconds = 0.0
    gates = HealthGates(lambda: seconds)
    with ScriptedServer(lambda _: Reply(code=200, body={})) as server:
        gate = HealthGateSettings(name="g", probe=server.url)
        gates(gate)
        gates(gate)
        assert len(server.seen) == 1
        seconds = 15.0
        gates(gate)
        assert len(server.seen) == 2
