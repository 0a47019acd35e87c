"""What is known of requests from before: folded from the ledger by whoever compiles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """The past of requests, by ledger id.

    `finished` never fire again; `started` maps ids whose moves have begun (finished ones included)
    to the digest of the spec that was approved, "" where it is not known; `highest_moves` are the
    highest move numbers so far.
    """

    finished: frozenset[str] = frozenset()
    started: Mapping[str, str] = field(default_factory=dict)
    highest_moves: Mapping[str, int] = field(default_factory=dict)

    def next_move(self, request: str) -> int:
        """The next free move number of a request."""
        return self.highest_moves.get(request, 0) + 1


NO_PAST = Past()
