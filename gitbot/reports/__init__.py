"""The placement diff computed once, printed in every format. Untrusted text is made inert here."""

from gitbot.model.plan_json import (
    PlanInputs,
    plan_bytes,
    plan_digest,
    plan_document,
    read_plan,
    read_plan_document,
)
from gitbot.reports.comment import Superseded, detail, markdown, marker, summary
from gitbot.reports.diff import Diff, DiffState, Preview, placement_diff
from gitbot.reports.findings import github, json_findings, junit, sarif, text
from gitbot.reports.refusal import refusal
from gitbot.reports.table import columns, terminal

__all__ = [
    "Diff",
    "DiffState",
    "PlanInputs",
    "Preview",
    "Superseded",
    "columns",
    "detail",
    "github",
    "json_findings",
    "junit",
    "markdown",
    "marker",
    "placement_diff",
    "plan_bytes",
    "plan_digest",
    "plan_document",
    "read_plan",
    "read_plan_document",
    "refusal",
    "sarif",
    "summary",
    "terminal",
    "text",
]
