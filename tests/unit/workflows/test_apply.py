"""One pass of apply, from an approved plan to Succeeded migrations."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gitbot.execution.values import Terms
from gitbot.model.instants import Interval
from gitbot.ports.forge import CheckState
from gitbot.published.ledger_lines import verify
from gitbot.workflows.apply import apply
from tests.doubles.ledger import last_move
from tests.doubles.moves import a_move
from tests.unit.workflows.doubles import NOW, Stage, a_plan


@pytest.fixture
def stage() -> Stage:
    return Stage.of(
        nodes={"a": "east", "b": "east", "c": "west"}, vms={"one": "a", "two": "a", "three": "b"}
    )


def test_an_approved_move_ends_succeeded_with_the_ledger_before_and_after(stage: Stage) -> None:
    stage.approve(a_plan(a_move("one", "a", "c")))
    result = apply(stage.shell)
    assert stage.cluster.where()["one"] == "c"
    assert stage.states() == ["1 approved", "1 intended", "1 created", "1 running", "1 succeeded"]
    assert (result.created, result.states) == (1, {"succeeded": 1})
    assert not verify(stage.store.read().events)
    last = last_move(stage.store.read())
    assert (last.landed, last.outcome, last.merger, last.pull_request) == (
        "c",
        "Succeeded",
        "ann",
        1,
    )


class Recorder:
    """An onlooker that keeps what it hears, each stage once."""

    def __init__(self) -> None:
        self.stages: list[str] = []

    def begins(self, stage: str) -> None:
        if self.stages[-1:] != [stage]:
            self.stages.append(stage)

    def planned(self, moves: int) -> None:
        raise AssertionError(f"apply plans nothing, and {moves} moves were")

    def stopped(self) -> bool:
        return False


def test_an_onlooker_hears_the_wave_and_how_many_migrations_ended(stage: Stage) -> None:
    moves = (a_move("one", "a", "c"), a_move("two", "a", "b", number=2, wave=1))
    stage.approve(a_plan(*moves))
    heard = Recorder()
    apply(replace(stage.shell, onlooker=heard))
    assert heard.stages == [
        "reading the forge and the cluster",
        f"wave 1/2 [{'.' * 20}] 0 of 2 migrations ended",
        f"wave 2/2 [{'#' * 10}{'.' * 10}] 1 of 2 migrations ended",
        f"wave 2/2 [{'#' * 20}] 2 of 2 migrations ended",
    ]
    again = Recorder()
    apply(replace(stage.shell, onlooker=again))
    assert again.stages == ["reading the forge and the cluster", ""], "nothing is left to show"


def test_the_second_pass_does_nothing_and_says_so(stage: Stage) -> None:
    stage.approve(a_plan(a_move("one", "a", "c")))
    apply(stage.shell)
    writes = (stage.store.appends, stage.forge.writes, list(stage.cluster.calls))
    assert apply(stage.shell).did_nothing
    assert (stage.store.appends, stage.forge.writes, list(stage.cluster.calls)) == writes


def test_the_status_of_the_pull_request_tells_the_outcome(stage: Stage) -> None:
    stage.approve(a_plan(a_move("one", "a", "c")))
    apply(stage.shell)
    (status,) = stage.forge.list_statuses(stage.forge.get_pull(1).merged_head)
    assert status.state is CheckState.SUCCESS
    assert status.description == "request/db/one succeeded"


def test_instances_are_never_written(stage: Stage) -> None:
    before = {name: dict(vm["spec"]) for name, vm in stage.cluster.instances.items()}
    stage.approve(a_plan(a_move("one", "a", "c"), a_move("two", "a", "b", number=2)))
    apply(stage.shell)
    assert {name: dict(vm["spec"]) for name, vm in stage.cluster.instances.items()} == before
    assert {verb for verb, _ in stage.cluster.calls} == {"create"}


def test_a_closed_window_waits_with_its_opening_time(stage: Stage) -> None:
    opens = NOW + 86_400
    stage.base.terms_by_request["request/db/one"] = Terms(
        allowed=(Interval(start=opens, end=opens + 3600),)
    )
    stage.approve(a_plan(a_move("one", "a", "c")))
    result = apply(stage.shell)
    assert stage.states() == ["1 approved"]
    assert [item.until for item in result.waiting] == [opens]
    (status,) = stage.forge.list_statuses(stage.forge.get_pull(1).merged_head)
    assert status.state is CheckState.PENDING
    assert status.description.endswith("opens 2027-01-16T08:00:00Z")


def test_a_failed_move_stops_its_group_and_the_request_ends_partial(stage: Stage) -> None:
    stage.cluster.fails = {"two"}
    stage.approve(
        a_plan(
            a_move("one", "a", "c"),
            a_move("two", "a", "c", number=2, wave=1),
            a_move("three", "b", "c", number=3, wave=2),
        )
    )
    result = apply(stage.shell)
    assert stage.cluster.where() == {"one": "c", "three": "b", "two": "a"}
    assert result.states == {"failed": 1, "succeeded": 1, "withdrawn": 1}
    (status,) = stage.forge.list_statuses(stage.forge.get_pull(1).merged_head)
    assert (status.state, status.description) == (CheckState.FAILURE, "request/db/one partial")
