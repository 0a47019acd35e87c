"""Trouble on order, limits, conditional requests and addresses of the GitHub double, over HTTP."""

from __future__ import annotations

import http.client
import json
from typing import Any

import pytest

from tests.doubles.github import Fault, Trouble
from tests.unit.doubles.github.scene import REPOSITORY, Scene

ONCE = {"body": "once"}
COMMENTS = f"/repos/{REPOSITORY}/issues/1/comments"


def send(
    scene: Scene, method: str, path: str, body: Any = None, **headers: str
) -> tuple[int, dict[str, str], Any]:
    """One request over HTTP; raises where the connection closes without an answer."""
    host = scene.server.url.partition("://")[2]
    connection = http.client.HTTPConnection(host, timeout=30)
    try:
        data = None if body is None else json.dumps(body)
        sent = {"Authorization": f"Bearer {scene.tokens['bob']}", **headers}
        connection.request(method, path, data, sent)
        answer = connection.getresponse()
        text = answer.read()
        got = {key.lower(): value for key, value in answer.getheaders()}
        return answer.status, got, _json(text)
    finally:
        connection.close()


def _json(text: bytes) -> Any:
    try:
        return json.loads(text) if text else None
    except ValueError:
        return text


def bodies(scene: Scene) -> list[str]:
    return [comment["body"] for comment in scene.ask("bob", "GET", "~/issues/1/comments")]


@pytest.mark.parametrize(
    ("trouble", "code", "done"),
    [
        (Trouble.REFUSE, 502, []),
        (Trouble.LOSE, 502, ["once"]),
        (Trouble.SECONDARY, 403, []),
        (Trouble.PRIMARY, 403, []),
        (Trouble.NO_JSON, 201, ["once"]),
    ],
)
def test_a_write_in_trouble(scene: Scene, trouble: Trouble, code: int, done: list[str]) -> None:
    scene.pull()
    scene.github.faults.append(Fault(trouble=trouble, method="POST", path=".*/comments"))
    assert send(scene, "POST", COMMENTS, ONCE)[0] == code
    assert bodies(scene) == done
    assert send(scene, "POST", COMMENTS, ONCE)[0] == 201  # once only


@pytest.mark.parametrize(("trouble", "done"), [(Trouble.DROP, 0), (Trouble.DROP_AFTER, 1)])
def test_a_connection_that_closes(scene: Scene, trouble: Trouble, done: int) -> None:
    scene.pull()
    scene.github.faults.append(Fault(trouble=trouble, method="POST"))
    with pytest.raises(http.client.RemoteDisconnected):
        send(scene, "POST", COMMENTS, ONCE)
    assert len(bodies(scene)) == done


def test_limits_say_when_to_come_again(scene: Scene) -> None:
    scene.github.faults.append(Fault(trouble=Trouble.SECONDARY, retry_after=17))
    _, headers, body = send(scene, "GET", f"/repos/{REPOSITORY}")
    assert headers["retry-after"] == "17"
    assert "secondary rate limit" in body["message"]
    scene.github.faults.append(Fault(trouble=Trouble.PRIMARY, retry_after=60))
    _, headers, _ = send(scene, "GET", f"/repos/{REPOSITORY}")
    assert headers["x-ratelimit-remaining"] == "0"
    assert int(headers["x-ratelimit-reset"]) == scene.clock.now() + 60


def test_a_read_that_is_behind(scene: Scene) -> None:
    scene.pull()
    stale = Fault(trouble=Trouble.STALE, path=".*/comments", times=2)
    scene.github.faults.append(stale)
    send(scene, "POST", COMMENTS, ONCE)
    seen = [len(send(scene, "GET", COMMENTS)[2]) for _ in range(3)]
    assert (seen, stale.met) == ([0, 0, 1], 2)


def test_trouble_may_come_later(scene: Scene) -> None:
    scene.github.faults.append(Fault(trouble=Trouble.REFUSE, status=503, skip=1, times=2))
    codes = [send(scene, "GET", f"/repos/{REPOSITORY}")[0] for _ in range(4)]
    assert codes == [200, 503, 503, 200]


def test_the_hourly_limit(scene: Scene) -> None:
    scene.github.limits.limit = 2
    codes = [send(scene, "GET", f"/repos/{REPOSITORY}")[0] for _ in range(3)]
    assert codes == [200, 200, 403]
    shown = send(scene, "GET", "/rate_limit")[2]  # asking is free
    assert shown["rate"]["remaining"] == 0
    scene.clock.sleep(3600)
    assert send(scene, "GET", f"/repos/{REPOSITORY}")[0] == 200


def test_what_did_not_change_is_not_sent_again(scene: Scene) -> None:
    path = f"/repos/{REPOSITORY}"
    code, headers, _ = send(scene, "GET", path)
    left = int(headers["x-ratelimit-remaining"])
    again = send(scene, "GET", path, **{"If-None-Match": headers["etag"]})
    assert (code, again[0], again[2]) == (200, 304, None)
    assert int(send(scene, "GET", path)[1]["x-ratelimit-remaining"]) == left - 1  # 304 is free


@pytest.mark.parametrize(("prefix", "root"), [("", ""), ("/api/v3", "/api/v3")])
def test_both_roots_of_the_api(scene: Scene, prefix: str, root: str) -> None:
    scene.pull()
    shown = send(scene, "GET", f"{prefix}/repos/{REPOSITORY}/pulls/1")[2]
    assert shown["url"] == f"{scene.server.url}{root}/repos/{REPOSITORY}/pulls/1"
    assert shown["html_url"] == f"{scene.server.url}/{REPOSITORY}/pull/1"


def test_the_clock_is_the_services(scene: Scene) -> None:
    assert send(scene, "GET", "/rate_limit")[1]["date"] == "Sat, 21 Nov 2026 15:00:00 GMT"


def test_rubbish_is_refused(scene: Scene) -> None:
    host = scene.server.url.partition("://")[2]
    connection = http.client.HTTPConnection(host, timeout=30)
    connection.request("POST", COMMENTS, "{", {"Authorization": f"Bearer {scene.tokens['bob']}"})
    answer = connection.getresponse()
    assert (answer.status, json.loads(answer.read())["message"]) == (400, "Problems parsing JSON")
    connection.close()
    assert send(scene, "POST", COMMENTS, ["a"])[0] in (400, 404)


def test_everything_from_outside_is_written_down(scene: Scene) -> None:
    send(scene, "GET", f"/repos/{REPOSITORY}")
    scene.ask("bob", "GET", "~")  # a test's own hand is not
    rows = [(row.request.method, row.request.path, row.answer.code) for row in scene.github.journal]
    assert rows == [("GET", f"/repos/{REPOSITORY}", 200)]
