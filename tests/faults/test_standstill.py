"""Why nothing can start: one answer, the same in a pass, its health file, status and dashboard."""

from collections.abc import Callable
from dataclasses import dataclass
from html import unescape
from pathlib import Path

import pytest

from gitbot.cli.shared.health_file import HealthFile
from gitbot.errors import LedgerError
from gitbot.model.ledger.ledger import Ledger
from gitbot.workflows.apply import apply, hold
from gitbot.workflows.ask import status, write_dashboard
from gitbot.workflows.propose import propose
from tests.doubles.ledger import MemoryLedgerStore, of_newer_gitbot
from tests.doubles.moves import a_move
from tests.doubles.stage import Stage, a_plan

FILE = "requests/prod/request/db/one.jsonl"


def keep(stage: Stage, lines: int) -> None:
    ledger, stage.store = stage.store.read(), MemoryLedgerStore()
    stage.store.append(Ledger(), ledger.events[:lines], ledger.plans)  # type: ignore[arg-type]


def delete(stage: Stage) -> None:
    stage.store = MemoryLedgerStore()


def roll_back(stage: Stage) -> None:
    keep(stage, 2)


def meet_newer(stage: Stage) -> None:
    now, ledger = stage.clock.now(), stage.store.ledger
    stage.store.ledger = of_newer_gitbot(ledger, file=FILE, cluster="prod", time=now)


def set_clock(stage: Stage) -> None:
    stage.cluster.skew = 120


def stop_in_ledger(stage: Stage) -> None:
    hold(stage.shell, reason="smoke", by="ann")
    stage.cluster.flag = None


def stop_by_kubectl(stage: Stage) -> None:
    stage.cluster.flag = "fire"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """What happens between two passes, whether gitbot still works, and a word of the reason."""

    happens: Callable[[Stage], None]
    healthy: bool
    words: str


CASES = [
    Case(happens=delete, healthy=False, words="it ends at line 0"),
    Case(happens=roll_back, healthy=False, words="it ends at line 2"),
    Case(happens=meet_newer, healthy=False, words="a newer gitbot wrote to the ledger"),
    Case(happens=set_clock, healthy=False, words="the API server's clock is 120 s"),
    Case(happens=stop_in_ledger, healthy=True, words="smoke (ann, since "),
    Case(happens=stop_by_kubectl, healthy=True, words="fire"),
]


@pytest.fixture
def stage() -> Stage:
    stage = Stage.of(nodes={"a": "east", "c": "west"}, vms={"one": "a"})
    stage.approve(a_plan(a_move("one", "a", "c")))
    apply(stage.shell)
    return stage


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.happens.__name__)
def test_every_place_gives_the_same_reason(stage: Stage, case: Case, tmp_path: Path) -> None:
    case.happens(stage)
    result = apply(stage.shell, on_report=write_dashboard)
    still = result.standstill
    assert still is not None
    assert (still.healthy, case.words in str(still)) == (case.healthy, True)
    assert result.unsure is not case.healthy, "exit code 2 where gitbot does not work"
    health = HealthFile(str(tmp_path / "health"))
    health.passed(stage.clock.now(), still, unsure=False)
    line = (tmp_path / "health").read_text()
    assert line.startswith("ok " if case.healthy else "failing ")
    assert case.words in line
    shown = status(stage.shell)
    assert shown.standstill == still
    assert shown.healthy is case.healthy
    assert case.words in unescape(stage.forge.issues[0].body.replace("\\", ""))


def test_a_pass_that_may_start_has_no_standstill(stage: Stage) -> None:
    assert apply(stage.shell).standstill is None
    assert status(stage.shell).standstill is None


@pytest.mark.parametrize("lose", [delete, roll_back])
def test_nothing_is_proposed_from_a_ledger_that_lost_lines(
    stage: Stage, lose: Callable[[Stage], None]
) -> None:
    lose(stage)
    with pytest.raises(LedgerError, match="the ledger is not the one that gitbot wrote"):
        propose(stage.shell)
