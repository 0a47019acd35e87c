"""The ledger as a value: append-only events by file, with sequence numbers and a hash chain.

Files of the branch: `requests/<cluster>/<id>.jsonl`, `nodes/<cluster>/<window>/<occurrence>.jsonl`,
`concerns/<cluster>/<concern>.jsonl`, `plans/<digest>.json`, `pulls/<N>.jsonl`, `hold.jsonl`,
`audit/<cluster>.jsonl`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from gitbot.model.events import (
    AuditScored,
    ConcernChanged,
    HoldEvent,
    LedgerEvent,
    NodeEvent,
    PlanShown,
    PolicyOverridden,
    RequestEvent,
    UnknownEvent,
)
from gitbot.model.request_id import OccurrenceId, RequestId

HOLD_FILE = "hold.jsonl"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ledger:
    """The whole ledger at one commit: events in order of `seq`, plans by digest.

    `head` is the commit id of the branch, "" if the branch does not exist yet. Events of one family
    are oldest first.
    """

    events: tuple[LedgerEvent, ...] = ()
    plans: Mapping[str, bytes] = field(default_factory=dict)
    head: str = ""

    def of(self, place: str) -> tuple[LedgerEvent, ...]:
        """The events of one file, or of all files of a folder (`nodes/prod/`)."""
        return tuple(event for event in self.events if event.file.startswith(place))

    def requests(self, cluster: str) -> tuple[RequestEvent, ...]:
        """Events about the moves of a cluster, and about migrations that somebody else made."""
        known = self.of(f"requests/{cluster}/")
        return tuple(event for event in known if isinstance(event, RequestEvent))

    def nodes(self, cluster: str, occurrence: OccurrenceId) -> tuple[NodeEvent, ...]:
        known = self.of(node_file(cluster, occurrence))
        return tuple(event for event in known if isinstance(event, NodeEvent))

    def concerns(self, cluster: str) -> tuple[ConcernChanged, ...]:
        return self._concerns(f"concerns/{cluster}/")

    def concern(self, cluster: str, name: str) -> tuple[ConcernChanged, ...]:
        return self._concerns(concern_file(cluster, name))

    def _concerns(self, place: str) -> tuple[ConcernChanged, ...]:
        known = self.of(place)
        return tuple(event for event in known if isinstance(event, ConcernChanged))

    def shown(self, number: int, *, cluster: str) -> tuple[PlanShown, ...]:
        known = self.of(pull_file(number))
        return tuple(
            event for event in known if isinstance(event, PlanShown) and event.cluster == cluster
        )

    def overrides(self, cluster: str) -> tuple[PolicyOverridden, ...]:
        known = (event for event in self.of("pulls/") if event.cluster == cluster)
        return tuple(event for event in known if isinstance(event, PolicyOverridden))

    def stops(self, cluster: str) -> tuple[HoldEvent, ...]:
        known = (event for event in self.events if event.cluster in ("", cluster))
        return tuple(event for event in known if isinstance(event, HoldEvent))

    def audits(self, cluster: str) -> tuple[AuditScored, ...]:
        known = self.of(audit_file(cluster))
        return tuple(event for event in known if isinstance(event, AuditScored))

    def unknown(self, cluster: str) -> tuple[UnknownEvent, ...]:
        """Lines of a newer gitbot, for this cluster or for all."""
        known = (event for event in self.events if event.cluster in ("", cluster))
        return tuple(event for event in known if isinstance(event, UnknownEvent))

    def names_below(self, folder: str) -> tuple[str, ...]:
        """The sorted names of a folder's files (`nodes/prod/`), without their suffix."""
        files = {event.file for event in self.of(folder)}
        return tuple(sorted(file.removeprefix(folder).removesuffix(".jsonl") for file in files))


def request_file(cluster: str, request: RequestId) -> str:
    return f"requests/{cluster}/{request}.jsonl"


def node_file(cluster: str, occurrence: OccurrenceId) -> str:
    return f"nodes/{cluster}/{occurrence}.jsonl"


def concern_file(cluster: str, concern: str) -> str:
    return f"concerns/{cluster}/{concern}.jsonl"


def concern_of(event: ConcernChanged) -> str:
    return event.file.removeprefix(f"concerns/{event.cluster}/").removesuffix(".jsonl")


def audit_file(cluster: str) -> str:
    return f"audit/{cluster}.jsonl"


def pull_file(number: int) -> str:
    return f"pulls/{number}.jsonl"
