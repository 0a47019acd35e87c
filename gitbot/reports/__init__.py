"""The placement diff computed once, printed in every format. Untrusted text is made inert here."""

from gitbot.model.plan_json import (
    PlanInputs,
    plan_bytes,
    plan_digest,
    plan_document,
    read_plan,
    read_plan_document,
)
from gitbot.reports.findings import github, json_findings, junit, sarif, text

__all__ = [
    "PlanInputs",
    "github",
    "json_findings",
    "junit",
    "plan_bytes",
    "plan_digest",
    "plan_document",
    "read_plan",
    "read_plan_document",
    "sarif",
    "text",
]
