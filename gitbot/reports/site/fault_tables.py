"""What is broken or in the way, by kind of trouble: what an audit of the same look finds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gitbot.calendar import format_duration
from gitbot.model.grouping import grouped
from gitbot.model.ledger.events import MoveState
from gitbot.model.plan.findings import Severity
from gitbot.model.text.wording import counted, first_of
from gitbot.published import AuditLine, json_text
from gitbot.reports.site.page_model import Cell, SiteDocuments, SitePage, Table, Tone, command, rows

_KINDS = {
    "What cannot move, and why": (
        "audit/eviction-strategy audit/immovable audit/left-selector audit/not-migratable audit/pin"
    ),
    "Broken rules and wishes": "audit/rule-broken audit/rule-wish",
    "Rules that cannot all hold": "audit/contradiction audit/never-holds audit/undecided",
    "Single points": "audit/gathered audit/single-point",
    "Lost nodes and pending pods": (
        "audit/pending-launcher audit/remediation audit/silent-node audit/vanished-node"
    ),
}
_OTHERS = "Everything else"
_TITLES = {code: title for title, codes in _KINDS.items() for code in codes.split()}
_TONES = {Severity.ERROR: Tone.BAD, Severity.WARNING: Tone.CAREFUL, Severity.NOTE: Tone.GOOD}
_HEAD = ("what", "why", "since", "what to do", "code", "file")
_STUCK = (MoveState.FAILED, MoveState.EXPIRED, MoveState.HELD, MoveState.WAITING)
_MOST = 400  # rows of a table; the document has all
_NAMED = 6  # subjects in a row


def faults_page(documents: SiteDocuments) -> SitePage:
    audit = documents.audit
    stuck, unread = _stuck(documents), documents.status.not_read
    said = [
        counted(number, word)
        for number, word in (
            (audit.errors, "error"),
            (audit.warnings, "warning"),
            (len(stuck.rows), "wait"),
        )
        if number
    ]
    tone = Tone.BAD if audit.errors else Tone.CAREFUL if said else Tone.GOOD
    found = grouped((_TITLES.get(line.code, _OTHERS), line) for line in audit.items)
    words = ", ".join(said) or "Nothing is in the way"
    unasked = "; ".join(audit.unasked)
    return SitePage(
        path="faults.html",
        title="faults",
        headline=f"The cluster could not be read: {unread}" if unread else words,
        tone=Tone.BAD if unread else tone,
        note=f"Not looked at: {unasked}." if unasked else "",
        tables=(
            stuck,
            *(_table(documents, name, found[name]) for name in (*_KINDS, _OTHERS) if name in found),
        ),
        document=json_text(audit),
    )


def _stuck(documents: SiteDocuments) -> Table:
    """Moves that no time lets start, and what has no plan: a row for each reason."""
    status = documents.status
    stuck = [
        ((documents.local(move.waits or move.reason), request.next_command), move.vm)
        for request in status.requests
        for move in request.moves
        if request.section in ("held", "failed") and move.state in _STUCK and not move.until
    ]
    wishes = (*status.at_risk, *status.not_planned)
    stuck += [((documents.local(it.reason), it.next_command), str(it.request)) for it in wishes]
    alike = grouped(stuck)
    return Table(
        title="What waits for a person or for room",
        head=("what", "why", "what to do"),
        rows=rows(
            (_listed(names), why, command(then)) for (why, then), names in [*alike.items()][:_MOST]
        ),
        tone=Tone.CAREFUL,
    )


def _listed(names: Sequence[str]) -> str:
    return f"{len(names)}: {first_of(names, _NAMED)}" if len(names) > 1 else names[0]


def _table(documents: SiteDocuments, title: str, lines: Sequence[AuditLine]) -> Table:
    """A row for each reason: many VMs may have the same one."""
    reasons = grouped(((line.code, line.message, line.hint), line) for line in lines)
    shown = [*reasons.values()][:_MOST]
    return Table(
        title=title,
        head=_HEAD,
        rows=rows(_row(documents, alike) for alike in shown),
        tones=tuple(_TONES[alike[0].severity] for alike in shown),
        open=title != _OTHERS,
    )


def _row(documents: SiteDocuments, alike: Sequence[AuditLine]) -> Iterator[Cell | str]:
    first = alike[0]
    yield _listed([f"{line.subject.kind} {_name(line)}" for line in alike])
    yield documents.local(first.message)
    yield _since(documents, alike)
    yield command(first.hint)
    yield Cell(first.code, code=True)
    yield documents.file(f"{first.file}:{first.line}" if first.file else "")


def _name(line: AuditLine) -> str:
    return "/".join(filter(None, (line.subject.namespace, line.subject.name)))


def _since(documents: SiteDocuments, alike: Sequence[AuditLine]) -> str:
    """How long it has been so; the oldest of those that the ledger saw, else at most how long."""
    now = documents.audit.time
    seen = [line.since for line in alike if line.observed and line.since]
    if seen:
        return f"at least {format_duration(max(0, now - min(seen)))}"
    known = [line.since for line in alike if line.since]
    return f"at most {format_duration(max(0, now - min(known)))}" if known else ""
