"""A check's result in every format of `-o`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from gitbot import __version__
from gitbot.wiring import ShippedTexts

if TYPE_CHECKING:
    from gitbot.model.findings import Finding
    from gitbot.published import Part
    from gitbot.workflows.check import CheckResult


def shown(result: CheckResult, output: str, *, colour: bool) -> str:
    """The output; only findings if the texts have errors, because then there is no plan."""
    from gitbot import reports  # noqa: PLC0415 - keeps --help quick
    from gitbot.documents import write_shown  # noqa: PLC0415 - keeps --help quick
    from gitbot.published import plan_bytes  # noqa: PLC0415

    if output == "html":
        return _page(result)
    if output in {"sarif", "junit", "github"}:
        return shown_findings(result.all_findings, output, version=__version__)
    if result.judged is None:
        if output == "markdown":
            return reports.refusal(result.cluster or "unknown", result.all_findings)
        form = "json" if output == "yaml" else output
        return shown_findings(result.all_findings, form)
    match output:
        case "json":
            return plan_bytes(result.judged.document).decode("ascii")
        case "yaml":
            return write_shown(result.judged.document)
        case "markdown":
            return reports.markdown(result.judged.diff)
        case _:
            return reports.terminal(result.judged.diff, colour=colour, wide=output == "wide")


def shown_findings(findings: Sequence[Finding], output: str, *, version: str = "") -> str:
    """Findings alone; `version` is gitbot's, for SARIF. All other formats are text."""
    from gitbot import reports  # noqa: PLC0415 - keeps --help quick

    match output:
        case "json":
            return reports.json_findings(findings)
        case "sarif":
            meanings = ShippedTexts().meanings()["findings.tsv"]
            docs = os.environ.get("GITBOT_DOCS", "")
            return reports.sarif(findings, version=version, meanings=meanings, docs=docs)
        case "junit":
            return reports.junit(findings)
        case "github":
            return reports.github(findings)
        case _:
            return reports.text(findings)


def _page(result: CheckResult) -> str:
    from gitbot.reports.html import html, html_refusal  # noqa: PLC0415 - jinja2 only where used
    from gitbot.wiring.workspace import shipped  # noqa: PLC0415 - keeps --help quick

    templates = shipped().templates
    if result.judged is None:
        return html_refusal(result.cluster or "unknown", result.all_findings, templates=templates)
    return html(result.judged.diff, templates=templates)


def document_text(document: Part, output: str) -> str:
    """A published document as -o json or -o yaml prints it."""
    from gitbot.published import encoded, json_text  # noqa: PLC0415 - keeps --help quick

    if output == "json":
        return json_text(document)
    from gitbot.documents import write_shown  # noqa: PLC0415 - yaml only where used

    return write_shown(encoded(document))
