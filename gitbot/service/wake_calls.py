"""Calls of a forge's webhook: whose they are, and that each of them wakes one pass at most.

A call decides nothing and tells nothing: the pass that it wakes reads the forge as any other pass
does. If all calls are lost, the same happens later.
"""

from __future__ import annotations

import hashlib
import hmac
import threading
from collections import OrderedDict
from collections.abc import Callable

LARGEST = 25 * 1024 * 1024  # bytes; GitHub sends no more
KNOWN = 1024  # calls that are recognised when they come again
_PIECE = 64 * 1024
# the HMAC-SHA256 of the body, in hex, behind a prefix: GitHub, Gitea and Forgejo
_SIGNED = (
    ("X-Hub-Signature-256", "sha256="),
    ("X-Gitea-Signature", ""),
    ("X-Forgejo-Signature", ""),
)
_GITLAB = "X-Gitlab-Token"  # the secret itself: GitLab signs no body

Header = Callable[[str], str]
"""The value of a header by its name; "" without it."""


class Bell:
    """Rung by one thread, asked by another: any number of calls is one ring."""

    def __init__(self) -> None:
        self._rung = threading.Event()

    def ring(self) -> None:
        self._rung.set()

    def has_rung(self) -> bool:
        """Whether it was rung since this was asked last."""
        has = self._rung.is_set()
        self._rung.clear()
        return has


class WakeCalls:
    """Judges calls, from many threads at once. `wake` is called for each new one that is signed."""

    def __init__(self, secret: str, wake: Callable[[], None]) -> None:
        self._secret, self._wake = secret.encode(), wake
        self._known: OrderedDict[bytes, None] = OrderedDict()
        self._guard = threading.Lock()

    def take(self, header: Header, read: Callable[[int], bytes]) -> tuple[int, str]:
        """The status of the answer, and its text. `read` gives at most so many bytes of the body.

        The body is hashed piece by piece and never kept.
        """
        length = header("Content-Length")
        if not (length.isascii() and length.isdecimal()):
            return 411, "the call has no Content-Length\n"
        if int(length) > LARGEST:
            return 413, f"the call has more than {LARGEST} bytes\n"
        signature, digest = self._hashed(int(length), read)
        if not self._is_signed(header, signature):
            return 401, "the call has no valid signature\n"
        if self._is_known(digest):
            return 200, "known\n"
        self._wake()
        return 202, "a pass will look\n"

    def _hashed(self, length: int, read: Callable[[int], bytes]) -> tuple[str, bytes]:
        """The signature of the body in hex, and its digest."""
        signed, digest = hmac.new(self._secret, digestmod=hashlib.sha256), hashlib.sha256()
        while length > 0 and (piece := read(min(length, _PIECE))):
            signed.update(piece)
            digest.update(piece)
            length -= len(piece)
        return signed.hexdigest(), digest.digest()

    def _is_signed(self, header: Header, signature: str) -> bool:
        for name, prefix in _SIGNED:
            if hmac.compare_digest(_bytes(header(name)), f"{prefix}{signature}".encode()):
                return True
        return hmac.compare_digest(_bytes(header(_GITLAB)), self._secret)

    def _is_known(self, digest: bytes) -> bool:
        """Whether the same body came before; delivery ids are not signed, so they say nothing."""
        with self._guard:
            known = digest in self._known
            self._known[digest] = None
            self._known.move_to_end(digest)
            if len(self._known) > KNOWN:
                self._known.popitem(last=False)
        return known


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
