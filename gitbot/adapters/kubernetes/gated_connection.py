"""Connections that ask a gate when they stand, right before a request leaves.

A claim has its limit, and nothing else has one before that: the look-up of a name, one address
after another, a proxy's tunnel, TLS.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from urllib3 import PoolManager


def ask_when_connected(manager: PoolManager, ask: Callable[[], None]) -> None:
    """All requests of this manager call `ask` first, which may raise an error of its own.

    Its own kinds of connections are kept: those of a SOCKS proxy know the way to it.
    """
    known: dict[str, Any] = manager.pool_classes_by_scheme
    manager.pool_classes_by_scheme = {name: _gated(pool, ask) for name, pool in known.items()}


def _gated(pool: Any, ask: Callable[[], None]) -> Any:
    kind = pool.ConnectionCls

    def request(self: Any, *args: Any, **named: Any) -> None:
        if self.is_closed:  # of plain HTTP: with TLS its pool connects it
            self.connect()
        ask()
        kind.request(self, *args, **named)

    connection = type(kind.__name__, (kind,), {"request": request})
    return type(pool.__name__, (pool,), {"ConnectionCls": connection})
