"""Webhooks on a real HTTP server: signed, sent once, never waited for."""

import hashlib
import hmac
import json
import socket

import pytest

from gitbot.adapters import webhooks
from gitbot.adapters.webhooks import Webhooks
from gitbot.errors import NoticeError
from tests.contracts.cluster_server import Reply, ScriptedServer
from tests.doubles.tiny_cluster import TestClock

BODY = b'{"text":"iberia: gitbot starts nothing more"}'


@pytest.fixture
def clock() -> TestClock:
    return TestClock()


def address(monkeypatch: pytest.MonkeyPatch, url: str, *, key: str = "") -> None:
    monkeypatch.setenv("GITBOT_NOTIFY_ON_CALL_URL", url)
    monkeypatch.setenv("GITBOT_NOTIFY_ON_CALL_KEY", key)


def test_a_notice_is_signed_over_its_bytes_and_named(
    monkeypatch: pytest.MonkeyPatch, clock: TestClock
) -> None:
    with ScriptedServer(lambda _: Reply(code=204)) as server:
        address(monkeypatch, f"{server.url}/secret-path", key="hush")
        Webhooks(clock).send("on-call", "placement/7", BODY)
        (seen,) = server.seen
    assert (seen.method, seen.path, seen.body) == ("POST", "/secret-path", json.loads(BODY))
    signed = hmac.new(b"hush", BODY, hashlib.sha256).hexdigest()
    assert seen.headers["x-gitbot-signature-256"] == f"sha256={signed}"
    assert seen.headers["idempotency-key"] == "placement/7"


def test_without_a_key_nothing_is_signed(monkeypatch: pytest.MonkeyPatch, clock: TestClock) -> None:
    with ScriptedServer(lambda _: Reply()) as server:
        address(monkeypatch, server.url)
        Webhooks(clock).send("on-call", "placement/7", BODY)
        assert "x-gitbot-signature-256" not in server.seen[0].headers


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (Reply(code=500), "answer 500"),
        (Reply(code=302, headers={"Location": "http://127.0.0.1:9/other"}), "answer 302"),
        (Reply(drop=True), "does not answer"),
    ],
)
def test_what_fails_rests_longer_each_time_and_then_is_tried_again(
    monkeypatch: pytest.MonkeyPatch, clock: TestClock, answer: Reply, why: str
) -> None:
    with ScriptedServer(lambda _: answer) as server:
        address(monkeypatch, server.url)
        hooks = Webhooks(clock)
        for rest in (webhooks.FIRST_REST, 2 * webhooks.FIRST_REST):
            with pytest.raises(NoticeError, match=why):
                hooks.send("on-call", "placement/7", BODY)
            asked = len(server.seen)
            clock.sleep(rest - 1)
            with pytest.raises(NoticeError, match="rests"):
                hooks.send("on-call", "placement/7", BODY)
            assert len(server.seen) == asked
            clock.sleep(1)


def test_one_that_hangs_costs_a_moment(monkeypatch: pytest.MonkeyPatch, clock: TestClock) -> None:
    monkeypatch.setattr(webhooks, "SECONDS", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address(monkeypatch, f"http://127.0.0.1:{silent.getsockname()[1]}/secret-path")
        with pytest.raises(NoticeError, match="does not answer") as error:
            Webhooks(clock).send("on-call", "placement/7", BODY)
    assert "secret-path" not in str(error.value)


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("", "neither GITBOT_NOTIFY_ON_CALL_URL nor GITBOT_NOTIFY_ON_CALL_URL_FILE is set"),
        ("http://secret host/x", "does not answer"),
        ("http://[secret/x", "does not answer"),
    ],
)
def test_an_address_that_is_none_is_named_by_its_variable_alone(
    monkeypatch: pytest.MonkeyPatch, clock: TestClock, url: str, why: str
) -> None:
    address(monkeypatch, url)
    with pytest.raises(NoticeError, match=why) as error:
        Webhooks(clock).send("on-call", "placement/7", BODY)
    assert "secret" not in str(error.value)
