"""`apply` and `reconcile` list the cluster once; if they have to wait, they watch it."""

import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from gitbot.adapters.clock import SystemClock
from gitbot.adapters.kubernetes import Transport
from gitbot.adapters.kubernetes.transport import HttpAnswer
from tests.doubles.intents import REQUEST
from tests.unit.cli.desk import Desk, at_desk

PODS = "/api/v1/pods"
ENDING = 10  # seconds that streams have to end


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    """Time is the cluster's: it passes while a command sleeps."""
    with at_desk(tmp_path, monkeypatch) as found:

        def now(_: SystemClock) -> int:
            with found.face.lock:
                return found.face.cluster.now()

        def sleep(_: SystemClock, seconds: int) -> None:
            with found.face.lock:
                found.face.cluster.advance(max(1, int(seconds)))

        monkeypatch.setattr(SystemClock, "now", now)
        monkeypatch.setattr(SystemClock, "sleep", sleep)
        yield found


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """The lists of all pods, and the watches."""
    counts: Counter[str] = Counter()
    send = Transport._send_once

    def counted(
        self: Transport, method: str, path: str, query: Mapping[str, str], *what: Any, **more: Any
    ) -> HttpAnswer:
        if query.get("watch") == "true":
            counts["watches"] += 1
        elif path == PODS and "spec.nodeName" not in query.get("fieldSelector", ""):
            counts["lists"] += 1
        return send(self, method, path, query, *what, **more)

    monkeypatch.setattr(Transport, "_send_once", counted)
    return counts


def merged(desk: Desk) -> None:
    pull = desk.loop.open({"jump.yaml": REQUEST})
    desk.loop.publish(pull.number)
    desk.loop.merge(pull.number)


@pytest.mark.parametrize("command", ["apply", "reconcile"])
def test_pass_that_waits_for_a_move_watches(desk: Desk, asked: Counter[str], command: str) -> None:
    merged(desk)
    said = desk.gitbot(command)
    assert (said.code, "1 succeeded" in said.out) == (0, True), said.text
    assert asked["watches"] > 0
    left = [each for each in threading.enumerate() if each.name.startswith("watch ")]
    for thread in left:
        thread.join(ENDING)
    assert not any(thread.is_alive() for thread in left)


@pytest.mark.parametrize("command", ["apply", "reconcile"])
def test_no_follow_lists_at_every_look(desk: Desk, asked: Counter[str], command: str) -> None:
    merged(desk)
    said = desk.gitbot(command, "--no-follow")
    assert (said.code, "1 succeeded" in said.out) == (0, True), said.text
    assert asked["watches"] == 0
    assert asked["lists"] > 2


@pytest.mark.parametrize("command", ["apply", "reconcile"])
def test_idle_pass_watches_nothing(desk: Desk, asked: Counter[str], command: str) -> None:
    desk.gitbot("reconcile", "--no-follow")  # proposes what the cluster asks for
    asked.clear()
    said = desk.gitbot(command)
    assert said.code == 0, said.text
    assert (asked["lists"], asked["watches"]) == (1, 0)
