"""The placement diff computed once, printed in every format. Untrusted text is escaped here."""

from gitbot.reports.board import Journey, chart
from gitbot.reports.comment import Superseded, detail, markdown, marker, refusal, summary
from gitbot.reports.conditions import Ahead, Conditions, Outlook
from gitbot.reports.diff import Diff, DiffNode, Preview, placement_diff
from gitbot.reports.findings import explained, github, json_findings, junit, sarif, text
from gitbot.reports.fit import Section, cut_markdown, fit
from gitbot.reports.load import load_table
from gitbot.reports.parts import says_owners
from gitbot.reports.sentence import where_to
from gitbot.reports.style import Paint, Style
from gitbot.reports.table import columns, terminal
from gitbot.reports.year import YearAhead

__all__ = [
    "Ahead",
    "Conditions",
    "Diff",
    "DiffNode",
    "Journey",
    "Outlook",
    "Paint",
    "Preview",
    "Section",
    "Style",
    "Superseded",
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
