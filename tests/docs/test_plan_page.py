"""What docs/how-a-plan-is-made.md shows is what its example prints."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from gitbot.model.instants import parse_instant
from tests.docs.blocks import blocks
from tests.docs.scratch import ROOT
from tests.scenarios.test_scenarios import run

PAGE = ROOT / "docs/how-a-plan-is-made.md"
PLAN = "gitbot plan --cluster lab --snapshot cluster.yaml --now 2026-12-06T21:00:00Z"
BAR = re.compile(r"^  (\S+) to (\S+) :(\d+), (\d+)$", re.MULTILINE)


@pytest.fixture
def example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "120")
    return Path(shutil.copytree(ROOT / "examples/plan", tmp_path / "plan"))


def test_what_the_page_shows_is_printed(example: Path) -> None:
    shown = [block for block in blocks(PAGE) if block.language == "console"]
    assert len(shown) == 4
    for block in shown:
        printed, _ = run(block.commands.strip(), example)
        rows = iter(printed.splitlines())
        for line in block.output:
            assert line in rows, f"line {block.line}: not printed, or not in this order: {line}"


def test_the_bars_are_the_times_of_the_moves(example: Path) -> None:
    _, written = run(f"{PLAN} -o json > plan.json", example)
    moves = json.loads(written)["moves"]
    begins = parse_instant("2026-12-06T21:00:00Z")
    wanted = []
    for move in moves:
        starts = parse_instant(move["starts"]) - begins
        ends = starts + move["estimatedSeconds"]
        wanted.append((move["vm"]["name"], move["to"]["node"], str(starts), str(ends)))
    assert BAR.findall(PAGE.read_text("utf-8")) == wanted
    assert [[ref["id"] for ref in move["after"]] for move in moves] == [[], [], [2]]
