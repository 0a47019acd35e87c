"""Killed at any point and run again, gitbot comes to the same end with the same creates."""

from collections.abc import Callable

import pytest

from gitbot.errors import ClusterError, GitbotError
from gitbot.model.ledger.events import KnownEvent
from gitbot.published.ledger_lines import verify
from gitbot.workflows.apply import apply
from tests.doubles.ledger import moves_of
from tests.doubles.moves import a_move
from tests.doubles.stage import Stage, a_plan


class Killed(BaseException):
    """The process dies here: nothing may catch it."""


def a_stage(*, fails: tuple[str, ...] = ()) -> Stage:
    stage = Stage.of(
        nodes={"a": "east", "b": "east", "c": "west", "d": "west"},
        vms={"one": "a", "two": "a", "three": "b", "four": "b"},
    )
    stage.cluster.fails = set(fails)
    stage.approve(
        a_plan(
            a_move("one", "a", "c"),
            a_move("two", "a", "d", number=2, wave=1),
            a_move("three", "b", "d", number=3, wave=1, group="other"),
            a_move("four", "b", "c", number=4, wave=2, group="other"),
        )
    )
    return stage


def end_of(stage: Stage) -> tuple[object, ...]:
    """The end state, the creates, and the last state of every move."""
    last = {
        event.move: (event.state, event.landed, event.attempt)
        for event in moves_of(stage.store.read(), "requests/prod/request/db/one.jsonl")
    }
    return stage.cluster.where(), sorted(stage.cluster.creates()), last


def run_to_the_end(stage: Stage) -> int:
    """Passes until one does nothing; how many died."""
    died = 0
    for _ in range(40):
        try:
            if apply(stage.shell).did_nothing:
                return died
        except Killed:
            died += 1
        except GitbotError:
            stage.clock.sleep(1)
    raise AssertionError("it never comes to rest")


class KillAt:
    """Dies at the nth point that is passed, once."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.passed = 0

    def __call__(self, *_: object) -> None:
        self.passed += 1
        if self.passed == self.number:
            raise Killed


def install(stage: Stage, point: Callable[..., None]) -> None:
    """Every read, write and ledger push is a point, before and after."""
    stage.cluster.trouble = point
    stage.store.before_append = point
    stage.store.after_append = point


@pytest.mark.parametrize("fails", [(), ("two",)])
def test_killed_at_every_point_it_comes_to_the_same_end(fails: tuple[str, ...]) -> None:
    clean = a_stage(fails=fails)
    counter = KillAt(0)
    install(clean, counter)
    run_to_the_end(clean)
    expected = end_of(clean)
    assert counter.passed > 30
    for number in range(1, counter.passed + 1):
        stage = a_stage(fails=fails)
        install(stage, KillAt(number))
        assert run_to_the_end(stage) == 1, number
        assert end_of(stage) == expected, f"killed at point {number}"
        assert not verify(stage.store.read().events)


@pytest.mark.parametrize("lost", [1, 2, 4])
def test_a_lost_answer_is_read_and_never_repeated_blindly(lost: int) -> None:
    expected = a_stage()
    run_to_the_end(expected)
    stage = a_stage()
    stage.cluster.lost_answers = lost
    run_to_the_end(stage)
    assert end_of(stage) == end_of(expected)


@pytest.mark.parametrize("verb", ["snapshot", "create", "flag"])
def test_an_unreachable_server_means_no_effect_and_later_the_same_end(verb: str) -> None:
    stage = a_stage()
    asked: list[str] = []

    def trouble(what: str, name: str) -> None:
        asked.append(what)
        if what == verb and asked.count(verb) <= 3:
            raise ClusterError("connection refused")

    stage.cluster.trouble = trouble
    expected = a_stage()
    run_to_the_end(expected)
    for _ in range(4):
        try:
            apply(stage.shell)
        except ClusterError:
            stage.clock.sleep(60)
    run_to_the_end(stage)
    assert end_of(stage) == end_of(expected)


def test_two_runs_at_once_make_each_effect_once() -> None:
    """The other run does a whole pass between our decision and our push, again and again."""
    stage = a_stage()
    expected = a_stage()
    run_to_the_end(expected)
    busy: list[bool] = []

    def meanwhile(_: tuple[KnownEvent, ...]) -> None:
        if len(busy) < 3:
            busy.append(True)
            stage.store.before_append = lambda _: None
            apply(stage.shell, max_runtime=1)
            stage.store.before_append = meanwhile

    stage.store.before_append = meanwhile
    run_to_the_end(stage)
    assert len(busy) == 3
    assert end_of(stage) == end_of(expected)
    assert not verify(stage.store.read().events)


def test_a_paused_run_that_wakes_up_creates_nothing_twice() -> None:
    """We stop between the push and the create; another run finishes everything meanwhile."""
    stage = a_stage()
    expected = a_stage()
    run_to_the_end(expected)
    paused: list[bool] = []

    def pause(verb: str, name: str) -> None:
        if verb == "create" and not paused:
            paused.append(True)
            run_to_the_end(stage)

    stage.cluster.trouble = pause
    run_to_the_end(stage)
    assert end_of(stage) == end_of(expected)
