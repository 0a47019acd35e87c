"""The placement diff computed once, printed in every format. Untrusted text is escaped here."""

from gitbot.reports.ansi import Paint, Style
from gitbot.reports.comment import (
    Superseded,
    comment_values,
    detail,
    markdown,
    marker,
    refusal,
    summary,
    worded,
)
from gitbot.reports.conditions import (
    Conditions,
    PlanConditions,
    QueuedMigration,
    behind,
    estimated_at,
    frozen_words,
    further_merges,
    merges_after,
    starts_of,
    times_of,
)
from gitbot.reports.diff import FREEZE_STOPS, Diff, DiffNode, Preview, placement_diff
from gitbot.reports.finding_formats import explained, json_findings, text
from gitbot.reports.html.move_chart import VmMove, chart
from gitbot.reports.html.year_chart import YearAhead
from gitbot.reports.load_table import load_table
from gitbot.reports.markdown_parts import says_owners
from gitbot.reports.metrics import (
    CATALOGUE,
    MetricKind,
    MetricValues,
    exposition,
    exposition_type,
    samples,
)
from gitbot.reports.registry import REPORTS, FindingReport, Shows, formats_of
from gitbot.reports.sentence import where_to
from gitbot.reports.table import brief, columns, terminal
from gitbot.reports.truncate import Section, cut_markdown, fit
from gitbot.reports.waits import waits_of

__all__ = [
    "CATALOGUE",
    "FREEZE_STOPS",
    "REPORTS",
    "Conditions",
    "Diff",
    "DiffNode",
    "FindingReport",
    "MetricKind",
    "MetricValues",
    "Paint",
    "PlanConditions",
    "Preview",
    "QueuedMigration",
    "Section",
    "Shows",
    "Style",
    "Superseded",
    "VmMove",
    "YearAhead",
    "behind",
    "brief",
    "chart",
    "columns",
    "comment_values",
    "cut_markdown",
    "detail",
    "estimated_at",
    "explained",
    "exposition",
    "exposition_type",
    "fit",
    "formats_of",
    "frozen_words",
    "further_merges",
    "json_findings",
    "load_table",
    "markdown",
    "marker",
    "merges_after",
    "placement_diff",
    "refusal",
    "samples",
    "says_owners",
    "starts_of",
    "summary",
    "terminal",
    "text",
    "times_of",
    "waits_of",
    "where_to",
    "worded",
]
