"""Check: judge what a plan would do; for a working tree, a commit, or a pull request.

`check` reads texts, plans, replays the plan and judges it: values in, one `CheckResult` out. For an
open pull request `publish` does the same on the result of merging it, records in the ledger what it
shows, and writes comment, checks and labels: a merge approves what the ledger has. `refresh_pulls`
publishes again if what was shown may no longer hold.
"""

from __future__ import annotations

from gitbot.workflows.check.not_plannable import in_time
from gitbot.workflows.check.override import override
from gitbot.workflows.check.publish import (
    PublishResult,
    check_group,
    check_open,
    check_texts,
    on_top,
    publish,
    publish_group,
    shows_own_plan,
)
from gitbot.workflows.check.refresh import refresh_pulls
from gitbot.workflows.check.run import (
    Planned,
    check,
    invalid_texts_result,
    plan_in_process,
)
from gitbot.workflows.check.scope import ClusterScope, PlanningInputs
from gitbot.workflows.check.single_subject import VmVerdict, check_one, evidence_of, judge_vm
from gitbot.workflows.core.judged_plan import CheckResult

__all__ = [
    "CheckResult",
    "ClusterScope",
    "Planned",
    "PlanningInputs",
    "PublishResult",
    "VmVerdict",
    "check",
    "check_group",
    "check_one",
    "check_open",
    "check_texts",
    "evidence_of",
    "in_time",
    "invalid_texts_result",
    "judge_vm",
    "on_top",
    "override",
    "plan_in_process",
    "publish",
    "publish_group",
    "refresh_pulls",
    "shows_own_plan",
]
