"""The complete report of a plan is kept by the run that shows it, and its comment links it."""

from dataclasses import replace
from pathlib import Path

import pytest

from gitbot.wiring.report_store import report_keeper
from gitbot.workflows.check import publish
from gitbot.workflows.propose import propose
from tests.doubles.intents import REQUEST, RULE
from tests.unit.workflows.story import CLUSTER, Story

ADDRESS = "https://github.example/acme/placement/actions/runs/{}#artifacts"


def test_reports_are_kept_linked_and_shown_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    story = Story.begin(db=RULE)
    asked = story.open(jump=REQUEST)

    def run(number: int) -> None:
        monkeypatch.setenv("GITBOT_REPORTS", str(tmp_path / str(number)))
        monkeypatch.setenv("GITBOT_REPORT_ADDRESS", ADDRESS.format(number))
        shell = replace(story.shell, keep_report=report_keeper(CLUSTER))
        publish(shell, number=asked.number)
        propose(shell)

    run(1)
    for pull in story.forge.list_pulls():
        (comment,) = story.forge.list_comments(pull.number)
        assert f"[complete report]({ADDRESS.format(1)})" in comment.body
    assert sorted(path.name for path in (tmp_path / "1").iterdir()) == [
        f"{CLUSTER}-heal-zoneantiaffinity-customapp-mssql2016.html",
        f"{CLUSTER}-pull-{asked.number}.html",
    ]
    before = story.writes()
    run(2)  # another run has another address, and nothing new to show
    assert story.writes() == before


def test_nothing_is_kept_without_a_folder_and_nothing_waits_for_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("GITBOT_REPORTS", raising=False)
    assert report_keeper(CLUSTER) is None
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("GITBOT_REPORTS", str(tmp_path / "file" / "below"))
    monkeypatch.setenv("GITBOT_REPORT_ADDRESS", ADDRESS)
    story = Story.begin(db=RULE)
    propose(replace(story.shell, keep_report=report_keeper(CLUSTER)))
    (pull,) = story.pulls()
    (comment,) = story.forge.list_comments(pull.number)
    assert "complete report" not in comment.body
