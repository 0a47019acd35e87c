"""A check's result in every format of `-o`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitbot import __version__

if TYPE_CHECKING:
    from gitbot.workflows.check import CheckResult


def shown(result: CheckResult, output: str, *, colour: bool) -> str:
    """The output. Where the texts have errors there is no plan, and findings are all there is."""
    from gitbot.documents import write_shown  # noqa: PLC0415 - keeps --help quick
    from gitbot.reports import findings as reports  # noqa: PLC0415
    from gitbot.reports import markdown, plan_bytes, refusal, terminal  # noqa: PLC0415

    match output:
        case "sarif":
            return reports.sarif(result.all_findings, version=__version__)
        case "junit":
            return reports.junit(result.all_findings)
        case "github":
            return reports.github(result.all_findings)
        case "html":
            return _page(result)
    if result.review is None:
        if output in {"json", "yaml"}:
            return reports.json_findings(result.all_findings)
        if output == "markdown":
            return refusal(result.cluster or "unknown", result.all_findings)
        return reports.text(result.all_findings)
    match output:
        case "json":
            return plan_bytes(result.review.document).decode("ascii")
        case "yaml":
            return write_shown(result.review.document)
        case "markdown":
            return markdown(result.review.diff)
        case _:
            return terminal(result.review.diff, colour=colour, wide=output == "wide")


def _page(result: CheckResult) -> str:
    from gitbot.adapters.files import ShippedTexts  # noqa: PLC0415 - keeps --help quick
    from gitbot.reports.html import html, html_refusal  # noqa: PLC0415 - jinja2 only where used

    templates = ShippedTexts().templates()
    if result.review is None:
        return html_refusal(result.cluster or "unknown", result.all_findings, templates=templates)
    return html(result.review.diff, templates=templates)
