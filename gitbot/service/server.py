"""The listener: few connections at once, each for a few seconds, none of them in a pass."""

from __future__ import annotations

import socket
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from typing import Any, Self

from gitbot.errors import UsageError
from gitbot.service.pages import PageAnswer, ServedPages

LOOPBACK = "127.0.0.1"
LONGEST = 10.0  # seconds of one connection, also of a client that sends a byte now and then
CONNECTIONS = 32  # at once; further ones are closed
_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": _POLICY,
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
_POLL = 0.5  # seconds between looks for connections that last too long


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Where to listen; port 0 takes a free one."""

    host: str
    port: int

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine reaches it."""
        return ip_address(self.host).is_loopback

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def parse_address(text: str) -> Address:
    """`PORT` on loopback, or `IP:PORT`. Raises UsageError for anything else."""
    host, colon, port = text.rpartition(":")
    try:
        found = str(ip_address(host.removeprefix("[").removesuffix("]"))) if colon else LOOPBACK
        if port.isascii() and port.isdecimal() and int(port) < 1 << 16:
            return Address(host=found, port=int(port))
    except ValueError:
        pass
    raise UsageError(
        f"--listen: found {text}, expected IP:PORT, or a port of {LOOPBACK}",
        hint="0.0.0.0:8080 listens on every IPv4 address of the machine, [::]:8080 on IPv6, too",
    )


class PageServer:
    """Serves `pages` until the `with` block ends, and runs no code in the caller's thread.

    `seconds` never steps back. Raises UsageError if the address cannot be had.
    """

    def __init__(self, address: Address, pages: ServedPages, seconds: Callable[[], float]) -> None:
        try:
            self._listener = _Listener(address, pages, seconds)
        except OSError as error:
            raise UsageError(
                f"cannot listen on {address}: {error.strerror}",
                hint="give --listen an address of this machine with a free port",
            ) from error
        self._thread = threading.Thread(
            target=self._listener.serve_forever,
            kwargs={"poll_interval": _POLL},
            name="pages",
            daemon=True,
        )

    @property
    def address(self) -> Address:
        """With the port that the system chose for port 0."""
        host, port = self._listener.server_address[:2]
        return Address(host=str(host), port=port)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.shutdown()
        self._thread.join()
        self._listener.close_older(0)
        self._listener.server_close()


class _Listener(ThreadingHTTPServer):
    daemon_threads = False
    block_on_close = True
    request_queue_size = CONNECTIONS

    def __init__(self, address: Address, pages: ServedPages, seconds: Callable[[], float]) -> None:
        self.address_family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
        self.pages = pages
        self._seconds = seconds
        self._since: dict[Any, float] = {}
        self._guard = threading.Lock()
        super().__init__((address.host, address.port), _PageRequest)

    def server_bind(self) -> None:
        """As the base class of HTTPServer: its own looks up the name of the host in DNS."""
        super(ThreadingHTTPServer, self).server_bind()

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._guard:
            full = len(self._since) >= CONNECTIONS
            self._since[request] = self._seconds()
        if full:
            self.shutdown_request(request)
        else:
            super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        with self._guard:
            self._since.pop(request, None)
        super().shutdown_request(request)

    def service_actions(self) -> None:
        self.close_older(LONGEST)

    def close_older(self, seconds: float) -> None:
        """End connections that are as old as that, so that their threads end."""
        now = self._seconds()
        with self._guard:
            old = [request for request, since in self._since.items() if now - since >= seconds]
        for connection in old:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue  # the client was faster

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that disconnects is not an error; the base class prints the rest."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


def _plain(status: int, text: str) -> PageAnswer:
    return PageAnswer(status=status, content_type="text/plain", body=text.encode())


class _PageRequest(BaseHTTPRequestHandler):
    """One request: HTTP/1.0, so the connection ends with it."""

    server: _Listener
    timeout = LONGEST
    server_version = "gitbot"
    sys_version = ""

    def do_GET(self) -> None:
        try:
            found = self.server.pages.answer(self.path, self.headers.get("Host", ""))
        except Exception as error:  # noqa: BLE001 - the client learns it, and the passes go on
            found = _plain(500, f"BUG: this page failed: {type(error).__name__}: {error}\n")
        self._send(found or _plain(404, "not found\n"))

    do_HEAD = do_GET  # noqa: N815 - the base class's name

    def do_POST(self) -> None:
        calls = self.server.pages.calls
        if calls is None or self.path != "/webhook":
            self._send(_plain(501, "nothing is written here\n"))
            return
        self._send(_plain(*calls.take(lambda name: self.headers.get(name, ""), self.rfile.read)))

    def _send(self, answer: PageAnswer) -> None:
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.content_type)
        self.send_header("Content-Length", str(len(answer.body)))
        for name, value in _HEADERS.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(answer.body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class's name
        ...
