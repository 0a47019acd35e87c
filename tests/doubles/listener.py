"""A listener on a port of 127.0.0.1. When it stops, all its connections and threads have ended."""

from __future__ import annotations

import ssl
import sys
import threading
from collections.abc import Callable
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler
from typing import Any

from gitbot.simulation import http as simulated


class Listener(simulated.Listener):
    """Serves in a thread, from `start()` to `stop()`. Port 0 takes a free one."""

    def __init__(
        self,
        connection: type[RequestHandler],
        name: str,
        *,
        port: int = 0,
        now: Callable[[], float] | None = None,
    ) -> None:
        """`now` gives the Date header, in seconds UTC; without it, this machine's clock does."""
        super().__init__(("127.0.0.1", port), connection)
        self.now = now
        self._thread = threading.Thread(
            target=self.serve_forever, kwargs={"poll_interval": 0.05}, name=name, daemon=True
        )

    @property
    def address(self) -> str:
        """`127.0.0.1:<port>`."""
        return f"127.0.0.1:{self.server_address[1]}"

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Accept nothing more, end idle keep-alive connections, and wait for what is running."""
        self.shutdown()
        self._thread.join()
        self.close_connections()
        self.server_close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that breaks off a TLS handshake is not an error."""
        if not isinstance(sys.exception(), ssl.SSLError):
            super().handle_error(request, client_address)


class RequestHandler(BaseHTTPRequestHandler):
    """One connection: quiet, and its Date header shows the listener's clock."""

    disable_nagle_algorithm = True  # head and body are two writes: no 40 ms wait for an answer
    server: Listener

    def serve(self) -> None:
        """Answer one request."""
        raise NotImplementedError

    def do_GET(self) -> None:
        self.serve()

    do_POST = do_PUT = do_PATCH = do_DELETE = do_GET  # noqa: N815 - the base class's names

    def date_time_string(self, timestamp: float | None = None) -> str:
        now = self.server.now
        return formatdate(now() if timestamp is None and now else timestamp, usegmt=True)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class's name
        ...
