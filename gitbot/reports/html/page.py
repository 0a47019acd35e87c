"""The placement diff as one self-contained HTML page: no script, no address, light and dark.

The page opens from disk and as an artefact of a run; its content policy prevents it from loading
anything.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from jinja2 import Template

from gitbot.calendar import local_text
from gitbot.model.plan.diagnosis import Outcome
from gitbot.model.plan.findings import Finding
from gitbot.model.plan.plan import MoveRef
from gitbot.reports.conditions import starts_of
from gitbot.reports.diff import (
    HOLD_TITLES,
    Diff,
    DiffState,
    by_reasons,
    is_said,
    what_to_do,
    why_held,
)
from gitbot.reports.html.move_chart import MoveChart, board, narrow_board
from gitbot.reports.html.templates import compiled, parts_of, rendered
from gitbot.reports.html.timeline import Timeline, narrow_timeline, timeline
from gitbot.reports.html.year_chart import year_picture
from gitbot.reports.sentence import memory, short_drains, time_known
from gitbot.reports.waits import waits_of

PAGE = "report.html.j2"
STYLE = "report.css.j2"
PARTS = (
    PAGE,
    "report_pictures.html.j2",
    "report_verdict.html.j2",
    "report_tables.html.j2",
    STYLE,
)
_TONES = {
    DiffState.DENIED: "bad",
    DiffState.BLOCKED: "bad",
    DiffState.WAITS: "careful",
    DiffState.WARNING: "careful",
    DiffState.READY: "good",
    DiffState.LATER: "good",
    DiffState.NOTHING: "good",
}


def html(diff: Diff, *, templates: Mapping[str, str]) -> str:
    plan = diff.plan
    return _rendered(
        templates,
        {
            "cluster": plan.cluster,
            "state": diff.verdict,
            "tone": _TONES[diff.state],
            "wrong": _TONES[diff.state] != "good" or diff.breaks_after > 0,
            "diff": diff,
            "rows": (),
            "sentence": diff.happens,
            "short": short_drains(plan),
            "plan": plan,
            "findings": diff.said_locally,
            "hold_titles": HOLD_TITLES,
            "boards": _boards(board(diff)),
            "timelines": _timelines(timeline(diff)),
            "year": year_picture(diff.year),
            "begins": begins(diff),
            "waits": waits_of(diff),
            "loud_checks": [
                (move, check)
                for move in plan.moves
                for check in move.checks
                if check.outcome is not Outcome.PASS
            ],
        },
    )


def _boards(wide: MoveChart | None) -> tuple[MoveChart, ...]:
    """For screens and for phones."""
    return () if wide is None else (wide, narrow_board(wide))


def _timelines(wide: Timeline | None) -> tuple[Timeline, ...]:
    return () if wide is None else (wide, narrow_timeline(wide))


def begins(diff: Diff) -> Mapping[MoveRef, str]:
    """The estimated start of each move, in the cluster's local time."""
    zone = diff.outlook.zone
    return {move.ref: local_text(starts_of(diff.plan, move), zone) for move in diff.plan.moves}


def html_findings(
    cluster: str, state: str, findings: Sequence[Finding], *, templates: Mapping[str, str]
) -> str:
    """A page of findings without a plan."""
    bad, product = bool(findings), "placement plan"
    return html_table(
        cluster, state, templates=templates, findings=findings, bad=bad, product=product
    )


def html_table(
    cluster: str,
    state: str,
    *,
    templates: Mapping[str, str],
    bad: bool,
    findings: Sequence[Finding] = (),
    rows: Sequence[Sequence[str]] = (),
    board: MoveChart | None = None,
    product: str = "what if",
) -> str:
    """A page without a plan: findings, a picture, and rows, of which the first has the titles."""
    return _rendered(
        templates,
        {
            "cluster": cluster,
            "state": state,
            "tone": "bad" if bad else "good",
            "wrong": True,
            "diff": None,
            "product": product,
            "rows": rows,
            "findings": findings,
            "boards": _boards(board),
            "timelines": (),
            "year": None,
        },
    )


def _rendered(templates: Mapping[str, str], values: Mapping[str, Any]) -> str:
    template = _compiled(parts_of(templates, PARTS))
    return rendered(template, {"product": "placement plan", **values})


@lru_cache(maxsize=4)
def _compiled(parts: tuple[tuple[str, str], ...]) -> Template:
    filters: dict[str, Callable[..., Any]] = {
        "what_to_do": what_to_do,
        "why_held": why_held,
        "by_reasons": by_reasons,
        "memory": memory,
        "time_known": time_known,
    }
    tests = {"explained": lambda hold, diff: is_said(diff, hold)}
    return compiled(parts, PAGE, filters=filters, tests=tests)
