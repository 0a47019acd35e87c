"""The result of one pass of apply."""

from __future__ import annotations

from dataclasses import dataclass, field

from gitbot.execution.approval import NotApproved
from gitbot.execution.executor_types import OutdatedGroup, SetUnschedulable, Waiting
from gitbot.model.ledger.events import MoveState, NodeChanged
from gitbot.model.ledger.ledger import Ledger
from gitbot.workflows.approval.known_requests import NotPlanned
from gitbot.workflows.approval.read_approvals import Approvals
from gitbot.workflows.core.stop_conditions import LedgerStop, Standstill, UnknownStop


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeDone:
    """A change of a node in a pass: `cordoned`, `uncordoned`, or its new state."""

    node: str
    did: str

    @classmethod
    def of(cls, done: SetUnschedulable | NodeChanged) -> NodeDone:
        if isinstance(done, NodeChanged):
            return cls(node=done.facts.node, did=str(done.state))
        return cls(node=done.node, did="cordoned" if done.unschedulable else "uncordoned")


@dataclass(frozen=True, slots=True, kw_only=True)
class ApplyResult:
    """What one pass did. `states` counts the moves that ended in each state.

    `base` is the commit of the base branch at the last step; "" if there was none. `unfinished`:
    the pass ran out of time and another one has work at once. `interrupted`: a signal ended it; the
    next pass continues, and nothing is lost. `not_planned` are requests of the base branch without
    an approved plan; a pass leaves them to its caller. `not_allowed` is what the cluster refused:
    each waits by itself. `ledger` is the one that the pass read last, None if it read none.
    """

    base: str = ""
    created: int = 0
    entries: int = 0
    states: dict[str, int] = field(default_factory=dict)
    waiting: tuple[Waiting, ...] = ()
    stale: tuple[OutdatedGroup, ...] = ()
    in_flight: int = 0
    stop: str = ""
    unfinished: bool = False
    interrupted: bool = False
    approvals: Approvals = field(default_factory=lambda: Approvals(approved=(), refused=()))
    not_planned: tuple[NotPlanned, ...] = ()
    nodes: tuple[NodeDone, ...] = ()
    standstill: Standstill | None = None
    not_allowed: tuple[str, ...] = ()
    ledger: Ledger | None = field(default=None, repr=False)

    @property
    def refused(self) -> tuple[NotApproved, ...]:
        return self.approvals.refused

    @property
    def did_nothing(self) -> bool:
        return not self.created and not self.entries and not self.nodes

    @property
    def unsure(self) -> bool:
        """Whether something that must be known before anything starts could not be read."""
        return bool(self.stop) and isinstance(self.stop, UnknownStop)

    @property
    def doubts_ledger(self) -> bool:
        """Whether the ledger is not the one whose anchor the cluster keeps."""
        return isinstance(self.stop, LedgerStop)

    @property
    def failed(self) -> bool:
        return bool(self.states.get(str(MoveState.FAILED)))
