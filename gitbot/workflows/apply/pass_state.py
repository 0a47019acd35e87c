"""What one pass of apply remembers between its steps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from gitbot.errors import ForgeError, InvalidInput, RepositoryError
from gitbot.execution.executor_types import Steps
from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.model.ledger.ledger import Ledger
from gitbot.workflows.apply.held_claims import HeldClaims
from gitbot.workflows.apply.result import ApplyResult, NodeDone
from gitbot.workflows.apply.snapshot_sanity import SnapshotSanity
from gitbot.workflows.apply.waiting import Stages
from gitbot.workflows.approval.base_history import history_error
from gitbot.workflows.approval.read_approvals import Approvals
from gitbot.workflows.core.context import RunContext
from gitbot.workflows.core.revision_engine import RevisionEngine
from gitbot.workflows.core.stop_conditions import observe_mode_reason
from gitbot.workflows.current_state import readable_base
from gitbot.workflows.ledger.writer import Journal

OnLook = Callable[[ClusterSnapshot], None]


@dataclass(slots=True, kw_only=True)
class PassState:
    """What one pass knows and has done. Mutable."""

    shell: RunContext
    journal: Journal
    base: RevisionEngine
    broken: Trouble | None  # the error of the base branch's tip
    unread: ForgeError | None  # why the forge could not be read; it is not read again in this pass
    approvals: Approvals
    ends_at: int
    older: str = ""  # why the ledger cannot be trusted
    anchored: str | None = ""  # the cluster's anchor of the ledger; None: it cannot be written
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

    @property
    def source_stop(self) -> str:
        """Why forge or base branch allow no starts; "" if they do."""
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


Trouble = InvalidInput | RepositoryError


def read_tip(shell: RunContext, ledger: Ledger, head: str) -> tuple[RevisionEngine, Trouble | None]:
    """The base at its tip `head`, and the error of that tip.

    Raises InvalidInput if none of its newest commits is readable.
    """
    lost = history_error(shell, ledger, head)
    try:
        return shell.read_base(head), lost
    except InvalidInput as error:
        return readable_base(shell).engine, lost or error


def broken_stop(shell: RunContext, broken: Trouble | None) -> str:
    """Why nothing may start on this tip; "" if it may."""
    if isinstance(broken, InvalidInput):
        return f"{shell.base_branch} has errors: {str(broken).splitlines()[0]}"
    return str(broken or "")
