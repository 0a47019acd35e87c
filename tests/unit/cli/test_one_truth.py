"""What commands say about one thing agrees with the others, and with the cluster."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.doubles.intents import HEAD, REQUEST, RULE
from tests.unit.cli.desk import Desk, at_desk, merge, typed

REQUESTED = "request/customapp/move-jumpbox"


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    with at_desk(tmp_path, monkeypatch) as desk:
        yield desk


def approved(desk: Desk) -> None:
    assert desk.gitbot("move", "vm/jumpbox", "--away").code == 0
    assert desk.gitbot("check", "--pull-request", "1", "--publish").code == 0
    merge(desk, 1)


def state(desk: Desk) -> str:
    listed = desk.gitbot("get", "requests", "-o", "json").out
    return str(json.loads(listed)["items"][0]["state"])


def test_cancel_without_cluster_is_the_cancellation_that_status_shows(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    approved(desk)
    there = os.environ["KUBECONFIG"]
    monkeypatch.setenv("KUBECONFIG", "/nowhere")
    said = desk.gitbot("cancel", REQUESTED, "--by", "ann")
    assert (said.code, said.out) == (0, f"{REQUESTED}: cancelled\n")
    assert state(desk) == "cancelled"
    monkeypatch.setenv("KUBECONFIG", there)
    page = desk.gitbot("status").out
    assert f"Ended:\n{REQUESTED}: cancelled: ann\n" in page
    assert "Waiting" not in page
    assert "not applied" not in page


def test_cancel_of_running_move_without_cluster_says_that_it_is_recorded(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    approved(desk)
    desk.gitbot("apply", "--max-runtime", "1")
    monkeypatch.setenv("KUBECONFIG", "/nowhere")
    said = desk.gitbot("cancel", REQUESTED, "--by", "ann")
    assert said.code == 2
    assert f"{REQUESTED}: cancelling\n" in said.out
    assert "the cancellation is recorded" in said.out
    assert "the cluster could not be read: " in said.err


def test_cancel_that_comes_too_late_says_where_the_vm_is(desk: Desk) -> None:
    approved(desk)
    desk.gitbot("apply", "--max-runtime", "1")
    desk.loop.cluster.advance(300)
    said = desk.gitbot("cancel", REQUESTED, "--by", "ann")
    assert said.code == 0, said.text
    assert f"{REQUESTED}: succeeded\ntoo late: customapp/jumpbox is on " in said.out
    assert state(desk) == "succeeded"
    again = desk.gitbot("cancel", REQUESTED, "--by", "ann")
    assert again.code == 2
    assert "is finished: succeeded; too late: customapp/jumpbox is on " in again.err


def test_check_of_own_pull_request_shows_its_plan(desk: Desk) -> None:
    desk.commit(jump=REQUEST)
    assert "opened (pull request 1)" in desk.gitbot("propose").out
    said = desk.gitbot("check", "--pull-request", "1")
    assert said.code == 0, said.text
    assert "1 move" in said.out.splitlines()[0]
    assert "kni-worker5" in said.out
    assert "outdated" not in said.out
    desk.commit(jump=REQUEST.replace("kni-worker5", "kni-worker3"))
    assert "outdated: the plan below differs" in desk.gitbot("check", "--pull-request", "1").out
    desk.commit(jump=None)
    assert "nothing calls for it any more" in desk.gitbot("check", "--pull-request", "1").out


@pytest.mark.parametrize("command", ["plan", "calendar"])
def test_folder_that_is_behind_says_so_first(desk: Desk, command: str) -> None:
    assert "this folder" not in desk.gitbot(command).text
    desk.loop.commit({"jump.yaml": REQUEST})
    first = desk.gitbot(command).out.splitlines()[0]
    assert first.startswith("this folder is behind main of the forge (")
    assert first.endswith("): git pull; what follows is about the folder")
    desk.git("pull", "-q", "--ff-only")
    assert "this folder" not in desk.gitbot(command).text


def test_folder_without_remote_says_that_no_ledger_was_read(desk: Desk) -> None:
    desk.git("remote", "remove", "origin")
    assert desk.gitbot("calendar").err.startswith("no ledger was read (")


NO_NODE = """\
apiVersion: v1
kind: Pod
metadata: {name: alone, namespace: customapp}
spec: {containers: []}
"""


@pytest.mark.parametrize(
    "words", [("audit",), ("explain", "pod/alone"), ("simulate", "survive")], ids=lambda w: w[0]
)
def test_dump_without_nodes_is_not_clean(
    words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "dump.yaml").write_text(NO_NODE)
    said = typed(*words, "--snapshot", "dump.yaml")
    assert said.code == 2
    assert "could not read the nodes: the snapshot has none" in said.err


DAILY = f"""\
{HEAD}kind: MaintenanceWindow
metadata: {{name: daily}}
spec:
  schedule: {{start: "2026-11-20T22:00", timeZone: Europe/Madrid, duration: PT1H,
    recurrence: "FREQ=DAILY"}}
"""


def test_calendar_marks_each_day_of_the_months_that_it_shows(desk: Desk) -> None:
    desk.write(daily=DAILY)
    said = desk.gitbot("calendar", "--now", "2026-12-10T12:00:00Z").out
    months = said[said.index("Dec 2026") :]
    assert all(months.count(f"{day:>2} W") == 2 for day in range(1, 32))


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        ("drain kni-worker --start 2020-01-01T10:00 --for 4h", "--start: found '2020-01-01T10:00'"),
        ("move vm/jumpbox --before 2020-01-01T10:00Z", "--before: found '2020-01-01T10:00Z'"),
    ],
)
def test_time_that_is_past_is_refused_at_its_option(desk: Desk, words: str, answer: str) -> None:
    said = desk.gitbot(*words.split())
    assert said.code == 2
    assert f"{answer}, which is past: " in said.err
    assert desk.loop.forge.list_pulls() == ()


def test_lost_zone_by_name_hints_at_the_option(desk: Desk) -> None:
    assert "did you mean --zone scu?" in desk.gitbot("simulate", "lose", "scu").err


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        ("move vm/jumpbox --zone nowhere", "--zone: "),
        ("move vm/jumpbox --away --name Not_A_Name", "--name: "),
        ("move vm/jumpbox --away --window nothing", "--window: "),
        ("keep-apart -l app=x -n Not_There", "-n: "),
        ("drain kni-worker --start 2199-01-01T10:00 --for banana", "--for: "),
    ],
)
def test_typing_error_is_answered_at_its_option(desk: Desk, words: str, answer: str) -> None:
    said = desk.gitbot(*words.split())
    assert said.code in (1, 2)
    assert any(answer in line for line in said.text.splitlines()), said.text
    assert ".yaml:" not in said.text
    assert desk.loop.forge.list_pulls() == ()


def test_audit_page_has_its_title_and_names_vm_and_rule(desk: Desk) -> None:
    desk.commit(rule=RULE)
    desk.gitbot("propose")
    page = desk.gitbot("audit", "-o", "html").out
    assert "<title>gitbot on iberia: audit: " in page
    assert "gitbot · audit" in page
    assert "placement plan" not in page
    assert "customapp/mssql2016st4m4, customapp/mssql2016v9r9z" in page
    assert "ZoneAntiAffinity/customapp/mssql2016" in page
