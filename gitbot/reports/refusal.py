"""The comment for texts with errors, of which nothing was planned."""

from __future__ import annotations

from collections.abc import Iterable

from gitbot.model.findings import Finding, Severity, sort_key
from gitbot.reports import inert
from gitbot.reports.comment import LIMIT, marker
from gitbot.reports.diff import counted
from gitbot.reports.fit import Section, fit


def refusal(cluster: str, findings: Iterable[Finding], *, limit: int = LIMIT) -> str:
    """Marker, verdict and count first, then a line a finding, cut where the limit is reached."""
    ordered = sorted(findings, key=sort_key)
    errors = sum(finding.severity is Severity.ERROR for finding in ordered)
    head = (
        f"{marker(cluster)}\n❌ gitbot on {inert.code(cluster)}: **nothing was planned**\n\n"
        f"**{counted(errors, 'error')}**; nothing is approved by merging this\n\n"
    )
    lines = tuple(f"- {inert.code(item.where)} {_words(item)}\n" for item in ordered)
    foot = "\n```console\ngitbot lint\n```\n"
    return fit(
        [
            Section(head=head),
            Section(head="", items=lines, rank=1, noun="finding"),
            Section(head=foot),
        ],
        limit=limit,
    )


def _words(finding: Finding) -> str:
    path = f"{finding.key_path}: " if finding.key_path else ""
    hint = f"; {finding.hint}" if finding.hint else ""
    return inert.markdown(f"{path}{finding.message}{hint}")
