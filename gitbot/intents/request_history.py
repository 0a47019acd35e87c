"""The history of requests, folded from the ledger by the caller."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from gitbot.kubernetes.names import NamespacedName
from gitbot.model.ledger.request_id import DrainId, RequestId
from gitbot.model.plan.problem import PastMigrations


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestHistory:
    """The history of requests, by ledger id.

    `finished` never run again; `started` maps ids whose moves have begun (finished ones included)
    to the digest of the approved spec, "" if unknown; `highest_moves` are the highest move numbers
    so far; `cancelled` are the finished ones that a person cancelled. `emptying` are windows with a
    node that left service and is not back; `returned` are the nodes of each drain that are.
    `begins` is when the moves of approved drains may begin (seconds UTC). `left` are the nodes that
    healings took VMs from, by planned id and UID of the VMI. `took` is of those that succeeded.
    """

    finished: frozenset[RequestId] = frozenset()
    started: Mapping[RequestId, str] = field(default_factory=dict)
    cancelled: frozenset[RequestId] = frozenset()
    highest_moves: Mapping[RequestId, int] = field(default_factory=dict)
    emptying: frozenset[str] = frozenset()
    returned: Mapping[RequestId, frozenset[str]] = field(default_factory=dict)
    begins: Mapping[RequestId, int] = field(default_factory=dict)
    left: Mapping[RequestId, Mapping[str, frozenset[str]]] = field(default_factory=dict)
    took: Mapping[NamespacedName, PastMigrations] = field(default_factory=dict)

    def next_move(self, request: RequestId) -> int:
        return self.highest_moves.get(request, 0) + 1

    def open_ended(self, window: str, spec_digest: str) -> str:
        """The occurrence of a window without schedule that began with this spec; "" if none did.

        One that has not finished is preferred: the file was removed and merged again.
        """
        begun = [
            name
            for name, digest in self.started.items()
            if isinstance(name, DrainId)
            and (name.occurrence.window, digest) == (window, spec_digest)
            and name.occurrence.open_ended
        ]
        begun.sort(key=lambda name: name in self.finished)
        return begun[0].occurrence.id if begun else ""


NO_PAST = RequestHistory()
