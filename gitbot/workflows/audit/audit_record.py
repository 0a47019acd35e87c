"""What audits found over time: lines of `audit/<cluster>.jsonl`, written only when that changes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from gitbot.audit import AuditFinding
from gitbot.model.ledger.events import MOST_NAMED, AuditScored
from gitbot.model.ledger.ledger import Ledger, audit_file
from gitbot.model.plan.findings import Severity

HOUR = 3600


def standing_since(ledger: Ledger, cluster: str) -> dict[str, int]:
    """Since when the ledger has each finding that stood at its last line."""
    since: dict[str, int] = {}
    for event in ledger.audits(cluster):
        for name in event.gone:
            since.pop(name, None)
        for name in event.appeared:
            since.setdefault(name, event.time)
    return since


def dated(item: AuditFinding, known: Mapping[str, int]) -> AuditFinding:
    """With the time at which the ledger first had it, if nothing says that it is older."""
    seen = known.get(identity(item), 0)
    if not seen or (item.observed and item.since <= seen):
        return item
    return replace(item, since=seen, observed=True)


def identity(item: AuditFinding) -> str:
    """Code and subject: a finding stays the same while its text changes."""
    return f"{item.finding.code} {item.subject}"


def score(
    findings: Iterable[AuditFinding], ledger: Ledger, *, cluster: str, now: int
) -> AuditScored | None:
    """The line to write; None if nothing changed, or the last one is younger than an hour."""
    lines = ledger.audits(cluster)
    if lines and now - lines[-1].time < HOUR:
        return None
    held = standing_since(ledger, cluster)
    counted = [item for item in findings if item.finding.severity is not Severity.NOTE]
    stand = {identity(item) for item in counted}
    errors = sum(item.finding.severity is Severity.ERROR for item in counted)
    made = AuditScored(
        file=audit_file(cluster),
        time=now,
        cluster=cluster,
        errors=errors,
        warnings=len(counted) - errors,
        appeared=tuple(sorted(stand - held.keys())[:MOST_NAMED]),
        gone=tuple(sorted(held.keys() - stand)[:MOST_NAMED]),
    )
    last = (lines[-1].errors, lines[-1].warnings) if lines else (0, 0)
    return made if made.appeared or made.gone or (made.errors, made.warnings) != last else None
