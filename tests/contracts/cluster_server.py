"""A scripted API server for the adapter's tests: it answers what a test tells it to."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Self
from urllib.parse import parse_qsl, urlsplit

from gitbot.snapshot.resources import LISTED
from tests.doubles.listener import Listener, RequestHandler

DATE = "Sun, 06 Dec 2026 21:00:00 GMT"


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """One request as it came in."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What to answer. `drop` closes the connection instead; `cut` sends that many bytes less."""

    code: int = 200
    body: Any = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    drop: bool = False
    cut: int = 0
    dated: bool = True


Answer = Callable[[Seen], Reply | None]


def status(code: int, reason: str, message: str, **headers: str) -> Reply:
    """A Kubernetes Status."""
    body = {"kind": "Status", "status": "Failure", "reason": reason, "message": message}
    return Reply(code=code, body=body, headers=headers)


def healthy(seen: Seen) -> Reply:
    """An empty cluster with KubeVirt, where nothing is wrong."""
    if seen.path == "/version":
        return Reply(body={"gitVersion": "v1.36.3"})
    if seen.path == "/apis":
        groups: dict[str, set[str]] = {}
        for resource in LISTED:
            groups.setdefault(resource.group, set()).update(resource.versions)
        listed = [
            {"name": name, "versions": [{"version": each} for each in sorted(versions)]}
            for name, versions in groups.items()
            if name
        ]
        return Reply(body={"kind": "APIGroupList", "groups": listed})
    if seen.path in {f"/apis/{each.group}/{each.versions[0]}" for each in LISTED if each.shared}:
        names = [each.plural for each in LISTED if each.path().startswith(f"{seen.path}/")]
        listed = [{"name": name} for name in names]
        return Reply(body={"kind": "APIResourceList", "resources": listed})
    return Reply(body={"kind": "List", "metadata": {"resourceVersion": "7"}, "items": []})


class ScriptedServer:
    """Answers with the first of `answers` that has something to say, else as a healthy one."""

    def __init__(self, *answers: Answer) -> None:
        self.answers = answers
        self.seen: list[Seen] = []
        self._server = _Server(_Handler, "scripted")
        self._server.script = self

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://{self._server.address}"

    def reply(self, seen: Seen) -> Reply:
        """The reply to one request."""
        self.seen.append(seen)
        replies = (answer(seen) for answer in self.answers)
        return next((reply for reply in replies if reply is not None), None) or healthy(seen)

    def of(self, method: str) -> list[Seen]:
        """The requests of one method."""
        return [seen for seen in self.seen if seen.method == method]

    def __enter__(self) -> Self:
        self._server.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.stop()


class _Server(Listener):
    daemon_threads = True
    block_on_close = False
    script: ScriptedServer


class _Handler(RequestHandler):
    server: _Server

    def serve(self) -> None:
        parts = urlsplit(self.path)
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        reply = self.server.script.reply(
            Seen(
                method=self.command,
                path=parts.path,
                query=dict(parse_qsl(parts.query)),
                headers={key.lower(): value for key, value in self.headers.items()},
                body=json.loads(raw) if raw else None,
            )
        )
        self.close_connection = True
        if reply.drop:
            return
        data = reply.body if isinstance(reply.body, bytes) else json.dumps(reply.body).encode()
        self.send_response_only(reply.code)
        if reply.dated:
            self.send_header("Date", DATE)
        for name, value in reply.headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data[: len(data) - reply.cut])
