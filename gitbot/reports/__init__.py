"""The placement diff computed once, printed in every format. Untrusted text is escaped here."""

from gitbot.reports.ansi import Paint, Style
from gitbot.reports.comment import Superseded, detail, markdown, marker, refusal, summary
from gitbot.reports.conditions import Conditions, PlanConditions, QueuedMigration
from gitbot.reports.diff import Diff, DiffNode, Preview, placement_diff
from gitbot.reports.finding_formats import explained, github, json_findings, junit, sarif, text
from gitbot.reports.html.move_chart import VmMove, chart
from gitbot.reports.html.year_chart import YearAhead
from gitbot.reports.load_table import load_table
from gitbot.reports.markdown_parts import says_owners
from gitbot.reports.sentence import where_to
from gitbot.reports.table import columns, terminal
from gitbot.reports.truncate import Section, cut_markdown, fit

__all__ = [
    "Conditions",
    "Diff",
    "DiffNode",
    "Paint",
    "PlanConditions",
    "Preview",
    "QueuedMigration",
    "Section",
    "Style",
    "Superseded",
    "VmMove",
    "YearAhead",
    "chart",
    "columns",
    "cut_markdown",
    "detail",
    "explained",
    "fit",
    "github",
    "json_findings",
    "junit",
    "load_table",
    "markdown",
    "marker",
    "placement_diff",
    "refusal",
    "sarif",
    "says_owners",
    "summary",
    "terminal",
    "text",
    "where_to",
]
