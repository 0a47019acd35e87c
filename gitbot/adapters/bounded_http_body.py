"""Reads HTTP bodies within a time and a size, even if the server sends them slowly forever."""

from __future__ import annotations

import time
from typing import Protocol

_PART = 1024 * 1024


class Body(Protocol):
    """An HTTP response of http.client, urllib or urllib3."""

    def read1(self, amount: int, /) -> bytes: ...
    def close(self) -> None: ...


def whole(body: Body, *, most: int, seconds: float) -> bytes:
    """The whole body, read in parts, because a socket's timeout restarts with every byte.

    Raises TimeoutError if it has more than `most` bytes, or takes longer.
    """
    last = time.monotonic() + seconds
    data = bytearray()
    while part := body.read1(_PART):
        data += part
        if len(data) > most or time.monotonic() > last:
            body.close()
            raise TimeoutError(f"after {len(data)} bytes it does not end, or too slowly")
    return bytes(data)
