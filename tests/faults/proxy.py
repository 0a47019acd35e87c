"""A proxy before an API server: it does one thing wrong, at one call, or kills who calls."""

import http.client
import json
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Self
from urllib.parse import urlsplit

from tests.doubles.listener import Listener, RequestHandler

CODES = (400, 401, 403, 404, 405, 409, 410, 422, 429, 500, 501, 502, 503, 504)
LIES = ("truncated", "html", "wrong kind", "no json", "stale")
LISTS = ("empty list", "list without items")
BREAKS = ("reset before", "reset after", "done 500", "done 504", "slow")
FAULTS = (*map(str, CODES), *LIES, *LISTS, *BREAKS)
TRIES = 6  # calls of a read that all go wrong: more than the client repeats it


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What the server said, or nothing: the connection is closed."""

    code: int
    body: bytes
    headers: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    method: str
    path: str  # with its query
    body: bytes

    @property
    def kind(self) -> str:
        """Method and path without names: what faults are spread over."""
        return f"{self.method} {urlsplit(self.path).path}"

    @property
    def creates(self) -> bool:
        migrations = urlsplit(self.path).path.endswith("/virtualmachineinstancemigrations")
        return self.method == "POST" and migrations and "dryRun" not in self.path


class Proxy:
    """Forwards to `server`. `number` is the call (from 1) at which `how` happens.

    `pause` lets the cluster's time pass, `kill` is called before or after that call. Who calls may
    ask `/_clock` for that time, and let it pass.
    """

    def __init__(
        self,
        server: str,
        *,
        number: int = 0,
        how: str = "",
        pause: Callable[[int], None] = lambda _: None,
        now: Callable[[], int] = lambda: 0,
    ) -> None:
        self.server = urlsplit(server).netloc
        self.number, self.how, self.pause, self.now = number, how, pause, now
        self.kill: Callable[[], None] = lambda: None
        self.calls: list[Call] = []
        self.answers: list[Answer | None] = []  # one for each call
        self.created: list[str] = []  # names that the server accepted
        self.hit = ""
        self._left = TRIES
        self._first: dict[str, Answer] = {}
        self._lock = threading.Lock()
        self._listener = _Listener(_Connection, "proxy")
        self._listener.proxy = self

    @property
    def url(self) -> str:
        return f"http://{self._listener.address}"

    def __enter__(self) -> Self:
        self._listener.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.stop()

    def answer(self, call: Call) -> Answer | None:
        if call.path.startswith("/_clock"):
            if call.method == "POST":
                self.pause(int(call.path.rpartition("/")[2]))
            return Answer(code=200, body=str(self.now()).encode(), headers=())
        with self._lock:
            self.calls.append(call)
            wrong = self._goes_wrong(call)
            self.hit = call.kind if wrong else self.hit
            answer = self._wrong(call) if wrong else self._forward(call)
            self.answers.append(answer)
            return answer

    def can_strike(self, number: int, how: str) -> bool:
        """Whether a fault at that call of this run would have changed its answer."""
        call, answer = self.calls[number - 1], self.answers[number - 1]
        if answer is None or how not in (*LISTS, "stale"):
            return True
        if how in LISTS:
            return call.method == "GET" and _spoiled(answer, how).body != answer.body
        known = zip(self.calls[: number - 1], self.answers, strict=False)
        before = next((found for other, found in known if other.path == call.path), None)
        return call.method == "GET" and before is not None and before.body != answer.body

    def _goes_wrong(self, call: Call) -> bool:
        if not self.number or len(self.calls) < self.number:
            return False
        if len(self.calls) == self.number:
            return True
        if self.how.startswith("kill"):
            return False
        self._left -= 1
        first = self.calls[self.number - 1]
        return self._left > 0 and call == first and call.method == "GET"

    def _wrong(self, call: Call) -> Answer | None:
        how = self.how
        if how.isdecimal():
            return said(int(how))
        if how in ("reset before", "kill before"):
            if how == "kill before":
                self.kill()
            return None
        if how == "slow":
            self.pause(30)
            return self._forward(call)
        before = self._first.get(call.path)
        true = self._forward(call)
        if how in ("reset after", "kill after"):
            if how == "kill after":
                self.kill()
            return None
        if how.startswith("done "):
            return said(int(how.removeprefix("done ")))
        if how == "stale":
            return before if before is not None and call.method == "GET" else true
        return _spoiled(true, how)

    def _forward(self, call: Call) -> Answer:
        connection = http.client.HTTPConnection(self.server, timeout=60)
        headers = {"Accept": "application/json"}
        if call.body:
            patches = call.method == "PATCH"
            headers["Content-Type"] = (
                "application/merge-patch+json" if patches else "application/json"
            )
        connection.request(call.method, call.path, call.body or None, headers)
        found = connection.getresponse()
        kept = tuple(
            (name, value)
            for name, value in found.getheaders()
            if name.lower() in ("date", "content-type")
        )
        answer = Answer(code=found.status, body=found.read(), headers=kept)
        connection.close()
        self._first.setdefault(call.path, answer)
        if call.creates and answer.code == 201:
            self.created.append(json.loads(answer.body)["metadata"]["name"])
        return answer


def said(code: int) -> Answer:
    """A Kubernetes Status."""
    text = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code}
    body = json.dumps({**text, "reason": "Planted", "message": f"the server says {code}"})
    headers = (("Content-Type", "application/json"),)
    return Answer(code=code, body=body.encode(), headers=headers)


def _spoiled(answer: Answer, how: str) -> Answer:
    body = answer.body
    if how == "truncated":
        body = body[: len(body) // 2]
    elif how == "html":
        body = b"<html><body>Please log in</body></html>"
    elif how == "no json":
        body = b"\xff\xfe{"
    elif how == "wrong kind":
        body = b'{"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "x"}}'
    else:
        whole = json.loads(body or b"{}")
        if not isinstance(whole.get("items"), list):
            return answer
        whole["items"] = []
        if how == "list without items":
            del whole["items"]
        body = json.dumps(whole).encode()
    return Answer(code=answer.code, body=body, headers=answer.headers)


class _Listener(Listener):
    daemon_threads = True
    block_on_close = False
    proxy: Proxy


class _Connection(RequestHandler):
    server: _Listener

    def serve(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        answer = self.server.proxy.answer(Call(method=self.command, path=self.path, body=body))
        self.close_connection = True
        if answer is None:
            return
        self.send_response_only(answer.code)
        for name, value in answer.headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()
        self.wfile.write(answer.body)
