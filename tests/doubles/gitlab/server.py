"""The service on a port of 127.0.0.1: its API below `/api/v4`, Git at `/group/project.git`."""

import hashlib
import json
import re
import threading
from base64 import b64decode
from dataclasses import replace
from typing import Self
from urllib.parse import parse_qsl, urlsplit

from tests.doubles.github.calls import Answer
from tests.doubles.github.service import Dropped
from tests.doubles.github.smart_http import backend
from tests.doubles.gitlab import merging, requests  # noqa: F401 - its routes
from tests.doubles.gitlab.service import GitLab, Request
from tests.doubles.listener import Listener, RequestHandler

_API = "/api/v4"
_GIT = re.compile(r"/(.+)\.git/(info/refs|git-(?:upload|receive)-pack)")


class Server:
    """One GitLab on a port. `lock` guards its state."""

    def __init__(self, gitlab: GitLab) -> None:
        self.gitlab = gitlab
        self.lock = threading.RLock()
        self._listener = _Listener(_Connection, "gitlab", now=gitlab.clock.now)
        self._listener.owner = self

    @property
    def url(self) -> str:
        return f"http://{self._listener.address}"

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
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if found := _GIT.fullmatch(parts.path):
            with self.server.owner.lock:
                answer = self._git(found[1], found[2], parts.query, body)
            self._send(answer)
            return
        request = Request(
            method=self.command,
            path=parts.path.removeprefix(_API),
            query=dict(parse_qsl(parts.query, keep_blank_values=True)),
            body=json.loads(body) if body else None,
            token=self.headers.get("PRIVATE-TOKEN") or "",
        )
        try:
            with self.server.owner.lock:
                answer = self.server.owner.gitlab.handle(request)
        except Dropped:
            self.close_connection = True
            return
        self._send(self._conditional(answer))

    def _git(self, path: str, service: str, query: str, body: bytes) -> Answer:
        """Git over HTTP, by git's own backend. Any name goes with a token."""
        gitlab = self.server.owner.gitlab
        basic = (self.headers.get("Authorization") or "").removeprefix("Basic ")
        name = gitlab.tokens.get(b64decode(basic).decode().partition(":")[2])
        project = gitlab.projects.get(path)
        if name is None or project is None or name not in project.members:
            headers = {"WWW-Authenticate": 'Basic realm="GitLab"', "Content-Type": "text/plain"}
            return Answer(code=401, body="HTTP Basic: Access denied", headers=headers)
        project.pusher = name
        merging.notice(project, gitlab.clock.now())
        cgi = {
            "REQUEST_METHOD": self.command,
            "QUERY_STRING": query,
            "CONTENT_TYPE": self.headers.get("Content-Type") or "",
            "CONTENT_LENGTH": str(len(body)),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding") or "",
            "GIT_PROTOCOL": self.headers.get("Git-Protocol") or "",
            "PATH_INFO": f"/{project.git.directory.name}/{service}",
            "REMOTE_USER": name,
        }
        answer = backend(project.git.directory, body, cgi)
        merging.notice(project, gitlab.clock.now())
        return answer

    def _conditional(self, answer: Answer) -> Answer:
        """ETags on reads; an equal one is answered with 304."""
        if self.command != "GET" or answer.code != 200:
            return answer
        tag = f'W/"{hashlib.sha256(answer.text()).hexdigest()}"'
        headers = {**answer.headers, "ETag": tag}
        if tag == self.headers.get("If-None-Match"):
            return Answer(code=304, headers=headers)
        return replace(answer, headers=headers)

    def _send(self, answer: Answer) -> None:
        data = answer.text()
        self.send_response(answer.code)
        headers = {"Content-Type": "application/json", **answer.headers}
        if answer.code not in (204, 304):
            headers["Content-Length"] = str(len(data))
        for key, value in headers.items():
            self.send_header(key, value)
        self.end_headers()
        if answer.code not in (204, 304):
            self.wfile.write(data)
