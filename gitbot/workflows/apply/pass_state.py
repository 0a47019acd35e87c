"""What one pass of apply remembers between its steps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from gitbot.errors import ForgeError, InvalidInput, RepositoryError
from gitbot.execution.approval import NotApproved
from gitbot.execution.executor_types import Steps, Waiting
from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.model.ledger.ledger import Ledger
from gitbot.workflows.apply.held_claims import HeldClaims
from gitbot.workflows.apply.result import ApplyResult, NodeDone
from gitbot.workflows.apply.snapshot_sanity import SnapshotSanity
from gitbot.workflows.apply.waiting import Stages
from gitbot.workflows.approval.read_approvals import Approvals
from gitbot.workflows.core.context import RunContext
from gitbot.workflows.core.revision_engine import RevisionEngine
from gitbot.workflows.core.stop_conditions import (
    BaseStop,
    UnknownStop,
    observe_mode_reason,
    standstill,
)
from gitbot.workflows.ledger.anchor import Anchor
from gitbot.workflows.ledger.writer import Journal

OnLook = Callable[[ClusterSnapshot], None]
OnReport = Callable[[RunContext, Ledger, str, tuple[Waiting, ...], tuple[NotApproved, ...]], None]
"""Shows people the ledger's news: why all stops, what waits, which merges were refused."""


@dataclass(slots=True, kw_only=True)
class PassState:
    """What one pass knows and has done. Mutable."""

    shell: RunContext
    journal: Journal
    base: RevisionEngine
    broken: InvalidInput | RepositoryError | None  # the error of the base branch's tip
    unread: ForgeError | None  # why the forge could not be read; it is not read again in this pass
    approvals: Approvals
    ends_at: int
    anchor: Anchor
    older: str = ""  # why the ledger cannot be trusted
    is_read: bool = True  # whether the first step may decide on the ledger that began the pass
    compared: bool = False  # with what the cluster shows, at the first look
    anchored: str | None = ""  # the cluster's anchor of the ledger; None: it cannot be written
    known: ClusterSnapshot | None = None  # see `apply`
    may_start: bool = False  # see `apply`
    approvals_key: tuple[str, int] = ("", 0)
    approvals_at: int = 0
    judged: bool = False
    seen: Stages = field(default_factory=dict)  # at the last read of the cluster
    created: int = 0
    states: Counter[str] = field(default_factory=Counter)
    nodes: list[NodeDone] = field(default_factory=list)
    steps: Steps = field(default_factory=Steps)
    tickets: HeldClaims = field(default_factory=HeldClaims)
    belief: SnapshotSanity = field(default_factory=SnapshotSanity)
    stop: str = ""
    lost: int = 0
    requests: set[str] = field(default_factory=set)  # requests that had moves left during this pass
    on_look: OnLook | None = None
    on_report: OnReport | None = None
    not_allowed: dict[str, None] = field(default_factory=dict)  # what rights or webhooks refused

    def refuse(self, text: str) -> bool:
        """Note and say once what the cluster refuses; True if it is new in this pass."""
        is_new = text not in self.not_allowed
        if is_new:
            self.not_allowed[text] = None
            self.shell.say(text)
        return is_new

    @property
    def source_stop(self) -> str:
        """Why forge or base branch allow no starts; "" if they do."""
        if self.unread is not None:
            return UnknownStop(f"the forge cannot be read: {self.unread}")
        if isinstance(self.broken, InvalidInput):
            first = str(self.broken).splitlines()[0]
            return BaseStop(f"{self.shell.base_branch} has errors: {first}")
        if self.broken is not None:
            return UnknownStop(str(self.broken))
        return observe_mode_reason(self.base.settings)

    def result(self, *, unfinished: bool) -> ApplyResult:
        return ApplyResult(
            base=self.base.commit,
            created=self.created,
            entries=self.journal.written,
            states=dict(sorted(self.states.items())),
            waiting=self.steps.waiting,
            stale=self.steps.stale,
            in_flight=self.steps.in_flight,
            stop=self.stop,
            unfinished=unfinished,
            interrupted=self.shell.interrupted(),
            approvals=self.approvals,
            nodes=tuple(dict.fromkeys(self.nodes)),
            not_allowed=tuple(self.not_allowed),
            standstill=standstill(self.stop, self.journal.ledger, self.shell.cluster_name),
            ledger=self.journal.ledger,
        )
