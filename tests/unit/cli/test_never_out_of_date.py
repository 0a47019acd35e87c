"""What is asked reads the forge's ledger, or says how old its own is."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from gitbot.adapters.clock import SystemClock
from gitbot.adapters.forges.local.forge import LocalForge
from gitbot.model.text.instants import compact_instant, format_instant, parse_instant
from gitbot.ports.forge import MergeMethod
from tests.doubles.intents import HEAD, REQUEST
from tests.unit.cli.desk import Desk, Said, at_desk

JUMP = "request/customapp/jump"


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    with at_desk(tmp_path, monkeypatch) as desk:
        desk.commit(jump=REQUEST)
        yield desk


def ended(desk: Desk) -> None:
    """The request is carried out, on another machine: this clone learns nothing of it."""
    assert "1 move" in desk.gitbot("plan").out
    assert desk.gitbot("cancel", JUMP, "--by", "ann").code == 0
    assert desk.git("for-each-ref", "refs/remotes/origin/gitbot/ledger") == ""


@pytest.mark.parametrize("command", ["plan", "check", "render"])
def test_what_is_finished_is_not_planned_again_from_a_stale_clone(desk: Desk, command: str) -> None:
    assert "jumpbox" in desk.gitbot(command).out
    ended(desk)
    said = desk.gitbot(command)
    assert said.code == 0, said.text
    assert "jumpbox" not in said.out


def without_forge(desk: Desk) -> None:
    shutil.move(str(desk.tree.parent / "placement.git"), str(desk.tree.parent / "gone.git"))


def test_a_published_snapshot_is_the_forges_or_is_said_to_be_the_clones(desk: Desk) -> None:
    assert "no snapshot of iberia is published" in desk.gitbot("plan", "--published").err
    assert desk.gitbot("reconcile").code == 0
    assert "1 move" in desk.gitbot("plan", "--published").out
    assert desk.git("for-each-ref", "refs/remotes/origin/gitbot/snapshot") == ""
    desk.git("fetch", "-q")
    without_forge(desk)
    said = desk.gitbot("plan", "--published")
    assert "1 move" in said.out
    assert "the snapshot is the one that this clone has: " in said.err


def test_lint_knows_the_forges_ledger_or_says_how_old_its_own_is(desk: Desk) -> None:
    desk.commit(
        freeze=f"{HEAD}kind: FreezeWindow\nmetadata: {{name: all}}\nspec: {{reason: audit}}\n"
    )
    assert desk.gitbot("lint").code == 1
    assert desk.gitbot("cancel", JUMP, "--by", "ann").code == 0
    assert desk.gitbot("lint").code == 0
    desk.git("fetch", "-q")
    without_forge(desk)
    said = desk.gitbot("lint")
    assert said.code == 0, said.text
    assert said.err.startswith("the ledger is this clone's, its last entry ")


def test_without_the_forge_the_first_line_says_how_old_the_ledger_is(desk: Desk) -> None:
    ended(desk)
    desk.git("fetch", "-q")
    without_forge(desk)
    said = desk.gitbot("plan")
    first = said.out.splitlines()[0]
    assert first.startswith("the ledger is this clone's, its last entry ")
    assert " old (" in first
    assert "placement.git" in first
    assert "1 move" not in said.out
    for form in ("json", "yaml"):
        said = desk.gitbot("plan", "-o", form)
        assert said.err.startswith("the ledger is this clone's, its last entry ")
        assert not said.out.startswith("the ledger")
    assert desk.gitbot("render").err.startswith("the ledger is this clone's, ")


@pytest.mark.parametrize("command", ["status", "get requests", "ledger show --all"])
def test_without_the_forge_one_can_still_look(desk: Desk, command: str) -> None:
    """At what the clone fetched last; what could not be read never looks like clean."""
    ended(desk)
    desk.git("fetch", "-q")
    without_forge(desk)
    said = desk.gitbot(*command.split())
    assert said.code == 2
    first, *rest = said.out.splitlines()
    assert first.startswith("the ledger is this clone's, its last entry ")
    assert first.endswith("; pull requests are not known")
    assert "placement.git" in first
    assert "; ;" not in first
    assert "fatal" not in first
    assert "cancelled" in "\n".join(rest) or "withdrawn" in "\n".join(rest)
    document = desk.gitbot(*command.split(), "-o", "json")
    assert json.loads(document.out)["kind"]
    assert document.err.startswith("the ledger is this clone's, ")


def test_without_the_forge_nothing_running_is_no_fact(desk: Desk) -> None:
    desk.commit(jump=None)
    assert "\nnothing is running, and nothing waits" in desk.gitbot("status").out
    desk.git("fetch", "-q")
    without_forge(desk)
    page = desk.gitbot("status").out
    assert "\nas of that ledger nothing is running, and nothing waits" in page
    assert "\nnothing is running" not in page


def test_doctor_says_how_old_the_ledger_is_that_it_read(desk: Desk) -> None:
    ended(desk)
    desk.git("fetch", "-q")
    without_forge(desk)
    said = desk.gitbot("doctor", "--without-cluster")
    assert said.code == 1
    (line,) = [line for line in said.out.splitlines() if "ledger/read" in line]
    assert line.startswith("warn ledger/read")
    assert "the ledger is this clone's, its last entry " in line
    assert " old (" in line


def test_explain_says_that_a_request_is_finished(desk: Desk) -> None:
    assert "is finished" not in desk.gitbot("explain", "--request", "customapp/jump").text
    ended(desk)
    said = desk.gitbot("explain", "--request", "customapp/jump")
    assert said.out.startswith(f"{JUMP} is finished: it never runs again; next: gitbot status ")


def test_a_clone_that_never_saw_a_ledger_says_so(desk: Desk) -> None:
    without_forge(desk)
    first = desk.gitbot("plan").out.splitlines()[0]
    assert first.startswith("no ledger was read, and this clone has none: ")


def test_a_base_that_is_behind_the_forge_is_said(desk: Desk) -> None:
    said = desk.gitbot("check", "--base", "main")
    assert "on the forge at" not in said.out
    desk.loop.commit({"other.yaml": REQUEST.replace("name: jump", "name: other")})
    tip = desk.loop.person.resolve("main")
    here = desk.git("rev-parse", "main").strip()
    first = desk.gitbot("check", "--base", "main").out.splitlines()[0]
    assert first == (
        f"main here is at {here[:12]}, on the forge at {str(tip)[:12]}: git fetch, or pull"
    )


def test_a_ledger_that_is_damaged_is_never_passed_over(desk: Desk) -> None:
    ended(desk)
    head = desk.loop.person
    head.fetch()
    files = head.read_tree("gitbot/ledger")
    name = next(path for path in files if path.startswith("requests/"))
    head.write_commit(
        branch="gitbot/ledger",
        expected=head.resolve("gitbot/ledger"),
        files={name: files[name] + b"{torn"},
        message="oops",
        time=0,
    )
    said: Said = desk.gitbot("plan")
    assert said.code == 2
    assert "error: " in said.err


def test_ledger_status_and_doctor_read_the_forge(desk: Desk) -> None:
    ended(desk)
    assert JUMP in desk.gitbot("ledger", "show", "--all").out
    assert "no plan for it is approved" not in desk.gitbot("status").out
    doctor = desk.gitbot("doctor", "--without-cluster").out
    assert "the chain is whole" in doctor
    assert "0 entries" not in doctor


def window(start: int, *, more: str = "", hours: int = 4) -> str:
    """A maintenance of kni-worker6 from a time in seconds UTC."""
    text = format_instant(start)[:16]
    return f"""{HEAD}kind: MaintenanceWindow
metadata: {{name: tonight}}
spec:
  nodes: {{names: [kni-worker6]}}
  schedule: {{start: "{text}", timeZone: UTC, duration: PT{hours}H{more}}}
"""


def soon() -> int:
    return SystemClock().now() // 60 * 60 + 3600


def drain_of(start: int) -> str:
    return f"drain/tonight/{compact_instant(start)}"


def approved(desk: Desk, text: str) -> None:
    """The drain's plan is merged and in the ledger, and does not start."""
    desk.commit(jump=None, tonight=text)
    assert "opened (pull request 1)" in desk.gitbot("propose").out
    forge = LocalForge(desk.tree.parent / "placement.git", clock=SystemClock()).acting_as("bob")
    head = forge.get_pull(1).head
    forge.merge_pull(1, method=MergeMethod.MERGE, expected_head=head)
    assert desk.gitbot("hold", "--by", "ann").code == 0
    assert desk.gitbot("apply").code in {0, 2}


def test_a_cancelled_occurrence_in_an_edited_window_is_a_finding_on_the_window(desk: Desk) -> None:
    start = soon()
    approved(desk, window(start))
    assert desk.gitbot("cancel", drain_of(start), "--by", "ann").code == 0
    said = desk.gitbot("plan")
    assert "finished-window" not in said.out, "nothing was edited"
    desk.commit(tonight=window(start, hours=5))
    said = desk.gitbot("plan")
    words = f"{drain_of(start)} was cancelled; give it another name or start"
    assert said.code == 1
    assert words in said.out
    assert "intents/iberia/tonight.yaml:3:" in said.out
    told = f"there is no plan: {words}"
    assert f": nothing: {told}" in desk.gitbot("propose").out
    desk.gitbot("resume", "--by", "ann")
    assert f"{drain_of(start)}: {told}" in desk.gitbot("apply").out
    page = desk.gitbot("status")
    assert page.code == 0
    assert f"Merged, without a plan:\n{drain_of(start)}: {told}\n" in page.out
    desk.commit(tonight=window(start, hours=5).replace("name: tonight", "name: tomorrow"))
    assert "finished-window" not in desk.gitbot("plan").out


def test_an_occurrence_that_recurs_warns_that_the_next_counts(desk: Desk) -> None:
    start = soon()
    weekly = ', recurrence: "FREQ=WEEKLY"'
    approved(desk, window(start, more=weekly))
    desk.gitbot("cancel", drain_of(start), "--by", "ann")
    desk.commit(tonight=window(start, more=weekly, hours=5))
    said = desk.gitbot("plan")
    assert "was cancelled; the window counts again from its next opening" in said.out
    assert said.code == 0


def test_at_moves_the_instant_that_is_judged_and_not_the_clock(desk: Desk) -> None:
    start = soon() + 30 * 86_400
    desk.commit(jump=None, tonight=window(start))
    now = desk.gitbot("plan").out
    assert "preview, not approved by a merge: drain/tonight" in now
    said = desk.gitbot("plan", "--at", format_instant(start - 3600))
    first, *rest = said.out.splitlines()
    assert first.startswith("judged for ")
    assert f"({format_instant(start - 3600)}), in " in first
    assert first.endswith(", with the cluster of now")
    assert "preview" not in said.out
    assert "2 moves" in rest[0] or "1 move" in rest[0]
    document = json.loads(desk.gitbot("plan", "--at", format_instant(start), "-o", "json").out)
    assert parse_instant(document["waves"][0]["starts"]) >= start
    assert abs(parse_instant(document["expiresAt"]) - 86_400 - SystemClock().now()) < 300
    assert not [item for item in document["findings"] if "snapshot" in item["code"]]


def test_a_snapshot_of_another_cluster_is_refused_unless_the_cluster_is_named(desk: Desk) -> None:
    file = str(desk.tree.parent / "prod.json.gz")
    assert desk.gitbot("snapshot", "-o", file).code == 0
    assert desk.gitbot("plan", "--snapshot", file).code == 0
    path = desk.tree / ".gitbot.yaml"
    path.write_text(path.read_text().replace("name: iberia", "name: lusitania"))
    desk.git("commit", "--quiet", "--all", "--message=another cluster")
    desk.git("push", "--quiet", "origin", "HEAD:main")
    for words in ("plan", "calendar", "move vm/jumpbox --dry-run", "drain kni-worker --dry-run"):
        said = desk.gitbot(*words.split(), "--snapshot", file)
        assert said.code == 2, words
        assert "the snapshot is of cluster iberia, the intents are those of lusitania" in said.err
        assert "--cluster lusitania" in said.err
        named = desk.gitbot(*words.split(), "--snapshot", file, "--cluster", "lusitania")
        assert named.code == 0, words
