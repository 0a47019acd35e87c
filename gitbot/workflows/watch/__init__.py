"""Watch: pass after pass, on a schedule or for as long as the process runs.

`reconcile` is one pass over everything: publish the snapshot, plan open pull requests again,
propose, apply, propose what is left. `watch` calls it with rests between, and retries after
trouble. `apply_and_report` is one pass of apply alone.
"""

from __future__ import annotations

from gitbot.workflows.watch.notice_texts import notice_in_words, notice_values, trial_notice
from gitbot.workflows.watch.reconcile import (
    PassStage,
    ReconcileResult,
    apply_and_report,
    reconcile,
)
from gitbot.workflows.watch.run import watch

__all__ = [
    "PassStage",
    "ReconcileResult",
    "apply_and_report",
    "notice_in_words",
    "notice_values",
    "reconcile",
    "trial_notice",
    "watch",
]
