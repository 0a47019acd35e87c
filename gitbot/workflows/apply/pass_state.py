"""What a pass of apply carries from one look to the next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from gitbot.errors import ForgeError
from gitbot.execution.executor_types import Steps
from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.workflows.apply.held_claims import HeldClaims
from gitbot.workflows.apply.readable_tip import Trouble, broken_stop
from gitbot.workflows.apply.result import ApplyResult, NodeDone
from gitbot.workflows.apply.snapshot_sanity import SnapshotSanity
from gitbot.workflows.apply.waiting import Stages
from gitbot.workflows.approval.read_approvals import Approvals
from gitbot.workflows.core.context import RunContext
from gitbot.workflows.core.revision_engine import RevisionEngine
from gitbot.workflows.core.stop_conditions import observe_mode_reason
from gitbot.workflows.ledger.writer import Journal

OnLook = Callable[[ClusterSnapshot], None]


@dataclass(slots=True, kw_only=True)
class PassState:
    """What one pass knows and has done."""

    shell: RunContext
    journal: Journal
    base: RevisionEngine
    broken: Trouble | None  # what is wrong with the tip of the base branch
    unread: ForgeError | None  # why the forge could not be asked; for the rest of the pass
    approvals: Approvals
    ends_at: int
    older: str = ""  # why the ledger is not believed
    anchored: str | None = ""  # what the cluster knows of the ledger; None: it cannot be told
    approvals_key: tuple[str, int] = ("", 0)
    approvals_at: int = 0
    judged: bool = False
    seen: Stages = field(default_factory=dict)  # at the last look
    created: int = 0
    states: Counter[str] = field(default_factory=Counter)
    nodes: list[NodeDone] = field(default_factory=list)
    steps: Steps = field(default_factory=Steps)
    tickets: HeldClaims = field(default_factory=HeldClaims)
    belief: SnapshotSanity = field(default_factory=SnapshotSanity)
    stop: str = ""
    lost: int = 0
    requests: set[str] = field(default_factory=set)  # that had moves to come in this pass
    on_look: OnLook | None = None

    @property
    def source_stop(self) -> str:
        """Why forge or base branch let nothing start, or ""."""
        if self.unread is not None:
            return f"the forge cannot be read: {self.unread}"
        return broken_stop(self.shell, self.broken) or observe_mode_reason(self.base.settings)

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
        )
