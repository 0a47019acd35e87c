"""A person's day: every time in the cluster's zone, every next command the one that acts."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from gitbot.kubernetes.objects import at
from tests.unit.cli.desk import Desk, at_desk

DATABASES = ("mssql2016r5pcw", "mssql2016st4m4", "mssql2016v9r9z")
UTC_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    with at_desk(tmp_path, monkeypatch) as desk:
        yield desk


def asked(desk: Desk, *words: str) -> str:
    """Ask with this command, show the plan, merge; what merge printed."""
    said = desk.gitbot(*words)
    number = re.search(r"^pull request #(\d+): ", said.out, re.MULTILINE)
    assert number, said
    if "gitbot check" in said.out:
        desk.gitbot("check", "--pull-request", number[1], "--publish")
    merged = desk.gitbot("merge", number[1])
    assert merged.code == 0, merged
    return merged.out


def passes(desk: Desk) -> None:
    """What one pass begins, the next one sees done."""
    for _ in range(2):
        desk.gitbot("apply", "--max-runtime", "1")
        desk.loop.cluster.advance(25)


def test_progress_audit_and_every_line_are_in_the_clusters_zone(desk: Desk) -> None:
    asked(desk, "move", "jumpbox", "--away")
    progress = desk.gitbot("apply", "--max-runtime", "1").err
    line = r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d Europe/Madrid customapp/jumpbox: .* created$"
    assert re.search(line, progress, re.MULTILINE), progress
    assert not UTC_TIME.search(progress)
    found = desk.gitbot("audit").out
    assert re.search(r"; snapshot \w{3} [\d :-]+ Europe/Madrid$", found, re.MULTILINE), found
    table = desk.gitbot("ledger", "show", "--all").out
    assert table.startswith("TIME (Europe/Madrid) ")
    assert not UTC_TIME.search(table)
    assert UTC_TIME.search(desk.gitbot("ledger", "show", "--all", "-o", "csv").out)


def test_merge_names_the_command_that_acts(desk: Desk) -> None:
    assert asked(desk, "move", "jumpbox", "--away").endswith("; next: gitbot apply\n")
    assert asked(desk, "drain", "kni-worker5", "--cordon").endswith("; next: gitbot apply\n")
    freeze = asked(desk, "freeze", "--until", "in 3d")
    assert freeze.endswith("(freeze/freeze)\n"), freeze
    rule = asked(desk, "keep-apart", *DATABASES)
    assert rule.endswith("; next: gitbot reconcile\n"), rule


def test_merge_names_the_rule_that_came_after_the_plan(desk: Desk) -> None:
    desk.gitbot("move", "jumpbox", "--away")
    desk.gitbot("check", "--pull-request", "1", "--publish")
    desk.gitbot("keep-apart", *DATABASES)
    rule = desk.gitbot("merge", "2")
    assert rule.err == "", rule
    late = desk.gitbot("merge", "1")
    assert re.fullmatch(
        r"ZoneAntiAffinity \S+ came after the approved plan: "
        r"apply holds the moves that are forbidden now\n",
        late.err,
    ), late


def test_status_lists_a_held_drain_once_with_why_it_has_no_new_plan(desk: Desk) -> None:
    asked(desk, "drain", "kni-worker4", "--cordon")
    asked(desk, "keep-apart", *DATABASES, "--nodes")
    desk.gitbot("apply", "--max-runtime", "1")
    shown = desk.gitbot("status").out
    held = shown.partition("Held:\n")[2].partition("\n\n")[0].splitlines()
    assert [line.partition(":")[0].partition("/")[0] for line in held] == [
        "drain",
        "  1 customapp",
        "  no plan exists",
        "  next",
    ]
    assert "Merged, without a plan" not in shown


def test_a_snapshot_is_never_from_the_future_of_its_own_command(desk: Desk) -> None:
    desk.loop.cluster.advance(5)  # the cluster is read after the command has begun
    line = next(line for line in desk.gitbot("plan").out.splitlines() if "snapshot" in line)
    assert "Europe/Madrid (now), approve before" in line, line


def test_a_drain_says_where_it_stands_until_its_file_is_gone(desk: Desk) -> None:
    asked(desk, "drain", "kni-worker5", "kni-worker3", "--cordon", "--note", "new power supplies")
    passes(desk)
    desk.git("pull", "-q")
    window = "drain-kni-worker5-and-1-more"
    during = desk.gitbot("explain", "--window", window).out
    states = "kni-worker3 is (draining|ready), kni-worker5 is (draining|ready)"
    assert re.match(rf"window {window} is at work: {states}; next: gitbot status\n", during), during
    assert f"iberia: nothing to plan, {window} is at work, with nodes in maintenance: 0" in during
    assert f"nothing to plan, {window} is at work" in desk.gitbot("plan").out
    for node in ("kni-worker3", "kni-worker5"):
        desk.loop.cluster.cordon(node, unschedulable=False)
    passes(desk)
    after = desk.gitbot("explain", "--window", window).out
    assert f"iberia: nothing to plan, {window} is over: its nodes are back: 0 moves" in after
    assert f"{window} is over" in desk.gitbot("plan").out
    assert "2 nodes, is over: its nodes are back" in desk.gitbot("calendar").out


def test_the_note_of_a_drain_is_in_file_ledger_and_migration(desk: Desk) -> None:
    asked(desk, "drain", "kni-worker", "--cordon", "--note", "new power supplies")
    desk.gitbot("apply", "--max-runtime", "1")
    row = desk.gitbot("ledger", "--since", "1d").out.splitlines()[-1]
    assert "Maintenance: new power supplies" in row
    made = desk.loop.cluster.list("VirtualMachineInstanceMigration", "customapp")
    reasons = {at(it, "metadata", "annotations", "placement.gitbot.dev/reason") for it in made}
    assert "Maintenance: new power supplies" in reasons


def test_a_freeze_is_called_after_its_reason(desk: Desk) -> None:
    freeze = asked(desk, "freeze", "--until", "in 3d", "--reason", "Quarter close!")
    assert "(freeze/quarter-close)" in freeze
    desk.git("pull", "-q")
    assert "frozen by quarter-close until " in desk.gitbot("explain", "jumpbox").out


def test_a_time_in_the_past_says_what_was_understood(desk: Desk) -> None:
    for command in (("ledger",), ("audit",)):
        said = desk.gitbot(*command, "--since", "last month").err
        assert re.search(r"^--since last month: \w{3} \d{4}-\d\d-01 00:00 Europe/Madrid", said), (
            said
        )
    late = desk.gitbot("drain", "kni-worker5", "--start", "2026-01-01 22:00", "--for", "4h")
    assert "which is past: " in late.err
    assert "give a later one, such as: in 10m" in late.err


def test_a_drain_that_cannot_be_ready_by_its_start_says_so(desk: Desk) -> None:
    words = ("drain", "kni-worker", "--start", "in 30s", "--for", "4h", "--cordon")
    said = desk.gitbot(*words).out
    assert re.search(r"may run from .* on, but the last is done about .* after the start", said)
    ahead = desk.gitbot(*words[:3], "in 3h", *words[4:], "--dry-run").out
    assert "; moves may run from " in ahead
    assert "after the start" not in ahead
