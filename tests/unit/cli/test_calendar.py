"""`gitbot calendar` on a repository, without a cluster."""

import json
from pathlib import Path

import jsonschema  # type: ignore[import-untyped]
import pytest

from gitbot.cli.shared.schema_table import schema_of
from tests.unit.cli.desk import at_desk, gitbot

NOW = ("--now", "2026-12-31T10:00:00Z")


@pytest.fixture(autouse=True)
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    gitbot("init", str(tmp_path / "placement"))
    monkeypatch.chdir(tmp_path / "placement")
    return tmp_path / "placement"


def test_the_table_has_the_next_of_each_and_the_months() -> None:
    code, text = gitbot("calendar", *NOW)
    assert code == 0
    assert (
        "example-firmware            Sun 3 Jan 2027 22:00-02:00 UTC, in 3 days; 1 node; "
        "moves from Sun 3 Jan 2027 20:00; proposal opens Thu 31 Dec\n"
    ) in text
    assert "example-quarter-close       Mon 29 Mar 2027" in text
    assert "Dec 2026, UTC\n" in text
    assert " 4 WR" in text


def test_wide_and_json_have_every_opening_of_the_span() -> None:
    span = ("--from", "2027-01-03", "--until", "2027-03-31")
    wide = gitbot("calendar", *NOW, *span, "-o", "wide")[1]
    code, text = gitbot("calendar", *NOW, *span, "-o", "json")
    document = json.loads(text)
    jsonschema.validate(document, schema_of("Calendar"))
    windows = [event["id"] for event in document["events"] if event["kind"] == "window"]
    assert windows == ["20270103T220000Z", "20270207T220000Z", "20270307T220000Z"]
    assert code == 0
    assert wide.count("example-firmware  ") == 3
    other = gitbot("calendar", *NOW, *span, "-o", "json", "-n", "elsewhere")[1]
    assert {event["kind"] for event in json.loads(other)["events"]} == {"window"}


def test_a_node_that_the_cluster_does_not_have_is_named(tmp_path: Path) -> None:
    (tmp_path / "nodes.yaml").write_text("apiVersion: v1\nkind: Node\nmetadata: {name: other}\n")
    named = ("--snapshot", str(tmp_path / "nodes.yaml"), "--cluster", "prod")
    text = gitbot("calendar", *NOW, *named)[1]
    assert "window example-firmware: there is no node " in text
    assert "there is no node" not in gitbot("calendar", *NOW)[1]


def test_a_node_that_the_published_snapshot_does_not_have_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with at_desk(tmp_path, monkeypatch) as desk:
        desk.gitbot("drain", "kni-worker", "--start", "tomorrow 22:00", "--for", "4h")
        desk.loop.merge(1)
        desk.gitbot("reconcile")
        desk.git("fetch")
        desk.loop.cluster.delete("Node", "kni-worker")
        assert "no node" not in desk.gitbot("calendar", "--rev", "origin/main").text
        desk.gitbot("reconcile")
        said = desk.gitbot("calendar", "--rev", "origin/main")
    assert said.code == 0
    assert "window drain-kni-worker: there is no node kni-worker" in said.err


def test_approved_drain_waits_for_no_proposal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with at_desk(tmp_path, monkeypatch) as desk:
        desk.gitbot("drain", "kni-worker", "--start", "tomorrow 22:00", "--for", "4h")
        desk.gitbot("check", "--pull-request", "1", "--publish")
        desk.loop.merge(1)
        desk.gitbot("reconcile")
        desk.git("fetch")
        shown = desk.gitbot("calendar", "--rev", "origin/main").out
    assert "; 1 node, approved; moves from " in shown
    assert "proposal" not in shown


def test_what_cannot_be_shown_is_said(repository: Path) -> None:
    code, text = gitbot("calendar", *NOW, "--until", "2026-12-30")
    assert (code, "expected an end after the start" in text) == (2, True)
    code, text = gitbot("calendar", *NOW, "--from", "2026-13-01")
    assert (code, "expected a date that exists" in text) == (2, True)
    windows = repository / "intents/prod/windows.yaml"
    windows.write_text(windows.read_text().replace("schedule:", "shedule:"))
    code, text = gitbot("calendar", *NOW)
    assert (code, "intents/prod/windows.yaml:" in text) == (1, True)
