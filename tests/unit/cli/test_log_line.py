"""A line of the log of `reconcile --watch`: read at night, and split by programs."""

import json
from dataclasses import replace

import pytest

from gitbot import gitbot_version
from gitbot.cli.shared.log_line import Level, Log, LogFormat, log_line
from gitbot.model.plan.plan import PlannerFault
from gitbot.workflows.apply import Standstill, apply
from gitbot.workflows.core.context import Progress
from tests.doubles.moves import a_move
from tests.doubles.stage import Stage, a_plan

NOW = 1_800_000_000
HEAD = "2027-01-15T08:00:00Z"


def test_a_line_has_time_level_text_and_fields(capsys: pytest.CaptureFixture[str]) -> None:
    log = Log(cluster="prod", executor="ab12")
    log.write(NOW, Level.ERROR, "no\nroute")
    said = capsys.readouterr().err
    assert said == f"{HEAD} ERROR no route version={gitbot_version()} cluster=prod executor=ab12\n"


def test_a_standstill_is_an_error_unless_a_person_wants_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for healthy in (True, False):
        still = Standstill(reason="smoke", healthy=healthy, by="ann")
        Log().standstill(NOW, still)
    Log().standstill(NOW, None)
    text = f"nothing can start: smoke (ann) version={gitbot_version()}"
    assert capsys.readouterr().err == f"{HEAD} INFO {text}\n{HEAD} ERROR {text}\n"


def test_faults_of_the_planner_are_counted_and_can_be_pasted(
    capsys: pytest.CaptureFixture[str],
) -> None:
    fault = PlannerFault(what="Bug", report="gitbot 1: Bug")
    Log().faults(NOW, (fault, fault))
    said = f'version={gitbot_version()} internal=2 report="gitbot 1: Bug"'
    text = "plan/internal: a fault of gitbot, report it"
    assert capsys.readouterr().err == f"{HEAD} ERROR {text} {said}\n"


def test_a_value_with_spaces_is_quoted_and_an_empty_one_left_out() -> None:
    line = log_line(NOW, Level.INFO, "moved", facts={"merger": 'Ann "A" Lee', "vm": ""})
    assert line == f'{HEAD} INFO moved version={gitbot_version()} merger="Ann \\"A\\" Lee"'


def test_lines_of_a_move_say_who_let_it_happen_and_its_migration() -> None:
    stage = Stage.of(nodes={"a": "east", "c": "west"}, vms={"one": "a"})
    stage.approve(a_plan(a_move("one", "a", "c")))
    told: list[Progress] = []
    assert apply(replace(stage.shell, progress=told.append)).states == {"succeeded": 1}
    (created,) = (line for line in told if line.state == "created")
    (name,) = stage.cluster.creates()
    assert created.facts["migration"] == f"db/{name}"
    (approved,) = (line for line in told if line.state == "approved")
    assert (approved.facts["pullRequest"], approved.facts["merger"]) == ("1", "ann")


def test_as_json_a_hostile_text_stays_in_its_line(capsys: pytest.CaptureFixture[str]) -> None:
    log = Log(cluster="prod", form=LogFormat.JSON, number=3)
    hostile = 'a"b\\c\x1b[2J\u202ed\x9b'
    log.write(NOW, Level.ERROR, f"no\nroute {hostile}", {"vm": f"{hostile}\nINFO", "to": ""})
    said = capsys.readouterr().err
    assert said.isascii()
    assert said.count("\n") == 1
    assert not any(ord(character) < 32 for character in said.rstrip("\n"))
    assert json.loads(said) == {
        "time": HEAD,
        "level": "ERROR",
        "message": f"no route {hostile}",
        "version": gitbot_version(),
        "cluster": "prod",
        "pass": "3",
        "vm": f"{hostile}\nINFO",
    }
