"""Connections that call a gate once they are open, right before a request leaves.

A claim has a time limit, but the steps before a request have none: name look-up, one address after
another, a proxy's tunnel, TLS. So the last check of the limit must follow them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from urllib3 import PoolManager


def ask_when_connected(manager: PoolManager, ask: Callable[[], None]) -> None:
    """All requests of this manager call `ask` first, which may raise its own error.

    Keeps the manager's kinds of connections: those of a SOCKS proxy know how to reach it.
    """
    known: dict[str, Any] = manager.pool_classes_by_scheme
    manager.pool_classes_by_scheme = {name: _gated(pool, ask) for name, pool in known.items()}


def _gated(pool: Any, ask: Callable[[], None]) -> Any:
    kind = pool.ConnectionCls

    def request(self: Any, *args: Any, **named: Any) -> None:
        if self.is_closed:  # plain HTTP only: the pool connects TLS connections itself
            self.connect()
        ask()
        kind.request(self, *args, **named)

    connection = type(kind.__name__, (kind,), {"request": request})
    return type(pool.__name__, (pool,), {"ConnectionCls": connection})
