"""A loopback server that answers as a test says, and remembers what was asked."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from gitbot.adapters.forges.github.api import GitHubApi
from gitbot.adapters.forges.github.credentials import CredentialKind, Credentials
from gitbot.adapters.forges.github.forge import GitHubForge
from tests.doubles.listener import Listener, RequestHandler


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One request as it came: path without query."""

    verb: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What is answered; `lost` closes the connection instead, after the script has acted."""

    status: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    lost: bool = False


Script = Callable[[Request], Reply]


class FakeClock:
    """Time that passes only by sleeping."""

    def __init__(self, now: int = 1_000_000) -> None:
        self.present = now
        self.slept: list[int] = []

    def now(self) -> int:
        return self.present

    def sleep(self, seconds: int) -> None:
        self.slept.append(seconds)
        self.present += seconds


@dataclass(slots=True, kw_only=True)
class Scripted:
    """A running server: its address, the requests so far, and the script."""

    url: str = ""
    script: Script
    seen: list[Request] = field(default_factory=list)

    def asked(self) -> list[str]:
        return [f"{item.verb} {item.path}" for item in self.seen]


@contextmanager
def serving(script: Script) -> Iterator[Scripted]:
    """Serve until the end of the block."""
    scripted = Scripted(script=script)
    server = Listener(_handler(scripted), "scripted")
    server.start()
    scripted.url = f"http://{server.address}"
    try:
        yield scripted
    finally:
        server.stop()


def _handler(scripted: Scripted) -> type[RequestHandler]:
    class Handler(RequestHandler):
        def serve(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            data = self.rfile.read(length) if length else b""
            parts = urlsplit(self.path)
            request = Request(
                verb=self.command,
                path=parts.path,
                query=dict(parse_qsl(parts.query)),
                headers={name.lower(): value for name, value in self.headers.items()},
                body=json.loads(data) if data else None,
            )
            scripted.seen.append(request)
            reply = scripted.script(request)
            self.close_connection = True
            if reply.lost:
                return
            body = reply.body if isinstance(reply.body, str) else json.dumps(reply.body)
            text = body.encode()
            self.send_response(reply.status)
            for name, value in reply.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(text)))
            self.send_header("Connection", "close")
            self.end_headers()
            if reply.status != 304:
                self.wfile.write(text)

    return Handler


def credentials_for(url: str, kind: CredentialKind = CredentialKind.ACTIONS) -> Credentials:
    return Credentials(kind=kind, api_url=url, token="ghs_canary", account="gitbot[bot]")


def api_for(scripted: Scripted, clock: FakeClock | None = None) -> GitHubApi:
    return GitHubApi.connect(credentials_for(scripted.url), clock or FakeClock())


def forge_for(
    scripted: Scripted,
    clock: FakeClock | None = None,
    *,
    kind: CredentialKind = CredentialKind.ACTIONS,
) -> GitHubForge:
    return GitHubForge.of(
        credentials_for(scripted.url, kind),
        repository="acme/placement",
        base_branch="main",
        clock=clock or FakeClock(),
    )
