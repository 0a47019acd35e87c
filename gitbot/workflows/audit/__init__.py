"""Audit: what is broken or will break in the whole cluster, and since when. It only reads.

`run_audit` compiles the rules of a revision, asks room `gitbot.audit` about the snapshot, adds what
compiling found and which rules cannot hold together, and narrows the result to what was asked for.
"""

from __future__ import annotations

from gitbot.workflows.audit.audit_record import score, standing_since
from gitbot.workflows.audit.document import audit_document
from gitbot.workflows.audit.run import AuditQuery, AuditResult, Manifests, run_audit

__all__ = [
    "AuditQuery",
    "AuditResult",
    "Manifests",
    "audit_document",
    "run_audit",
    "score",
    "standing_since",
]
