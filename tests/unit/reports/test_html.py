"""The HTML report: what stands in it, what cannot be in it, and when zones stand for nodes."""

import itertools
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from gitbot.adapters.working_tree import ShippedTexts
from gitbot.errors import GitbotError
from gitbot.model.plan.findings import Finding, Severity
from gitbot.model.plan.plan import Move, NodeRef
from gitbot.reports.html.move_chart import MoveChart, board
from gitbot.reports.html.page import PARTS, html, html_findings
from gitbot.reports.html.timeline import timeline
from gitbot.reports.picture import MAX_NODES
from tests.unit.reports.plans import HOLD, PLAN, move, vm
from tests.unit.reports.test_diff import diff

TEMPLATES = ShippedTexts().templates()
HOSTILE = "<img src=x onerror=alert(1)>\u202egnp.exe\x1b[31m"


def page(**more: Any) -> str:
    return html(diff(**more), templates=TEMPLATES)


def moves(nodes: int, each: int = 1) -> tuple[Move, ...]:
    """Moves between pairs of nodes in two zones."""
    return tuple(
        replace(
            move(number + 1, name=f"vm-{number}"),
            source=NodeRef(node=f"node-{number // each:03}", zone="a"),
            to=NodeRef(node=f"node-{nodes // 2 + number // each:03}", zone="b"),
        )
        for number in range(nodes // 2 * each)
    )


def drawn(nodes: int, each: int = 1) -> MoveChart:
    made = board(diff(replace(PLAN, moves=moves(nodes, each))))
    assert made is not None
    return made


@pytest.mark.parametrize(
    "said",
    [
        'iberia: <span class="state">blocked</span>',
        "2 moves, 1 blocked, rule breaks 1 → 0",
        "sha256:" + "d" * 64,
        "1 min before this plan",
        "Sat 2025-12-06 21:00 UTC",
        "Moves customapp/mssql-c, customapp/mssql-d (32 GiB) to sab, scu.",
        "1 VM, 16 GiB",
        "<code>customapp/mssql-c</code>",
        "<h2>Rules before and after</h2>",
        "gitbot status",
        HOLD.reason,
    ],
)  # fmt: skip
def test_the_page_says(said: str) -> None:
    assert said in page()


def test_the_page_loads_nothing_and_runs_nothing() -> None:
    made = page()
    for forbidden in ("<script", "http:", "https:", "src=", "href=", "url(", "@import"):
        assert forbidden not in made
    assert "default-src 'none'" in made


@pytest.mark.parametrize("field", ["reason", "hint"])
def test_text_of_others_is_inert(field: str) -> None:
    hold: Any = replace(HOLD, **{field: HOSTILE})  # type: ignore[arg-type]
    finding = Finding(code="policy/deny", severity=Severity.ERROR, message=HOSTILE)
    moved = replace(move(), vm=vm(HOSTILE), why=HOSTILE)
    made = page(plan=replace(PLAN, moves=(moved,), holds=(hold,)), findings=(finding,))
    assert "<img" not in made
    assert "\u202e" not in made
    assert "\x1b" not in made
    assert made.count("&lt;img src=x onerror=alert(1)&gt;U+202Egnp.exeU+001B[31m") >= 4


def test_the_drawings_are_well_formed() -> None:
    made = page()
    drawings = [part.split("</svg>")[0] for part in made.split("<svg")[1:]]
    assert len(drawings) == 4  # each for screens and for phones
    for part in drawings:
        ET.fromstring(f"<svg{part}</svg>")


def test_same_plan_same_bytes() -> None:
    assert page() == page()


@pytest.mark.parametrize(
    ("nodes", "each", "by_zone", "cards", "lines"),
    [
        (2, 1, False, 2, 1),
        (MAX_NODES, 1, False, MAX_NODES, MAX_NODES // 2),
        (MAX_NODES + 2, 1, True, 2, 1),
        (MAX_NODES, 6, False, MAX_NODES, 120),
        (MAX_NODES, 7, True, 2, 1),
    ],
)
def test_many_nodes_are_drawn_as_zones(
    nodes: int, each: int, by_zone: bool, cards: int, lines: int
) -> None:
    made = drawn(nodes, each)
    assert (made.by_zone, len(made.cards), len(made.lines)) == (by_zone, cards, lines)


def test_no_two_boxes_overlap() -> None:
    cards = drawn(MAX_NODES, 3).cards
    for above, below in itertools.pairwise(cards):
        assert above.y + above.height < below.y
    for card in cards:
        for chip in (*card.leaving, *card.arriving):
            assert card.y < chip.y < card.y + card.height - 18


def test_nothing_moves_nothing_is_drawn() -> None:
    made = page(plan=replace(PLAN, moves=(), waves=()))
    assert "<svg" not in made
    assert timeline(diff(replace(PLAN, moves=(), waves=()))) is None


def test_texts_with_errors_have_a_page_too() -> None:
    finding = Finding(
        code="intents/unknown-field", severity=Severity.ERROR, message="unknown field nodez",
        file="intents/iberia/a.yaml", line=3, column=5,
    )  # fmt: skip
    made = html_findings(
        "iberia", "not planned: the texts have errors", (finding,), templates=TEMPLATES
    )
    assert 'iberia: <span class="state">not planned: the texts have errors</span>' in made
    assert "intents/iberia/a.yaml:3:5" in made
    assert "unknown field nodez" in made


@pytest.mark.parametrize("name", PARTS)
def test_a_missing_template_is_named(name: str) -> None:
    fewer = {key: text for key, text in TEMPLATES.items() if key != name}
    with pytest.raises(GitbotError, match=f"template {name} is missing"):
        html(diff(), templates=fewer)
