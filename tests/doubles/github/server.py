"""The service on a port of 127.0.0.1: REST below `/api/v3` and `/`, Git at `/owner/name.git`."""

from __future__ import annotations

import hashlib
import json
import ssl
import threading
from base64 import b64decode
from dataclasses import replace
from typing import Self
from urllib.parse import parse_qsl, unquote, urlsplit

from tests.doubles.github import smart_http
from tests.doubles.github.calls import Answer, Request
from tests.doubles.github.links import Links
from tests.doubles.github.problems import Problem
from tests.doubles.github.service import Dropped, GitHub
from tests.doubles.listener import Listener, RequestHandler

ENTERPRISE = "/api/v3"  # where GitHub Enterprise Server has its API


class Server:
    """One GitHub on a port. `lock` guards its state: hold it to touch the state beside the server.

    With a TLS context it speaks https, as `gh` and GitHub Enterprise Server want it.
    """

    def __init__(self, github: GitHub, *, port: int = 0, tls: ssl.SSLContext | None = None) -> None:
        self.github = github
        self.lock = threading.RLock()
        self._listener = _Listener(_Connection, "github", port=port, now=github.clock.now)
        self._listener.owner = self
        self._scheme = "http"
        if tls is not None:
            self._scheme = "https"
            self._listener.socket = tls.wrap_socket(
                self._listener.socket,
                server_side=True,
                do_handshake_on_connect=False,  # in the connection's own thread
            )
        github.links = Links(api=self.api, html=self.url)

    @property
    def url(self) -> str:
        """The root of pages and of Git."""
        return f"{self._scheme}://{self._listener.address}"

    @property
    def api(self) -> str:
        """The root of the API, as on GitHub Enterprise Server."""
        return self.url + ENTERPRISE

    def start(self) -> None:
        """Serve in a thread."""
        self._listener.start()

    def stop(self) -> None:
        """Stop serving and close every connection."""
        self._listener.stop()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def serve(github: GitHub, *, port: int = 0, tls: ssl.SSLContext | None = None) -> Server:
    """Start a server; port 0 takes a free one. Stop it with `stop()`."""
    server = Server(github, port=port, tls=tls)
    server.start()
    return server


class _Listener(Listener):
    owner: Server


class _Connection(RequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Listener

    def serve(self) -> None:
        parts = urlsplit(self.path)
        body = self._body()
        owner = self.server.owner
        try:
            if smart_http.is_git(parts.path):
                with owner.lock:
                    answer = self._git(parts.path, parts.query, body)
            else:
                with owner.lock:
                    answer = self._api(parts.path, parts.query, body)
        except Dropped:
            self.close_connection = True
            return
        self._send(answer)

    do_HEAD = RequestHandler.do_GET  # noqa: N815 - the base class's name

    def _body(self) -> bytes:
        if "chunked" not in (self.headers.get("Transfer-Encoding") or ""):
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        chunks = []
        while size := int(self.rfile.readline().split(b";")[0], 16):
            chunks.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(chunks)

    def _token(self) -> str:
        scheme, _, value = (self.headers.get("Authorization") or "").partition(" ")
        if scheme.lower() == "basic":
            return b64decode(value).decode("utf-8", "replace").partition(":")[2]
        return value.strip()

    def _api(self, path: str, query: str, body: bytes) -> Answer:
        owner = self.server.owner
        links = Links(api=owner.url, html=owner.url)
        if path == ENTERPRISE or path.startswith(ENTERPRISE + "/"):
            path, links = path.removeprefix(ENTERPRISE) or "/", Links(api=owner.api, html=owner.url)
        try:
            data = json.loads(body) if body else None
        except ValueError:
            problem = Problem(400, "Problems parsing JSON")
            return Answer(code=400, body=problem.body)
        request = Request(
            method=self.command,
            path=path,
            query=dict(parse_qsl(query, keep_blank_values=True)),
            body=data,
            token=self._token(),
            headers={key.lower(): value for key, value in self.headers.items()},
        )
        return self._conditional(owner.github.handle(request, links), request)

    def _conditional(self, answer: Answer, request: Request) -> Answer:
        """ETags on reads; an equal one is answered with 304 and costs no request."""
        if request.method != "GET" or answer.code != 200:
            return answer
        tag = f'W/"{hashlib.sha256(answer.text()).hexdigest()}"'
        headers = {**answer.headers, "ETag": tag}
        if tag not in request.headers.get("if-none-match", ""):
            return replace(answer, headers=headers)
        github = self.server.owner.github
        github.limits.give_back(request.token or "anonymous", github.clock.now())
        return Answer(code=304, headers=headers)

    def _git(self, path: str, query: str, body: bytes) -> Answer:
        return smart_http.serve(
            self.server.owner.github,
            smart_http.GitRequest(
                method=self.command,
                path=unquote(path),
                query=query,
                body=body,
                token=self._token(),
                content_type=self.headers.get("Content-Type") or "",
                encoding=self.headers.get("Content-Encoding") or "",
                protocol=self.headers.get("Git-Protocol") or "",
            ),
        )

    def _send(self, answer: Answer) -> None:
        data = answer.text()
        self.send_response(answer.code)
        headers = {"Content-Type": "application/json; charset=utf-8", **answer.headers}
        for key, value in headers.items():
            self.send_header(key, value)
        if answer.code not in (204, 304):
            self.send_header("Content-Length", str(len(data)))
        self.send_header("X-GitHub-Request-Id", "0000:0000")
        self.end_headers()
        if self.command != "HEAD" and answer.code not in (204, 304):
            self.wfile.write(data)
