"""Apply: carry out approved plans, stop, end one request, record that a node is back.

`apply` is one pass: read ledger, base branch, forge and cluster, ask `execution.next_steps` what to
do, write it to the ledger, do it, and repeat. `hold` and `resume` set and remove the stop flag,
`cancel` ends one request, `returned` records that a node is back.
"""

from __future__ import annotations

from gitbot.workflows.apply.hold import (
    BY_HAND,
    HoldResult,
    cancel,
    goes_home_by_proposal,
    hold,
    hold_cluster,
    note_cancelled,
    resume,
    resume_ledger,
    returned,
)
from gitbot.workflows.apply.result import ApplyResult, NodeDone
from gitbot.workflows.apply.run import MAX_RUNTIME, apply
from gitbot.workflows.apply.waiting import LOOK_ANYWAY, NOTICE, heads, wait_for_change
from gitbot.workflows.core.stop_conditions import Standstill

__all__ = [
    "BY_HAND",
    "LOOK_ANYWAY",
    "MAX_RUNTIME",
    "NOTICE",
    "ApplyResult",
    "HoldResult",
    "NodeDone",
    "Standstill",
    "apply",
    "cancel",
    "goes_home_by_proposal",
    "heads",
    "hold",
    "hold_cluster",
    "note_cancelled",
    "resume",
    "resume_ledger",
    "returned",
    "wait_for_change",
]
