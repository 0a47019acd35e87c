"""The ledger as a value: append-only events by file, with sequence numbers and a hash chain.

Files of the branch: `requests/<cluster>/<id>.jsonl`, `nodes/<cluster>/<window>/<occurrence>.jsonl`,
`concerns/<cluster>/<concern>.jsonl`, `plans/<digest>.json`, `pulls/<N>.jsonl`, `hold.jsonl`,
`clusters/<cluster>.jsonl`, `audit/<cluster>.jsonl`, `format.jsonl`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from gitbot.model.grouping import grouped
from gitbot.model.ledger.events import (
    AuditScored,
    ClusterIdentified,
    ConcernChanged,
    ForeignMove,
    FormatRaised,
    HoldEvent,
    HomeNoted,
    LedgerEvent,
    MergeJudged,
    MoveApproved,
    MoveChanged,
    MoveEvent,
    NodeChanged,
    NodeEvent,
    PlanShown,
    PolicyOverridden,
    RequestCancelled,
    RequestEvent,
    StopLifted,
    StopSet,
    UnknownEvent,
    WindowBegun,
)
from gitbot.model.ledger.request_id import DrainId, OccurrenceId, RequestId
from gitbot.model.struct import FrozenStruct, field

HOLD_FILE = "hold.jsonl"
FORMAT_FILE = "format.jsonl"
FORMAT = 1
"""The newest format of the ledger that this gitbot knows; a ledger that says nothing has 1."""
SUFFIX = ".jsonl"
_CLASSES = "classes"


class _Asked:
    """Cached answers for the last events: a pass asks the same questions many times."""

    def __init__(self) -> None:
        self._last: tuple[tuple[LedgerEvent, ...], dict[object, Any]] = ((), {})

    def of(self, events: tuple[LedgerEvent, ...], kind: Any, place: str) -> Any:
        return self._once(events, (kind, place), lambda: tuple(self._found(events, kind, place)))

    def files(self, events: tuple[LedgerEvent, ...]) -> Mapping[str, tuple[LedgerEvent, ...]]:
        """The events of each file, by one scan: a pass asks for those of every merged pull."""
        found: Mapping[str, tuple[LedgerEvent, ...]]
        found = self._once(events, SUFFIX, lambda: grouped((it.file, it) for it in events))
        return found

    def _once(
        self, events: tuple[LedgerEvent, ...], question: object, answer: Callable[[], Any]
    ) -> Any:
        known, answers = self._last
        if known is not events:
            answers = {}
            self._last = (events, answers)
        if question not in answers:
            answers[question] = answer()
        return answers[question]

    def _found(
        self, events: tuple[LedgerEvent, ...], kind: Any, place: str
    ) -> Iterable[LedgerEvent]:
        if place.endswith(SUFFIX):
            return (event for event in self.files(events).get(place, ()) if isinstance(event, kind))
        if not any(file.startswith(place) for file in self.files(events)):
            return ()
        return (event for event in self._of_kind(events, kind) if event.file.startswith(place))

    def _of_kind(self, events: tuple[LedgerEvent, ...], kind: Any) -> Iterable[LedgerEvent]:
        """The events of a kind, by one scan for all kinds: most have no event, or one class."""
        by_class = self._once(events, _CLASSES, lambda: grouped((type(it), it) for it in events))
        classes = {known for known in by_class if issubclass(known, kind)}
        if len(classes) > 1:
            return (event for event in events if type(event) in classes)
        return next((by_class[only] for only in classes), ())


_asked = _Asked()


class Ledger(FrozenStruct, frozen=True, kw_only=True):
    """The whole ledger at one commit: events in order of `seq`, plans by digest.

    `head` is the commit id of the branch, "" if the branch does not exist yet. Events of one family
    are oldest first.
    """

    events: tuple[LedgerEvent, ...] = ()
    plans: Mapping[str, bytes] = field(default_factory=dict)
    head: str = ""

    def of(self, place: str) -> tuple[LedgerEvent, ...]:
        """The events of one file, or of all files of a folder (`nodes/prod/`)."""
        return self._all(object, place)

    def _all(self, kind: Any, place: str = "") -> tuple[Any, ...]:
        found: tuple[Any, ...] = _asked.of(self.events, kind, place)
        return found

    def requests(self, cluster: str) -> tuple[RequestEvent, ...]:
        """Events about the moves of a cluster, and about other movers' migrations."""
        return self._all(RequestEvent, f"requests/{cluster}/")

    def nodes(self, cluster: str, occurrence: OccurrenceId) -> tuple[NodeEvent, ...]:
        return self._all(NodeEvent, node_file(cluster, occurrence))

    def concerns(self, cluster: str) -> tuple[ConcernChanged, ...]:
        return self._all(ConcernChanged, f"concerns/{cluster}/")

    def concern(self, cluster: str, name: str) -> tuple[ConcernChanged, ...]:
        return self._all(ConcernChanged, concern_file(cluster, name))

    def shown(self, number: int, *, cluster: str) -> tuple[PlanShown, ...]:
        known: tuple[PlanShown, ...] = self._all(PlanShown, pull_file(number))
        return tuple([event for event in known if event.cluster == cluster])

    def overrides(self, cluster: str) -> tuple[PolicyOverridden, ...]:
        known: tuple[PolicyOverridden, ...] = self._all(PolicyOverridden, "pulls/")
        return tuple([event for event in known if event.cluster == cluster])

    def judged(self, number: int, *, cluster: str) -> MergeJudged | None:
        """What was first said about the merge of a pull request."""
        known: tuple[MergeJudged, ...] = self._all(MergeJudged, pull_file(number))
        return next((event for event in known if event.cluster == cluster), None)

    def stops(self, cluster: str) -> tuple[HoldEvent, ...]:
        known: tuple[HoldEvent, ...] = self._all(HoldEvent)
        return tuple([event for event in known if event.cluster in ("", cluster)])

    def audits(self, cluster: str) -> tuple[AuditScored, ...]:
        return self._all(AuditScored, audit_file(cluster))

    def identified(self) -> tuple[MoveEvent | ClusterIdentified, ...]:
        """The lines that may say which cluster a name meant."""
        return self._all(MoveEvent | ClusterIdentified)

    def with_pulls(self) -> tuple[MoveEvent | ConcernChanged | PlanShown, ...]:
        """The lines that may name a pull request of moves."""
        return self._all(MoveEvent | ConcernChanged | PlanShown)

    @property
    def raised(self) -> FormatRaised | None:
        """The newest format, if the ledger ever got one."""
        known: tuple[FormatRaised, ...] = self._all(FormatRaised)
        return max(known, key=lambda event: event.format, default=None)

    def unknown(self, cluster: str) -> tuple[UnknownEvent, ...]:
        """Lines of a newer gitbot, for this cluster or for all."""
        known: tuple[UnknownEvent, ...] = self._all(UnknownEvent)
        return tuple([event for event in known if event.cluster in ("", cluster)])

    def plan_changes(self, plans: Mapping[str, bytes | None]) -> dict[str, bytes | None]:
        """Which of some plans are new, and which to remove (None). A plan never changes."""
        return {
            name: data for name, data in plans.items() if (data is None) is (name in self.plans)
        }

    def plans_with(self, changes: Mapping[str, bytes | None]) -> dict[str, bytes]:
        changed = {**self.plans, **changes}
        return {name: data for name, data in changed.items() if data is not None}

    def names_below(self, folder: str) -> tuple[str, ...]:
        """The sorted names of a folder's files (`nodes/prod/`), without their suffix."""
        files = (file for file in _asked.files(self.events) if file.startswith(folder))
        return tuple(sorted(file.removeprefix(folder).removesuffix(SUFFIX) for file in files))


def request_file(cluster: str, request: RequestId) -> str:
    return f"requests/{cluster}/{request}.jsonl"


def node_file(cluster: str, occurrence: OccurrenceId) -> str:
    return f"nodes/{cluster}/{occurrence}.jsonl"


def concern_file(cluster: str, concern: str) -> str:
    return f"concerns/{cluster}/{concern}.jsonl"


def concern_of(event: ConcernChanged) -> str:
    return event.file.removeprefix(f"concerns/{event.cluster}/").removesuffix(SUFFIX)


def audit_file(cluster: str) -> str:
    return f"audit/{cluster}.jsonl"


def cluster_file(cluster: str) -> str:
    return f"clusters/{cluster}.jsonl"


def pull_file(number: int) -> str:
    return f"pulls/{number}.jsonl"


def place_of(event: LedgerEvent) -> str:
    """The file of a line, or as much of its path as the line determines."""
    match event:
        case MoveApproved() | MoveChanged() | RequestCancelled() | ForeignMove():
            return request_file(event.cluster, event.request)
        case NodeChanged() | HomeNoted() | WindowBegun():
            occurrence = event.request.occurrence if isinstance(event.request, DrainId) else ""
            return f"nodes/{event.cluster}/{occurrence}.jsonl"
        case ConcernChanged():
            return f"concerns/{event.cluster}/"
        case PlanShown() | PolicyOverridden() | MergeJudged():
            return pull_file(event.pull_request)
        case AuditScored():
            return audit_file(event.cluster)
        case ClusterIdentified():
            return cluster_file(event.cluster)
        case StopSet() | StopLifted():
            return HOLD_FILE
        case FormatRaised():
            return FORMAT_FILE
        case UnknownEvent():
            return ""
