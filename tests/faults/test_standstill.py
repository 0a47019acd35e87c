"""Why nothing can start: one answer, the same in a pass, its health file, status and dashboard."""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from html import unescape
from pathlib import Path

import pytest

from gitbot.cli.shared.health_file import HealthFile
from gitbot.cli.shared.output import document_text
from gitbot.errors import ForgeError, InvalidInput, LedgerError, RepositoryError
from gitbot.model.ledger.ledger import Ledger
from gitbot.published import PublishedApply, published
from gitbot.settings import ClusterSettings, Settings
from gitbot.workflows.apply import apply, hold
from gitbot.workflows.ask import status, status_document, write_dashboard
from gitbot.workflows.core.context import RunContext
from gitbot.workflows.core.stop_conditions import Standstill, standstill
from gitbot.workflows.propose import propose
from tests.doubles.ledger import MemoryLedgerStore, of_newer_gitbot
from tests.doubles.moves import a_move
from tests.doubles.stage import Stage, a_plan
from tests.faults.pending import pending
from tests.faults.test_broken_base import broken
from tests.faults.test_forge_away import Silent
from tests.unit.workflows.test_apply import rewrite

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


def only_observe(stage: Stage) -> None:
    settings = Settings(clusters=(ClusterSettings(name="prod"),), mode="Observe")
    stage.base = replace(stage.base, revision=replace(stage.base.revision, settings=settings))


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


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.happens.__name__)
def test_standstill_can_be_written_as_json(stage: Stage, case: Case) -> None:
    case.happens(stage)
    still = apply(stage.shell)
    assert still.standstill is not None
    applied = published(still, PublishedApply)
    for document in (applied, status_document(status(stage.shell))):
        assert json.loads(document_text(document, "json"))["stop"] == still.standstill.reason


def test_a_pass_that_may_start_has_no_standstill(stage: Stage) -> None:
    assert apply(stage.shell).standstill is None
    assert status(stage.shell).standstill is None


def lose_forge(stage: Stage) -> RunContext:
    return replace(stage.shell, forge=Silent(stage))


def rewrite_base(stage: Stage) -> RunContext:
    rewrite(stage)
    return stage.shell


@pytest.mark.parametrize(
    ("happens", "words", "command"),
    [
        (lose_forge, "the forge cannot be read", "gitbot doctor"),
        (broken, "main has errors", "git pull && gitbot lint"),
        (rewrite_base, "somebody rewrote it", "gitbot doctor"),
    ],
)
def test_pass_that_cannot_read_forge_or_base_calls_itself_unhealthy(
    happens: Callable[[Stage], RunContext], words: str, command: str
) -> None:
    stage = pending()
    said: list[Standstill | None] = []

    def note(shell: RunContext, ledger: Ledger, stop: str, *_: object) -> None:
        said.append(standstill(stop, ledger, shell.cluster_name))

    with pytest.raises((ForgeError, InvalidInput, RepositoryError)):
        apply(happens(stage), on_report=note)
    (still,) = {item for item in said if item is not None}
    assert words in still.reason
    assert (still.healthy, still.next_command) == (False, command)


@pytest.mark.parametrize(
    ("happens", "command"),
    [
        (stop_in_ledger, "gitbot resume"),
        (stop_by_kubectl, "gitbot resume"),
        (only_observe, "set mode: Enforce in .gitbot.yaml"),
    ],
)
def test_only_a_flag_is_lifted_by_resume(
    stage: Stage, happens: Callable[[Stage], None], command: str
) -> None:
    happens(stage)
    still = apply(stage.shell).standstill
    assert still is not None
    assert (still.healthy, still.next_command) == (True, command)


@pytest.mark.parametrize("lose", [delete, roll_back])
def test_nothing_is_proposed_from_a_ledger_that_lost_lines(
    stage: Stage, lose: Callable[[Stage], None]
) -> None:
    lose(stage)
    with pytest.raises(LedgerError, match="the ledger is not the one that gitbot wrote"):
        propose(stage.shell)
