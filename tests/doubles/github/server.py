"""The service on a port of 127.0.0.1: REST below `/api/v3` and `/`, Git at `/owner/name.git`."""

import hashlib
import json
import ssl
import threading
from base64 import b64decode
from dataclasses import replace
from typing import Self
from urllib.parse import parse_qsl, urlsplit

from tests.doubles.github import smart_http
from tests.doubles.github.calls import Answer, Request
from tests.doubles.github.service import Dropped, GitHub
from tests.doubles.listener import Listener, RequestHandler

ENTERPRISE = "/api/v3"  # where GitHub Enterprise Server has its API


class Server:
    """One GitHub on a port. `lock` guards its state: hold it to touch the state beside the server.

    With a TLS context it speaks https, as `gh` and GitHub Enterprise Server want it.
    """

    def __init__(self, github: GitHub, *, tls: ssl.SSLContext | None = None) -> None:
        self.github = github
        self.lock = threading.RLock()
        self._listener = _Listener(_Connection, "github", now=github.clock.now)
        self._listener.owner = self
        self._scheme = "http"
        if tls is not None:
            self._scheme = "https"
            self._listener.socket = tls.wrap_socket(
                self._listener.socket,
                server_side=True,
                do_handshake_on_connect=False,  # in the connection's own thread
            )
        github.html = self.url

    @property
    def url(self) -> str:
        """The root of pages and of Git."""
        return f"{self._scheme}://{self._listener.address}"

    @property
    def api(self) -> str:
        """The root of the API, as on GitHub Enterprise Server."""
        return self.url + ENTERPRISE

    def __enter__(self) -> Self:
        self._listener.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.stop()


class _Listener(Listener):
    owner: Server


class _Connection(RequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Listener

    def serve(self) -> None:
        parts = urlsplit(self.path)
        body = self._body()
        ask = self._git if smart_http.is_git(parts.path) else self._api
        try:
            with self.server.owner.lock:
                answer = ask(parts.path, parts.query, body)
        except Dropped:
            self.close_connection = True
            return
        self._send(answer)

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
        enterprise = path.startswith(ENTERPRISE + "/")
        request = Request(
            method=self.command,
            path=path.removeprefix(ENTERPRISE) if enterprise else path,
            root=owner.api if enterprise else owner.url,
            query=dict(parse_qsl(query, keep_blank_values=True)),
            body=json.loads(body) if body else None,
            token=self._token(),
        )
        return self._conditional(owner.github.handle(request), request.token)

    def _conditional(self, answer: Answer, token: str) -> Answer:
        """ETags on reads; an equal one is answered with 304 and costs no request."""
        if self.command != "GET" or answer.code != 200:
            return answer
        tag = f'W/"{hashlib.sha256(answer.text()).hexdigest()}"'
        headers = {**answer.headers, "ETag": tag}
        if tag != self.headers.get("If-None-Match"):
            return replace(answer, headers=headers)
        self.server.owner.github.limits.give_back(token)
        return Answer(code=304, headers=headers)

    def _git(self, path: str, query: str, body: bytes) -> Answer:
        cgi = {
            "REQUEST_METHOD": self.command,
            "QUERY_STRING": query,
            "CONTENT_TYPE": self.headers.get("Content-Type") or "",
            "CONTENT_LENGTH": str(len(body)),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding") or "",
            "GIT_PROTOCOL": self.headers.get("Git-Protocol") or "",
        }
        return smart_http.serve(self.server.owner.github, path, self._token(), body, cgi)

    def _send(self, answer: Answer) -> None:
        data = answer.text()
        self.send_response(answer.code)
        headers = {"Content-Type": "application/json; charset=utf-8", **answer.headers}
        if answer.code not in (204, 304):
            headers["Content-Length"] = str(len(data))
        for key, value in headers.items():
            self.send_header(key, value)
        self.end_headers()
        if answer.code not in (204, 304):
            self.wfile.write(data)
