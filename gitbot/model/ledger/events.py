"""Events of the ledger: a closed union of frozen values, by family of files.

An event is a line of a file of branch `gitbot/ledger`. Its fields have their JSON names in snake
case, except `from` (here `source`) and, if a family needs more than moves do, `data`.
`gitbot.published.ledger_lines` reads and writes the lines.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Self

import msgspec
from msgspec import field

from gitbot.model.ledger.event_parts import MoveTerms, Plain, ProposalFile, WindowTerms
from gitbot.model.ledger.request_id import RequestId
from gitbot.model.text.instants import parse_instant


class MoveState(StrEnum):
    """State of one move of a request. The last five before OBSERVED are final for their attempt."""

    PLANNED = "planned"
    APPROVED = "approved"
    WAITING = "waiting"
    HELD = "held"
    INTENDED = "intended"
    CREATED = "created"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    OBSOLETE = "obsolete"
    EXPIRED = "expired"
    WITHDRAWN = "withdrawn"
    OBSERVED = "observed"  # another mover's migration


STARTED_STATES = frozenset({MoveState.INTENDED, MoveState.CREATED, MoveState.RUNNING})
FINAL_STATES = frozenset(
    {
        MoveState.SUCCEEDED,
        MoveState.FAILED,
        MoveState.OBSOLETE,
        MoveState.EXPIRED,
        MoveState.WITHDRAWN,
    }
)


class NodeState(StrEnum):
    """The progress of a node through a maintenance."""

    WAITING = "waiting"
    DRAINING = "draining"
    READY = "ready"
    RETURNED = "returned"
    CLOSED = "closed"


class ConcernState(StrEnum):
    """The state of a concern and its pull request."""

    OBSERVED = "observed"
    UNPLANNED = "unplanned"  # observed, and planning did not end in time
    GONE = "gone"
    PROPOSED = "proposed"
    OPENED = "opened"
    CLOSED = "closed"
    MERGED = "merged"
    WITHDRAWN = "withdrawn"
    AUTO = "auto"  # approved by gitbot itself, within policy


OBSERVATIONS = frozenset({ConcernState.OBSERVED, ConcernState.UNPLANNED})
"""States that only say that gitbot saw the concern: its pull request stays as it is."""


class Event(Plain, frozen=True, kw_only=True, gc=False):
    """What every line has. The store gives `seq` and `previous` (digest of line seq-1).

    `file` is the path inside the branch, which the line itself does not have; `time` in seconds
    UTC. No event is part of a cycle, so Python's collector need not look at 100,000 of them.
    """

    file: str
    time: int
    cluster: str = ""
    seq: int = 0
    previous: str = ""

    def replace(self, **changes: Any) -> Self:
        return msgspec.structs.replace(self, **changes)


class _Tagged(Event, frozen=True, kw_only=True, tag_field="state"):
    @property
    def state(self) -> str:
        return str(self.__struct_config__.tag)


# requests/


class _OfMove(Event, frozen=True, kw_only=True):
    """One move of a request: its approved terms and its outcome."""

    request: RequestId
    vm: str  # namespace/name
    vm_uid: str = ""
    move: int
    attempt: int = 0
    source: str = field(default="", name="from")
    to: str = ""
    landed: str = ""
    reason: str = ""
    note: str = ""
    author: str = ""
    approvers: tuple[str, ...] = ()
    merger: str = ""
    pull_request: int = 0
    commit: str = ""
    digest: str = ""
    migration: str = ""  # namespace/name of the VMIM
    migration_uid: str = ""
    outcome: str = ""
    seconds: int = 0


class MoveApproved(_OfMove, frozen=True, kw_only=True, tag_field="state", tag="approved"):
    """A merge, or gitbot within policy, approved the move."""

    terms: MoveTerms = field(name="data")

    @property
    def state(self) -> MoveState:
        return MoveState.APPROVED

    def on_cluster(self, uid: str) -> MoveApproved:
        return self.replace(terms=msgspec.structs.replace(self.terms, cluster_uid=uid))


class Claim(Plain, frozen=True, kw_only=True):
    """Who alone may send an announced effect, with one request, and until when (seconds UTC).

    `version` is gitbot's and `cluster_uid` the cluster's, "" on lines of before they were noted.
    `epoch` counts the claims of a move, `judged` is the line of the ledger that it was decided on.
    `until` is 0 if the claim was given back and nothing was sent.
    """

    executor: str = ""
    version: str = ""
    cluster_uid: str = ""
    epoch: int
    judged: int
    until: int = 0

    def good_until(self, until: int) -> Claim:
        return msgspec.structs.replace(self, until=until)

    def made_by(self, version: str, cluster_uid: str) -> Claim:
        return msgspec.structs.replace(self, version=version, cluster_uid=cluster_uid)


class MoveChanged(_OfMove, frozen=True, kw_only=True):
    """The move has a new state, or more is known about its migration."""

    state: MoveState
    claim: Claim | None = field(default=None, name="data")  # of state intended


class RequestCancelled(_Tagged, frozen=True, kw_only=True, tag="cancelled"):
    """A person ended the request."""

    request: RequestId
    author: str = ""
    reason: str = ""


class ForeignMove(_Tagged, frozen=True, kw_only=True, tag="observed"):
    """Somebody else's migration ended; `author` says whose."""

    request: RequestId
    vm: str
    author: str = ""
    source: str = field(default="", name="from")
    to: str = ""
    landed: str = ""
    migration: str
    migration_uid: str = ""
    outcome: str = ""


# nodes/


class WindowBegun(_Tagged, frozen=True, kw_only=True, tag="window"):
    """The first node of an occurrence begins to drain."""

    request: RequestId
    terms: WindowTerms = field(name="data")


class HomeNoted(_Tagged, frozen=True, kw_only=True, tag="home"):
    """The place of a VM before an occurrence moved it."""

    request: RequestId
    vm: str
    source: str = field(name="from")


class NodeFacts(Plain, frozen=True, kw_only=True):
    """One node; None: unchanged. `cordoned` says whether gitbot did it."""

    node: str
    boot_id: str | None = field(default=None, name="bootID")
    cordoned: bool | None = None


class NodeChanged(Event, frozen=True, kw_only=True):
    """A node has a new state in its maintenance."""

    state: NodeState
    request: RequestId
    author: str = ""
    reason: str = ""
    facts: NodeFacts = field(name="data")


# concerns/


class ConcernChanged(Event, frozen=True, kw_only=True):
    """What gitbot saw of a concern, proposed about it, or learned of its pull request."""

    state: ConcernState
    reason: str = ""
    commit: str = ""
    digest: str = ""
    pull_request: int = 0
    proposal: ProposalFile | None = field(default=None, name="data")


# pulls/


class Shown(Plain, frozen=True, kw_only=True):
    """What a pull request showed: for which head and base, until when."""

    head: str
    base: str
    expires_at: str  # RFC 3339
    document: str = ""

    def __post_init__(self) -> None:
        parse_instant(self.expires_at)  # otherwise the end of its validity would be unknown


class PlanShown(_Tagged, frozen=True, kw_only=True, tag="shown"):
    """A plan, or with an empty digest that there is none, was shown on a pull request."""

    author: str = ""
    pull_request: int
    digest: str = ""
    shown: Shown = field(name="data")

    @property
    def head(self) -> str:
        return self.shown.head

    @property
    def expires_at(self) -> int:
        """Seconds UTC."""
        return parse_instant(self.shown.expires_at)


class Override(Plain, frozen=True, kw_only=True):
    """Which policy was overridden, for a plan that was shown for this head."""

    policy: str
    head: str = ""


class PolicyOverridden(_Tagged, frozen=True, kw_only=True, tag="overridden"):
    """A named owner (`author`) overrode the denials of one policy, for one plan alone."""

    author: str
    pull_request: int
    digest: str
    reason: str
    override: Override = field(name="data")


class MergeState(StrEnum):
    """Whether the reviews of a merge counted when gitbot first read them."""

    COUNTED = "counted"
    REFUSED = "refused"


class Judged(Plain, frozen=True, kw_only=True):
    """The merged head, and how many approvals the forge required then."""

    head: str
    required: int = 0


class MergeJudged(Event, frozen=True, kw_only=True):
    """What gitbot first said about a merge, so that later rules and rights change nothing.

    `commit` is the merge, `digest` the plan that it approves.
    """

    state: MergeState
    pull_request: int
    commit: str = ""
    digest: str = ""
    reason: str = ""
    author: str = ""
    approvers: tuple[str, ...] = ()
    merger: str = ""
    judged: Judged = field(name="data")


# hold.jsonl


class StopSet(_Tagged, frozen=True, kw_only=True, tag="set"):
    """Somebody, or the circuit breaker, stopped everything."""

    author: str = ""
    reason: str = ""


class StopLifted(_Tagged, frozen=True, kw_only=True, tag="resumed"):
    """A person removed the stop flag."""

    author: str = ""
    reason: str = ""


# format.jsonl


class FormatRaised(_Tagged, frozen=True, kw_only=True, tag="raised"):
    """The lines after this one have a newer format, which only `needs` or a newer gitbot knows."""

    format: int
    needs: str
    author: str = ""


# clusters/


class ClusterIdentified(_Tagged, frozen=True, kw_only=True, tag="identified"):
    """Which cluster has the name: the UID of its namespace kube-system.

    gitbot notes it once beside lines of before it was noted; later, a person accepts another.
    """

    uid: str
    author: str = ""


# audit/


class AuditScored(_Tagged, frozen=True, kw_only=True, tag="scored"):
    """What an audit found, and what came and went since the line before.

    Findings by code and subject; at most `MOST_NAMED` each way are named.
    """

    errors: int = 0
    warnings: int = 0
    appeared: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()


MOST_NAMED = 500


class UnknownEvent(Event, frozen=True, kw_only=True):
    """A line of a newer gitbot: kept and shown as it is. No effect starts while there is one."""

    content: Mapping[str, Any]

    @property
    def state(self) -> str:
        return str(self.content.get("state", ""))


MoveEvent = MoveApproved | MoveChanged
RequestEvent = MoveEvent | RequestCancelled | ForeignMove
NodeEvent = WindowBegun | HomeNoted | NodeChanged
HoldEvent = StopSet | StopLifted
PullEvent = PlanShown | PolicyOverridden | MergeJudged
OtherEvent = ConcernChanged | AuditScored | FormatRaised | ClusterIdentified
KnownEvent = RequestEvent | NodeEvent | PullEvent | HoldEvent | OtherEvent
LedgerEvent = KnownEvent | UnknownEvent
