"""Damping: a healing that comes and goes, or whose VM moved lately, waits."""

from __future__ import annotations

from gitbot.execution.requests import last_moved
from gitbot.execution.state import ConcernRecord
from gitbot.model.events import ConcernState
from gitbot.model.instants import format_instant
from gitbot.model.problem import HealRule
from gitbot.workflows.judged_plan import JudgedPlan
from gitbot.workflows.propose.concerns import Concern
from gitbot.workflows.propose.pull import Run

DAY = 86_400


def flapping(run: Run, concern: Concern, record: ConcernRecord) -> str:
    """Why no pull request opens for a healing yet: there is one a day. "" if one may.

    A Required rule waits only if its breach went by itself, and so comes and goes.
    """
    went = record.gone and record.ended == ConcernState.WITHDRAWN
    again = record.opened_at + DAY
    flaps = went or (concern.soft and bool(record.ended))
    if not isinstance(concern.goal, HealRule) or not flaps or run.now >= again:
        return ""
    last = f"pull request {record.pull_request} of {format_instant(record.opened_at)} was for it"
    return f"{last}; the next comes after {format_instant(again)}"


def cooling(run: Run, concern: Concern, judged: JudgedPlan) -> str:
    """Which VM gitbot moved within the cooldown; "" if none, or something Required is broken."""
    if not concern.soft:
        return ""
    moved = last_moved(run.sources.records.values())
    since = run.now - run.base.settings.proposals.per_vm_cooldown
    vms = sorted(move.vm.namespaced_name for move in judged.plan.moves)
    found = [vm for vm in vms if vm in moved and moved[vm] > since]
    return f"{found[0]} was moved lately, and nothing Required is broken" if found else ""
