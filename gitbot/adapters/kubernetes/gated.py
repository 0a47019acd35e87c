"""Connections that ask a gate when they stand, right before a request leaves.

A claim has its limit, and nothing else has one before that: the look-up of a name, one address
after another, a proxy's tunnel, TLS.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from urllib3 import HTTPConnectionPool, HTTPSConnectionPool, PoolManager
from urllib3.connection import HTTPConnection, HTTPSConnection


def ask_when_connected(manager: PoolManager, ask: Callable[[], None]) -> None:
    """All requests of this manager call `ask` first, which may raise an error of its own."""

    class GatedConnection(HTTPConnection):
        def request(self, *args: Any, **named: Any) -> None:
            if self.is_closed:
                self.connect()
            ask()
            super().request(*args, **named)

    class GatedTlsConnection(HTTPSConnection):  # its pool connects it
        def request(self, *args: Any, **named: Any) -> None:
            ask()
            super().request(*args, **named)

    class GatedPool(HTTPConnectionPool):
        ConnectionCls = GatedConnection

    class GatedTlsPool(HTTPSConnectionPool):
        ConnectionCls = GatedTlsConnection

    manager.pool_classes_by_scheme = {"http": GatedPool, "https": GatedTlsPool}
