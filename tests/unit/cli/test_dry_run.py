"""`gitbot apply --dry-run` says what a pass would do, and exits as the pass would."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from gitbot.adapters.clock import SystemClock
from gitbot.published import read_plan
from tests.doubles.intents import CONFIGURATION, HEAD, REQUEST
from tests.unit.cli.desk import Desk, at_desk, merge


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    with at_desk(tmp_path, monkeypatch) as desk:
        yield desk


def approved(desk: Desk) -> None:
    assert desk.gitbot("move", "vm/jumpbox", "--to", "kni-worker5").code == 0
    assert desk.gitbot("check", "--pull-request", "1", "--publish").code == 0
    merge(desk, 1)


def codes(desk: Desk) -> tuple[int, int]:
    """Of the rehearsal, then of the pass."""
    return desk.gitbot("apply", "--dry-run").code, desk.gitbot("apply", "--max-runtime", "1").code


def test_errors_of_base_branch_fail_both(desk: Desk) -> None:
    approved(desk)
    desk.commit(broken=REQUEST.replace("vms:", "machines:"))
    said = desk.gitbot("apply", "--dry-run")
    assert "would start:" not in said.out
    assert said.out.endswith("nothing would start now\n")
    assert "broken.yaml:" in said.err
    assert codes(desk) == (1, 1)


def test_clock_in_doubt_fails_both(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    approved(desk)
    now = SystemClock().now()
    monkeypatch.setattr(SystemClock, "now", lambda _: now + 86_400)
    assert "stopped: the API server's clock is " in desk.gitbot("apply", "--dry-run").out
    assert codes(desk) == (2, 2)


def test_hold_of_a_person_fails_neither(desk: Desk) -> None:
    approved(desk)
    desk.gitbot("hold", "--reason", "storage")
    assert codes(desk) == (0, 0)


FREEZE = f"""\
{HEAD}kind: FreezeWindow
metadata: {{name: quarter-close}}
spec:
  schedule: {{start: "2020-01-01T00:00", timeZone: UTC, duration: P3660D}}
  reason: year end
"""


def test_freeze_that_stops_an_approved_move_is_named(desk: Desk) -> None:
    approved(desk)
    desk.commit(freeze=FREEZE)
    local = "Tue 2030-01-08 01:00 Europe/Madrid (in "
    words = f": frozen by FreezeWindow quarter-close (year end) until {local}"
    assert words in desk.gitbot("apply", "--dry-run").out
    assert words in desk.gitbot("apply").out
    assert "frozen by FreezeWindow quarter-close" in desk.gitbot("status").out
    said = desk.gitbot("explain", "vm/jumpbox").out
    until = "Tue 2030-01-08 01:00 Europe/Madrid: year end"
    assert said.startswith(f"vm/jumpbox in customapp: frozen by quarter-close until {until}; would")
    answer, summary, *_ = said.splitlines()
    assert answer.endswith(" once it is not frozen")
    assert summary.startswith("  4 of 7 nodes take it, ")


def test_document_of_a_plan_says_what_its_moves_wait_for(desk: Desk) -> None:
    asked = ("move", "vm/jumpbox", "-n", "customapp", "--to", "kni-worker5")
    assert desk.gitbot(*asked).code == 0
    plan = ("check", "--pull-request", "1", "-o", "json")
    before = json.loads(desk.gitbot(*plan).out)
    assert before["waits"] == []
    desk.commit(freeze=FREEZE)
    frozen = desk.gitbot(*plan).out
    (move,) = json.loads(frozen)["moves"]
    waits = {"request": move["request"], "id": move["id"], "for": "quarter-close ends"}
    assert json.loads(frozen)["waits"] == [waits]
    assert read_plan(frozen).digest == before["digest"]
    older = {key: value for key, value in json.loads(frozen).items() if key != "waits"}
    assert read_plan(older).digest == before["digest"]


def test_mode_observe_starts_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    observing = CONFIGURATION.replace("mode: Enforce", "mode: Observe")
    with at_desk(tmp_path, monkeypatch, observing) as desk:
        approved(desk)
        said = desk.gitbot("apply", "--dry-run")
        assert "would start:" not in said.out
        assert codes(desk) == (0, 0)
