"""The server: threads, one lock around the store, streams for watches."""

from __future__ import annotations

import json
import sys
import threading
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qsl, urlsplit

from gitbot.simulation.http import protobuf
from gitbot.simulation.http.list_requests import wanted_of
from gitbot.simulation.http.request_handler import REVIEWS, Handler, HttpRequest, Response
from gitbot.simulation.http.routes import UnknownGroup, find_route
from gitbot.simulation.http.watch_requests import Watch
from gitbot.simulation.simulated_api import ADMIN
from gitbot.simulation.simulated_cluster import SimulatedCluster
from gitbot.simulation.status_errors import ApiError, bad_request
from gitbot.simulation.store import Change

LAST_WORDS = 2  # real seconds in which open watches may end by themselves


class ApiServer:
    """One simulated cluster on a TCP port of 127.0.0.1.

    `lock` guards the cluster: hold it to advance the clock while the server runs.
    """

    def __init__(self, cluster: SimulatedCluster, port: int = 0) -> None:
        self.cluster = cluster
        self.lock = threading.Condition(threading.RLock())
        self.handler = Handler(cluster)
        self.stopping = False
        self.watching = 0
        self._server = _Server(("127.0.0.1", port), _Connection)
        self._server.face = self
        self._thread = threading.Thread(
            target=self._server.serve_forever,
            kwargs={"poll_interval": 0.05},
            name="api-server",
            daemon=True,
        )
        cluster.store.listeners.append(self._wake)
        cluster.engine.tolerant = True  # people send anything

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Stop serving; open watches end."""
        with self.lock:
            self.stopping = True
            self.lock.notify_all()
            self.lock.wait_for(lambda: self.watching == 0, timeout=LAST_WORDS)
        self._server.shutdown()
        self._thread.join()
        self.cluster.store.listeners.remove(self._wake)
        self._server.close_connections()
        self._server.server_close()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _wake(self, _: Change) -> None:
        with self.lock:
            self.lock.notify_all()


class Listener(ThreadingHTTPServer):
    """Knows its open connections. When it stops, all of them and their threads have ended."""

    daemon_threads = False
    block_on_close = True
    request_queue_size = 64

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._open: set[Any] = set()
        self._guard = threading.Lock()

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._guard:
            self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        with self._guard:
            self._open.discard(request)
        super().shutdown_request(request)

    def close_connections(self) -> None:
        """End idle keep-alive connections, so that their threads end."""
        with self._guard:
            sockets = list(self._open)
        for connection in sockets:
            try:
                connection.shutdown(2)
            except OSError:
                continue  # the client was faster

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that disconnects is not an error; the base class handles the rest."""
        if not isinstance(sys.exception(), (ConnectionError, TimeoutError)):
            super().handle_error(request, client_address)


class _Server(Listener):
    face: ApiServer


class _Connection(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # head and body are two writes: no 40 ms wait for an answer
    server: _Server

    def date_time_string(self, timestamp: float | None = None) -> str:
        """The Date header shows the cluster's clock."""
        moment = self.server.face.cluster.now() if timestamp is None else timestamp
        return formatdate(moment, usegmt=True)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class's name
        ...

    def do_GET(self) -> None:
        """Serve a read, or stream a watch."""
        self._serve()

    do_POST = do_PUT = do_PATCH = do_DELETE = do_GET  # noqa: N815 - the base class's names

    def _serve(self) -> None:
        face = self.server.face
        try:
            request = self._decode()
            if request.method == "GET" and _is_watch(request):
                self._watch(request)
                return
        except UnknownGroup:
            pass  # the handler answers it
        except ApiError as refusal:
            self._send(Response(code=refusal.code, body=refusal.status()))
            return
        with face.lock:
            response = face.handler.answer(request)
            data = _encode(response)
        self._send(response, data)

    def _decode(self) -> HttpRequest:
        parts = urlsplit(self.path)
        length = int(self.headers.get("Content-Length") or 0)
        raw = self.rfile.read(length) if length else b""
        content_type = self.headers.get("Content-Type") or ""
        return HttpRequest(
            method=self.command,
            path=parts.path,
            query=dict(parse_qsl(parts.query, keep_blank_values=True)),
            body=None if _is_unread(parts.path, content_type) else _body(raw, content_type),
            accept=self.headers.get("Accept") or "",
            content_type=content_type,
            user=self.headers.get("Impersonate-User") or ADMIN,
        )

    def _send(self, response: Response, data: bytes | None = None) -> None:
        data = _encode(response) if data is None else data
        self.send_response(response.code)
        self.send_header("Content-Type", response.content_type)
        self.send_header("Content-Length", str(len(data)))
        for warning in response.warnings:
            text = warning.replace("\\", "\\\\").replace('"', '\\"')
            self.send_header("Warning", f'299 - "{text}"')
        self.end_headers()
        self.wfile.write(data)

    def _watch(self, request: HttpRequest) -> None:
        face = self.server.face
        watch = Watch(
            store=face.cluster.store,
            lock=face.lock,
            stopping=lambda: face.stopping,
            now=face.cluster.now,
            route=find_route(request.path),
            query=request.query,
            wanted=wanted_of(request.accept, request.query),
        )
        with face.lock:
            first = watch.start()
            face.watching += 1
        try:
            self._stream(watch, first)
        finally:
            with face.lock:
                face.watching -= 1
                face.lock.notify_all()

    def _stream(self, watch: Watch, first: list[dict[str, Any]]) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.wfile.flush()
        self._chunk(first)
        for events in watch.follow():
            self._chunk(events)
        self.wfile.write(b"0\r\n\r\n")
        self.wfile.flush()

    def _chunk(self, events: list[dict[str, Any]]) -> None:
        data = b"".join(json.dumps(event).encode() + b"\n" for event in events)
        if data:
            self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
            self.wfile.flush()


def _is_watch(request: HttpRequest) -> bool:
    return request.query.get("watch") in ("true", "1") and request.path.startswith("/api")


def _is_unread(path: str, content_type: str) -> bool:
    """Reviews come as protobuf from kubectl; the answer does not need their content."""
    return "protobuf" in content_type and path.rsplit("/", 1)[-1] in REVIEWS


def _encode(response: Response) -> bytes:
    if isinstance(response.body, str):
        return response.body.encode()
    return json.dumps(response.body).encode() + b"\n"


def _body(raw: bytes, content_type: str) -> Any:
    if not raw:
        return None
    if "protobuf" in content_type:
        return protobuf.decode(raw)
    if "cbor" in content_type:
        raise ApiError(
            f"the simulated server reads JSON and some protobuf, found {content_type}",
            code=415,
            reason="UnsupportedMediaType",
        )
    try:
        return json.loads(raw)
    except ValueError:
        raise bad_request("the body of the request is not valid JSON") from None
