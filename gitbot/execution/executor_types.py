"""The values of the executor: what is approved, on which terms, and the steps it may take."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from gitbot.kubernetes.names import NamespacedName
from gitbot.kubernetes.objects import KubernetesObject
from gitbot.model.ledger.events import KnownEvent, MoveChanged
from gitbot.model.ledger.ledger import Ledger
from gitbot.model.ledger.request_id import OccurrenceId, RequestId
from gitbot.model.plan.findings import Finding
from gitbot.model.plan.plan import Move, PlacementPlan
from gitbot.model.plan.problem import ALWAYS, PlacementProblem
from gitbot.model.struct import FrozenStruct, field
from gitbot.model.text.instants import Interval

REFUSED = "Refused"
"""Outcome of a create that the server refused, or whose node could not be cordoned."""

FORBIDDEN = "Forbidden"
"""The same for want of a right: only a person can grant it."""

STORED_DIFFERENTLY = "stored-otherwise"
"""Outcome of a create that the server stored with another spec; gitbot deletes that VMIM."""

STORED_OTHERWISE = "the server stored another spec than was sent"

Replay = Callable[[PlacementProblem, PlacementPlan], tuple[Finding, ...]]
"""Judges a plan state by state. An error among the findings means that it must not run now."""


class FolderStop(Protocol):
    """What errors on the base branch stop; each says why, "" if they do not."""

    def of_move(self, move: Move) -> str: ...

    def of_node(self, node: str) -> str: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """The approved digest, and who approved it. `concern` is "" for a person's pull request."""

    digest: str
    pull_request: int  # 0: gitbot approved it within policy, without a pull request
    commit: str = ""  # the merge commit
    head: str = ""  # the head that was merged
    author: str = ""
    approvers: tuple[str, ...] = ()
    merger: str = ""
    merged_at: int = 0
    concern: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Maintenance:
    """How the nodes of one occurrence leave service and return.

    `nodes` are in the order of draining; `stays` are the VMs that the approved plan leaves running.
    `done` is Uncordoned, Rebooted or Command. `removed`: the file of the window was deleted.
    `together`: the first move takes all nodes out of service, and none takes VMs before all are
    back.
    """

    occurrence: OccurrenceId
    nodes: tuple[str, ...]
    max_nodes_at_once: int = 1
    cordon: bool = False
    stays: frozenset[NamespacedName] = frozenset()
    done: str = "Uncordoned"
    return_home: str = "Propose"
    removed: bool = False
    together: bool = False


class Terms(FrozenStruct, frozen=True, kw_only=True):
    """When and how often moves of a request may run. `void`: why they must not run at all.

    `paused`: why nothing new of it starts for now. `consent`: which owners have not approved it.
    With `finish`, groups that have started continue after their time (overrun: Finish). `source` is
    the only node that its VM may leave, "" for any.
    """

    allowed: tuple[Interval, ...] = ALWAYS
    attempts: int = 1
    finish: bool = False
    void: str = ""
    paused: str = ""
    consent: str = ""
    reason: str = ""
    note: str = ""
    window: str = ""
    source: str = ""
    maintenance: Maintenance | None = None

    @property
    def pause_reason(self) -> str:
        """Why nothing new of the request starts for now; "" if it may."""
        return self.paused or self.consent

    @property
    def blocked_reason(self) -> str:
        """Why nothing new of the request starts, for now or ever; "" if it may."""
        return self.void or self.pause_reason


_ALWAYS_ONCE = Terms()


@dataclass(frozen=True, slots=True, kw_only=True)
class Approved:
    """One request of one approved plan. `id` is the ledger's id; moves have the id in the plan.

    `plan` is the whole plan: policies judge all of it.
    """

    id: RequestId
    approval: Approval
    moves: tuple[Move, ...]
    terms: Terms = _ALWAYS_ONCE
    plan: PlacementPlan | None = None


class BreakerLimits(FrozenStruct, frozen=True, kw_only=True):
    """How many failures within a day make gitbot stop itself; 0 turns a limit off."""

    failures: int = 3
    unexpected_landings: int = 1
    foreign_returns: int = 2


class ExecutorInput(FrozenStruct, frozen=True, kw_only=True):
    """Everything that decides the next steps: approved plans, current cluster, ledger.

    `stop` is the reason of the stop flag ("" if it is not set). With `judge_groups`, waiting groups
    are judged again. `pending_timeout` is how long an own migration may stay Pending, in seconds.
    `executor` is the name of this process. `unsent` are the claims (name of the migration, epoch)
    that it has and of which it sent nothing. `unanswered` are the migrations for which the server
    gave no answer too often. `denied` are the groups that policies deny now. `folders` stop what
    files with errors concern; None if no file has any. `gate` says why no node of a window may
    begin now.
    """

    cluster: str
    now: int
    ledger: Ledger
    approved: tuple[Approved, ...]
    problem: PlacementProblem
    migrations: tuple[KubernetesObject, ...]
    replay: Replay
    stop: str = ""
    judge_groups: bool = True
    breaker: BreakerLimits = field(default_factory=BreakerLimits)
    pending_timeout: int = 300
    executor: str = ""
    unsent: frozenset[tuple[str, int]] = frozenset()
    unanswered: frozenset[str] = frozenset()
    denied: tuple[OutdatedGroup, ...] = ()
    folders: FolderStop | None = None
    gate: str = ""


class CreateMigration(FrozenStruct, frozen=True, kw_only=True):
    """Create the VMIM of one move; `event` is its ledger line in state intended.

    It may be sent before `ends` (seconds UTC).
    """

    approved: Approved
    move: Move
    attempt: int
    event: MoveChanged
    ends: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteMigration:
    """Delete (cancel) an own VMIM. The ledger records the reason."""

    request: RequestId
    name: str  # namespace/name
    uid: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SetUnschedulable:
    """Cordon or uncordon a node (cordon: Gitbot), and mark it, in one patch."""

    request: RequestId
    node: str
    unschedulable: bool
    labels: Mapping[str, str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelNode:
    """Set the maintenance labels of a node, or remove them (None)."""

    node: str
    labels: Mapping[str, str | None]


Effect = CreateMigration | DeleteMigration | SetUnschedulable | LabelNode


class OutdatedGroup(FrozenStruct, frozen=True, kw_only=True):
    """A group of an approved plan that no longer passes the checks on the current cluster."""

    request: RequestId
    group: str
    reasons: tuple[str, ...]


class Waiting(FrozenStruct, frozen=True, kw_only=True):
    """A move that cannot start now, and why; `until` is 0 if the time is unknown.

    `retry`: the reason may disappear soon without a person (a slot, a pause, a wave). `opens`: its
    allowed time begins at `until`.
    """

    request: RequestId
    move: int
    vm: str
    reason: str
    until: int = 0
    retry: bool = False
    opens: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingMigration:
    """A migration whose absence the steps rely on. No process can create it from `since` on."""

    name: NamespacedName
    since: int


class Steps(FrozenStruct, frozen=True, kw_only=True):
    """What to do now: write the events in one commit, then perform the effects in order.

    `in_flight` counts own running moves after the effects. Right before the commit, the workflow
    must look for each migration of `absent` by name.
    """

    events: tuple[KnownEvent, ...] = ()
    effects: tuple[Effect, ...] = ()
    stale: tuple[OutdatedGroup, ...] = ()
    waiting: tuple[Waiting, ...] = ()
    in_flight: int = 0
    absent: tuple[MissingMigration, ...] = ()
