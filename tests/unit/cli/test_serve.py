"""`gitbot serve` as a process: what Prometheus and probes read is what `gitbot status` says."""

import hashlib
import hmac
import http.client
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from gitbot.simulation.http import Runner
from tests.controlplane.waiting import eventually
from tests.doubles.intents import REQUEST
from tests.unit.cli.desk import Desk, at_desk, merge
from tests.unit.deploy.test_monitoring import series

PATIENCE = 90.0
pytestmark = pytest.mark.timeout(300)


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    with at_desk(tmp_path, monkeypatch) as desk:
        clock = Runner(desk.face, monotonic=time.monotonic, factor=1)
        clock.start()
        yield desk
        clock.stop()


class Served:
    """A running `gitbot serve`, and where it listens."""

    def __init__(self, address: str, process: subprocess.Popen[str]) -> None:
        self.address = address
        self.process = process

    def get(self, path: str) -> tuple[int, str]:
        connection = http.client.HTTPConnection(self.address, timeout=PATIENCE)
        connection.request("GET", path)
        answer = connection.getresponse()
        found = answer.status, answer.read().decode()
        connection.close()
        return found

    def post(self, path: str, body: bytes, headers: dict[str, str]) -> int:
        connection = http.client.HTTPConnection(self.address, timeout=PATIENCE)
        connection.request("POST", path, body=body, headers=headers)
        status = connection.getresponse().status
        connection.close()
        return status

    def metrics(self) -> dict[tuple[str, str], float]:
        """Value by name and label."""
        families = text_string_to_metric_families(self.get("/metrics")[1])
        return {
            (sample.name, ",".join(v for k, v in sample.labels.items() if k != "cluster")): sample.value  # noqa: E501
            for family in families
            for sample in family.samples
        }  # fmt: skip

    def becomes(self, status: int, words: str = "") -> None:
        def said() -> bool:
            code, line = self.get("/readyz")
            return code == status and words in line

        eventually(said, seconds=PATIENCE)


@contextmanager
def serving(desk: Desk, every: int = 10) -> Iterator[Served]:
    process = subprocess.Popen(
        [sys.executable, "-m", "gitbot", "serve", "--listen", "0", "--every", str(every)],
        cwd=desk.tree,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    try:
        first = process.stderr.readline()
        found = re.search(r"serving http://(127\.0\.0\.1:\d+)/metrics", first)
        assert found is not None, first + process.stderr.read()
        yield Served(found[1], process)
    finally:
        process.send_signal(signal.SIGTERM)
        said = process.communicate(timeout=PATIENCE)[1]
    assert process.returncode == 130, said


def status(desk: Desk) -> dict[str, Any]:
    shown: dict[str, Any] = json.loads(desk.gitbot("status", "-o", "json").out)
    return shown


def test_what_is_scraped_is_what_status_says(desk: Desk) -> None:
    desk.commit(jump=REQUEST)
    with serving(desk) as served:
        assert served.get("/healthz")[0] == 200
        opened = ("gitbot_open_proposals", "")
        eventually(lambda: served.metrics().get(opened) == 1, seconds=PATIENCE)
        served.becomes(200, "ok 2")
        (pull,) = status(desk)["pullRequests"]
        merge(desk, pull["number"])
        moved = ("gitbot_moves_ended_total", "succeeded")
        eventually(lambda: served.metrics().get(moved) == 1, seconds=PATIENCE)
        found, shown = served.metrics(), status(desk)
        states = [move["state"] for request in shown["requests"] for move in request["moves"]]
        assert states == ["succeeded"]
        assert found["gitbot_migrations_created_total", ""] == 1
        assert (found["gitbot_healthy", ""], found["gitbot_stopped", ""]) == (1, 0)
        assert shown["stops"] == []
        assert {name for name, _ in found} <= series()


def test_the_pages_are_those_of_the_last_pass(desk: Desk) -> None:
    name = desk.loop.cluster.name
    with serving(desk) as served:
        eventually(lambda: served.get("/")[0] == 200, seconds=PATIENCE)
        assert f'href="{name}/index.html"' in served.get("/")[1]
        page = served.get(f"/{name}/")[1]
        assert re.search(r'<p class="note">Pass \d+ looked (\d+ s|1 min.*) ago.</p>', page)
        assert status(desk)["commit"][:12] in page
        desk.commit(jump=REQUEST)
        eventually(lambda: len(document(served, name)["pullRequests"]) == 1, seconds=PATIENCE)
        assert {**document(served, name), "time": ""} == {**status(desk), "time": ""}
        assert served.get(f"/{name}/nothing.html")[0] == 404


def document(served: Served, cluster: str) -> dict[str, Any]:
    shown: dict[str, Any] = json.loads(served.get(f"/{cluster}/index.json")[1])
    return shown


def test_a_hold_is_ready_and_stopped_and_a_lost_ledger_is_neither(desk: Desk) -> None:
    with serving(desk) as served:
        served.becomes(200)
        assert desk.gitbot("hold", "--reason", "smoke", "--by", "ana").code == 0
        served.becomes(200, "stopped: smoke (ana, since ")
        found = served.metrics()
        assert (found["gitbot_healthy", ""], found["gitbot_stopped", ""]) == (1, 1)
        assert [stop["by"] for stop in status(desk)["stops"]] == ["ana"]
        bare = desk.tree.parent / "placement.git"
        subprocess.run(
            ["git", "-C", str(bare), "update-ref", "-d", "refs/heads/gitbot/ledger"], check=True
        )
        served.becomes(503, "failing ")
        found = served.metrics()
        assert found["gitbot_healthy", ""] == 0
        assert found["gitbot_passes_total", "failing"] > 0


def test_a_call_of_the_forge_wakes_a_pass(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITBOT_WEBHOOK_SECRET", "between us")
    with serving(desk, every=3600) as served:
        passes = ("gitbot_passes_total", "ok")
        eventually(lambda: served.metrics().get(passes) == 1, seconds=PATIENCE)
        body = b'{"action": "opened"}'
        signed = hmac.new(b"between us", body, hashlib.sha256).hexdigest()
        assert served.post("/webhook", body, {"X-Hub-Signature-256": "sha256=0"}) == 401
        assert served.post("/webhook", body, {"X-Hub-Signature-256": f"sha256={signed}"}) == 202
        eventually(lambda: served.metrics().get(passes) == 2, seconds=PATIENCE)
