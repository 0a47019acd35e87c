"""Whatever `reconcile --watch` prints is a line of one form: a pod's log has stdout and stderr."""

import json
import re
import signal
from dataclasses import replace
from pathlib import Path

import pytest

from gitbot import gitbot_version
from gitbot.cli.commands import reconcile as command
from gitbot.cli.shared.health_file import HealthFile
from gitbot.cli.shared.log_line import Log
from gitbot.cli.shared.metrics_file import MetricsFile
from gitbot.execution.approval import NotApproved
from gitbot.simulation.building import namespace
from gitbot.workflows.apply import ApplyResult
from gitbot.workflows.approval.read_approvals import Approvals
from gitbot.workflows.core.context import Progress
from gitbot.workflows.propose import ProposeResult
from gitbot.workflows.propose.proposal import ConcernReport, Did
from gitbot.workflows.watch import ReconcileResult
from tests.doubles.intents import REQUEST
from tests.unit.cli.desk import Desk, at_desk

LINE = re.compile(
    r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ (INFO|WARNING|ERROR) .+"
    rf" version={re.escape(gitbot_version())} cluster=iberia executor=[0-9a-f]{{16}}( .*)?"
)


def watched(desk: Desk, *words: str) -> list[str]:
    said = desk.gitbot("reconcile", "--watch", *words)
    assert said.code == 130, said.text
    return said.text.splitlines()


def moved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *words: str) -> list[str]:
    """The log of a move, up to its creation."""
    progress = Log.progress

    def told(log: Log, line: Progress) -> None:
        progress(log, line)
        if line.state == "created":
            signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr(Log, "progress", told)
    with at_desk(tmp_path, monkeypatch) as desk:
        pull = desk.loop.open({"jump.yaml": REQUEST})
        desk.loop.publish(pull.number)
        desk.loop.merge(pull.number)
        return watched(desk, *words)


def test_each_line_of_a_move_says_what_let_it_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = moved(tmp_path, monkeypatch)
    assert [line for line in lines if not LINE.fullmatch(line)] == []
    of_move = [line for line in lines if " -> kni-worker5 " in line]
    request = " request=request/customapp/jump vm=customapp/jumpbox "
    assert len(of_move) > 1
    assert [line for line in of_move if request not in line] == []
    assert [line for line in of_move if " pullRequest=1 merger=alice" not in line] == []
    assert [line for line in of_move[1:] if " migration=customapp/gitbot-jump" not in line] == []


def test_as_json_each_line_is_an_object_with_the_ids_of_pass_plan_and_effect(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [json.loads(line) for line in moved(tmp_path, monkeypatch, "--log-format", "json")]
    for line in lines:
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", line["time"])
        assert line["level"] in ("INFO", "WARNING", "ERROR")
        assert line["message"]
        assert (line["version"], line["cluster"], line["pass"]) == (gitbot_version(), "iberia", "1")
        assert all(isinstance(value, str) and value for value in line.values())
    (created,) = (line for line in lines if line.get("state") == "created")
    assert created["request"] == "request/customapp/jump"
    assert created["pullRequest"] == "1"
    assert re.fullmatch(r"sha256:[0-9a-f]{64}", created["plan"])
    assert re.fullmatch(r"customapp/gitbot-jumpbox-[0-9a-f]{10}", created["migration"])


def test_a_stop_says_who_and_since_when(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    passed = command.Told.passed

    def ended(told: command.Told, result: ReconcileResult) -> None:
        passed(told, result)
        signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr(command.Told, "passed", ended)
    with at_desk(tmp_path, monkeypatch) as desk:
        assert desk.gitbot("hold", "--reason", "smoke", "--by", "ana").code == 0
        lines = watched(desk)
    assert [line for line in lines if not LINE.fullmatch(line)] == []
    stops = [line for line in lines if "smoke" in line]
    assert len(stops) == 1
    assert " INFO nothing can start: smoke (ana, since 20" in stops[0]


def test_what_stands_is_said_once_and_what_happens_each_time(
    capsys: pytest.CaptureFixture[str],
) -> None:
    told = command.Told(health=HealthFile(""), metrics=MetricsFile(""), log=Log(number=1))
    refused = NotApproved(pull_request=4, reason="nothing is approved")
    applied = ApplyResult(
        states={"succeeded": 1}, approvals=Approvals(approved=(), refused=(refused,))
    )
    concerns = (
        ConcernReport(concern="heal-a", action=Did.WAITING, reason="young"),
        ConcernReport(concern="heal-b", action=Did.UPDATED, pull_request=5),
    )
    proposed = ProposeResult(concerns=concerns)
    busy = ReconcileResult(snapshot_published=False, pulls=(), applied=applied, proposed=proposed)
    calm = replace(busy, applied=ApplyResult(), proposed=ProposeResult())
    for result in (busy, busy, calm, busy):
        told.passed(result)
    lines = capsys.readouterr().err.splitlines()
    said = [(line.split(" INFO ")[1].split(" version=")[0], line[-1]) for line in lines]
    nothing = {"nothing to do: everything approved is done, or waits"}
    once = {"heal-a: waiting: young", "pull request 4: nothing is approved"}
    each = {"heal-b: updated (pull request 5)", "1 succeeded", *nothing}
    passes = [{text for text, number in said if number == str(each)} for each in range(1, 5)]
    assert passes == [once | each, each, nothing, once | each]


def test_a_stop_by_the_flag_of_the_cluster_says_where(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with at_desk(tmp_path, monkeypatch) as desk:
        desk.loop.cluster.apply([namespace("gitbot")])
        desk.loop.shell.cluster.set_hold_flag("fire")
        first = desk.gitbot("status").out.splitlines()[0]
    assert first.endswith("nothing can start: fire (ConfigMap gitbot/gitbot-hold)")
