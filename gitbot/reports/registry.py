"""Every form of `-o` beyond a command's own listing: what it shows, what writes it, its file.

A new form is one entry of `REPORTS`; the command line, completion and `check --reports` follow.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from gitbot.model.plan.findings import Finding
from gitbot.reports.ansi import PLAIN, Paint
from gitbot.reports.comment import markdown, refusal
from gitbot.reports.diff import Diff
from gitbot.reports.finding_formats import github, junit, sarif, text


class Shows(StrEnum):
    """What a command gives `-o` to write."""

    FINDINGS = "findings"
    PLAN = "plan"
    AUDIT = "audit"
    FORECAST = "forecast"


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingReport:
    """Findings to write, with what only some forms need.

    `state` is one line about all of them. `meanings` and `docs` are the table of finding codes and
    the address of the pages that explain them; `version` is gitbot's, for SARIF; `templates` are
    texts in Jinja2. They are read only if a form asks.
    """

    findings: Sequence[Finding]
    cluster: str = ""
    state: str = ""
    paint: Paint = PLAIN
    meanings: Callable[[], str] = field(default=lambda: "")
    docs: Callable[[], str] = field(default=lambda: "")
    version: Callable[[], str] = field(default=lambda: "")
    templates: Callable[[], Mapping[str, str]] = field(default=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportFormat:
    """One form. `plan` is None if it shows the findings of a plan, not the plan itself.

    If the texts have errors there is no plan, so every form can write findings. `check --reports`
    writes `file`; "" leaves it out.
    """

    shows: frozenset[Shows]
    findings: Callable[[FindingReport], str]
    plan: Callable[[Diff, Callable[[], Mapping[str, str]]], str] | None = None
    file: str = ""

    @property
    def needs_plan(self) -> bool:
        return self.plan is not None


def _html_plan(diff: Diff, templates: Callable[[], Mapping[str, str]]) -> str:
    from gitbot.reports.html.page import html  # noqa: PLC0415 - jinja2 only where used

    return html(diff, templates=templates())


def _html_findings(report: FindingReport) -> str:
    from gitbot.reports.html.page import html_findings  # noqa: PLC0415 - jinja2 only where used

    cluster, state = report.cluster or "unknown", report.state
    return html_findings(cluster, state, report.findings, templates=report.templates())


def _sarif(report: FindingReport) -> str:
    meanings, docs = report.meanings(), report.docs()
    return sarif(report.findings, version=report.version(), meanings=meanings, docs=docs)


_EVERYWHERE = frozenset({Shows.FINDINGS, Shows.PLAN, Shows.AUDIT})
REPORTS: dict[str, ReportFormat] = {
    "markdown": ReportFormat(
        shows=frozenset({Shows.PLAN}),
        findings=lambda report: refusal(report.cluster or "unknown", report.findings),
        plan=lambda diff, templates: markdown(diff, templates=templates()),
        file="comment.md",
    ),
    "text": ReportFormat(
        shows=frozenset({Shows.FINDINGS}),
        findings=lambda report: text(report.findings, report.paint),
    ),
    "sarif": ReportFormat(shows=_EVERYWHERE, findings=_sarif, file="findings.sarif"),
    "junit": ReportFormat(
        shows=_EVERYWHERE, findings=lambda report: junit(report.findings), file="junit.xml"
    ),
    "github": ReportFormat(shows=_EVERYWHERE, findings=lambda report: github(report.findings)),
    "html": ReportFormat(
        shows=frozenset({Shows.PLAN, Shows.AUDIT, Shows.FORECAST}),
        findings=_html_findings,
        plan=_html_plan,
        file="report.html",
    ),
}


def formats_of(shows: Shows) -> tuple[str, ...]:
    """The names of the forms that show this, in the order of the help."""
    return tuple(name for name, form in REPORTS.items() if shows in form.shows)
