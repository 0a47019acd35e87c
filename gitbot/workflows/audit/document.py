"""The published document of an audit."""

from __future__ import annotations

from gitbot.audit import AuditFinding
from gitbot.model.plan.findings import Severity
from gitbot.published import PublishedAudit, published
from gitbot.workflows.audit.run import AuditResult


def audit_document(result: AuditResult) -> PublishedAudit:
    counts = result.counts()
    fields = {
        "cluster": result.cluster,
        "time": result.now,
        "takenAt": result.taken_at,
        "snapshot": result.snapshot,
        "errors": counts[Severity.ERROR],
        "warnings": counts[Severity.WARNING],
        "notes": counts[Severity.NOTE],
        "unasked": result.unasked,
        "items": [_item(item) for item in result.findings],
    }
    return published(fields, PublishedAudit)


def _item(item: AuditFinding) -> dict[str, object]:
    found = item.finding
    subject = {"kind": item.kind, "namespace": item.name.namespace, "name": item.name.name}
    return {
        "code": found.code,
        "severity": found.severity,
        "subject": subject,
        "vms": [str(vm) for vm in item.vms],
        "node": item.node,
        "rule": item.rule,
        "message": found.message,
        "hint": found.hint,
        "file": found.file,
        "line": found.line,
        "since": item.since,
        "observed": item.observed,
    }
