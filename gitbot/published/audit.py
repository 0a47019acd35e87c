"""What is broken or will break in a cluster, as `gitbot audit` prints it."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from gitbot.model.plan.findings import Severity
from gitbot.published.document import Count, Digest, Document, Instant, KnownInstant, Part


class AuditSubject(Part, frozen=True):
    """The object or intent that a finding is about. The namespace is "" if it has none."""

    kind: str
    namespace: str
    name: str


class AuditLine(Part, frozen=True):
    """One finding. Empty text and 0 stand for what does not apply or is unknown."""

    code: Annotated[str, Meta(pattern="^[a-z0-9-]+/[a-z0-9-]+$")]
    severity: Severity
    subject: AuditSubject
    vms: Annotated[list[str], Meta(description="The VMs that it is about, namespace/name.")]
    node: str
    rule: Annotated[str, Meta(description="The id of the intent behind it.")]
    message: str
    hint: str
    file: str
    line: Count
    since: KnownInstant
    observed: Annotated[
        bool,
        Meta(
            description="Whether the ledger saw it at `since`, so that it is at least that old; "
            "otherwise `since` is the start of the newest pod, and it is at most that old."
        ),
    ]


class PublishedAudit(Document, frozen=True, kw_only=True):
    """Every finding of one look at a cluster, errors first."""

    kind: Literal["Audit"] = "Audit"
    cluster: str
    time: Instant
    taken_at: Instant
    snapshot: Digest
    errors: Count
    warnings: Count
    notes: Count
    unasked: Annotated[list[str], Meta(description="What was not looked at, and why.")]
    items: list[AuditLine]
