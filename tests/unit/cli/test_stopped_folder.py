"""Commands that plan say that a broken file stops its folder, and answer for all others."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.doubles.intents import CONFIGURATION, HEAD, REQUEST
from tests.unit.cli.desk import Desk, at_desk

OWNERS = """  owners:
  - {paths: [intents/iberia], namespaces: ['*']}
  - {paths: [intents/iberia/a], namespaces: [customapp]}
  - {paths: [intents/iberia/b], namespaces: [payments], nodes: {names: [kni-worker2]}}
"""
ERRORS = f"{HEAD}kind: FreezeWindow\nmetadata: {{name: [}}\n"
SAID = "Nothing starts in namespace customapp"


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    with at_desk(tmp_path, monkeypatch, configuration=CONFIGURATION + OWNERS) as desk:
        yield desk


def warnings(desk: Desk) -> list[str]:
    said = desk.gitbot("plan", "-o", "json")
    assert said.code == 0, said.text
    plan = json.loads(said.out)
    return [
        f"{item['severity']} {item['file']}:{item['line']}"
        for item in plan["findings"]
        if item["code"] == "check/folder-stopped"
    ]


def test_plan_warns_if_its_moves_wait_for_the_repair(desk: Desk) -> None:
    desk.commit(**{"a/move": REQUEST, "a/broken": ERRORS})
    assert warnings(desk) == ["warning intents/iberia/a/broken.yaml:3"]
    assert SAID in desk.gitbot("plan").out
    assert SAID in desk.gitbot("explain", "--request", "customapp/jump").out


def test_plan_names_the_stopped_folder_of_another_team_in_a_note(desk: Desk) -> None:
    desk.commit(**{"a/move": REQUEST, "b/broken": ERRORS})
    assert warnings(desk) == ["note intents/iberia/b/broken.yaml:3"]


def test_move_warns_and_its_check_does(desk: Desk) -> None:
    desk.commit(**{"a/broken": ERRORS})
    said = desk.gitbot("move", "vm/jumpbox", "--away")
    assert said.code == 0
    assert said.out.startswith("iberia: ready, with warnings: 1 move")
    assert SAID in said.out
    assert SAID in desk.gitbot("check", "--pull-request", "1", "--publish").out


def test_explain_says_of_vm_and_node_that_nothing_starts(desk: Desk) -> None:
    desk.commit(**{"a/broken": ERRORS, "b/broken": ERRORS})
    said = desk.gitbot("explain", "vm/jumpbox").out
    first, *_ = said.splitlines()
    assert first == (
        "vm/jumpbox in customapp: cannot move: intents/iberia/a/broken.yaml:3 has errors, "
        "so nothing starts in namespace customapp"
    )
    (node,) = [line for line in said.splitlines() if "b/broken" in line]
    assert node.split()[:2] == ["kni-worker2", "refuses"]


def test_calendar_shows_what_holds(desk: Desk) -> None:
    desk.commit(**{"a/broken": ERRORS})
    said = desk.gitbot("calendar")
    assert said.code == 0
    assert SAID in said.err


@pytest.mark.parametrize("words", [("plan",), ("calendar",)])
def test_errors_that_only_the_folder_has_are_errors(desk: Desk, words: tuple[str, ...]) -> None:
    desk.commit(**{"a/broken": ERRORS})
    desk.write(**{"a/broken": f"# mine\n{ERRORS}"})
    said = desk.gitbot(*words)
    assert said.code != 0
    assert "intents/iberia/a/broken.yaml:4:" in said.text
    assert "folder-stopped" not in said.text
    assert "the cluster alone is explained" in desk.gitbot("explain", "vm/jumpbox").err
