"""Why a plan gets no pull request yet: gitbot is quiet about what comes and goes."""

from __future__ import annotations

from gitbot.execution.ledger_folds import ConcernRecord
from gitbot.execution.request_records import last_moved
from gitbot.model.ledger.events import ConcernState
from gitbot.model.ledger.request_id import HealId
from gitbot.model.text.instants import format_instant
from gitbot.workflows.core.judged_plan import JudgedPlan
from gitbot.workflows.propose.concerns import Concern
from gitbot.workflows.propose.proposal_pull import ProposeRun

DAY = 86_400  # seconds


def flapping_reason(run: ProposeRun, concern: Concern, record: ConcernRecord) -> str:
    """Why no pull request opens for a healing yet: there is one a day. "" if one may.

    A Required rule waits only if its breach went by itself, and so comes and goes.
    """
    went = record.gone and record.ended == ConcernState.WITHDRAWN
    again = record.opened_at + DAY
    flaps = went or (concern.soft and bool(record.ended))
    if not isinstance(concern.goal.request.id, HealId) or not flaps or run.now >= again:
        return ""
    last = f"pull request {record.pull_request} of {format_instant(record.opened_at)} was for it"
    return f"{last}; the next comes after {format_instant(again)}"


def cooldown_reason(run: ProposeRun, concern: Concern, judged: JudgedPlan) -> str:
    """Which VM gitbot moved within the cooldown; "" if none, or something Required is broken."""
    if not concern.soft:
        return ""
    moved = last_moved(run.sources.records.values())
    since = run.now - run.base.settings.proposals.per_vm_cooldown
    vms = sorted(move.vm.namespaced_name for move in judged.plan.moves)
    found = [vm for vm in vms if vm in moved and moved[vm] > since]
    return f"{found[0]} was moved lately, and nothing Required is broken" if found else ""
