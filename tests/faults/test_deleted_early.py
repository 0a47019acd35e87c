"""A migration that is deleted before the ledger has more than its announcement comes once."""

from collections.abc import Callable
from typing import NoReturn

import pytest

from gitbot.errors import ClusterError, ForgeError, UnreachableError
from gitbot.model.ledger.events import KnownEvent
from gitbot.workflows.apply import apply, hold, resume
from tests.doubles.moves import a_move
from tests.doubles.stage import Stage, a_plan
from tests.faults.test_crashes import Killed


@pytest.fixture
def stage() -> Stage:
    stage = Stage.of(nodes={"a": "east", "c": "west"}, vms={"one": "a"})
    stage.approve(a_plan(a_move("one", "a", "c")))
    stage.cluster.stuck = {"one"}
    return stage


def when_created(stage: Stage, action: Callable[[], object]) -> None:
    """Do something once, when the server has answered and nothing is recorded yet."""

    def point(verb: str, name: str) -> None:
        del name
        if verb == "created":
            stage.cluster.trouble = lambda *_: None
            action()

    stage.cluster.trouble = point


def comes_once(stage: Stage) -> None:
    """Whatever passes follow, and however late."""
    for _ in range(2):
        stage.clock.sleep(300)
        apply(stage.shell)
    assert len(stage.cluster.creates()) == 1
    assert stage.states()[-1] == "1 withdrawn"


def stop_and_delete(stage: Stage) -> None:
    found = hold(stage.shell, reason="smoke", by="ann", cancel_running=True)
    assert len(found.deleted) == 1


def die_when_created(stage: Stage) -> None:
    def die() -> None:
        raise Killed

    when_created(stage, die)
    with pytest.raises(Killed):
        apply(stage.shell)


def test_hold_records_what_it_deletes(stage: Stage) -> None:
    when_created(stage, lambda: stop_and_delete(stage))
    apply(stage.shell)
    resume(stage.shell, reason="go", by="ann")
    comes_once(stage)


def test_hold_records_what_a_killed_executor_did_not(stage: Stage) -> None:
    die_when_created(stage)
    stop_and_delete(stage)
    resume(stage.shell, reason="go", by="ann")
    comes_once(stage)


def test_hold_records_nothing_of_what_was_announced_and_not_sent() -> None:
    stage = Stage.of(nodes={"a": "east", "b": "east", "c": "west"}, vms={"one": "a", "two": "b"})
    stage.approve(a_plan(a_move("one", "a", "c"), a_move("two", "b", "c", number=2)))
    stage.cluster.stuck = {"one", "two"}

    die_when_created(stage)
    stop_and_delete(stage)
    assert stage.states()[-3:] == ["1 intended", "2 intended", "1 created"]


def test_hold_deletes_although_it_cannot_record(stage: Stage) -> None:
    """Nothing is more urgent than what a person stops."""

    def closed(_: tuple[KnownEvent, ...]) -> None:
        raise UnreachableError("the remote takes no pushes")

    when_created(stage, lambda: None)
    apply(stage.shell, max_runtime=1)
    stage.store.before_append = closed
    stop_and_delete(stage)
    assert stage.cluster.list_migrations() == ()


def test_an_answer_is_not_forgotten_when_somebody_else_writes(stage: Stage) -> None:
    def write_and_delete() -> None:
        hold(stage.shell, reason="a line between answer and record", by="ann")
        resume(stage.shell, reason="go", by="ann")
        stage.cluster.migrations.clear()  # by a person

    when_created(stage, write_and_delete)
    apply(stage.shell)
    comes_once(stage)


def test_an_answer_is_not_forgotten_when_the_record_loses_the_race(stage: Stage) -> None:
    shell, told = stage.shell, list[bool]()

    def line(_: tuple[KnownEvent, ...]) -> None:
        stage.store.before_append = lambda _: None
        hold(stage.shell, reason="a line right before the record", by="ann")
        resume(stage.shell, reason="go", by="ann")
        stage.cluster.migrations.clear()

    def end_and_lose() -> None:
        told.append(True)
        stage.store.before_append = line

    object.__setattr__(shell, "interrupted", lambda: bool(told))
    when_created(stage, end_and_lose)
    apply(shell)
    comes_once(stage)


def test_an_answer_is_recorded_although_the_forge_is_away(stage: Stage) -> None:
    asked = stage.forge.list_pulls

    def away(**_: object) -> NoReturn:
        stage.cluster.migrations.clear()
        raise ForgeError("502")

    def merge_and_break() -> None:
        stage.repository.write_commit(
            branch="main",
            expected=stage.repository.resolve("main"),
            files={"README": b"2"},
            message="something else is merged",
            time=stage.clock.now(),
        )
        stage.forge.list_pulls = away  # type: ignore[method-assign]

    when_created(stage, merge_and_break)
    with pytest.raises(ForgeError):
        apply(stage.shell)
    stage.forge.list_pulls = asked  # type: ignore[method-assign]
    comes_once(stage)


def test_an_answer_is_recorded_although_the_cluster_is_away_in_the_pause_after_it(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away() -> NoReturn:
        stage.cluster.migrations.clear()  # by a person
        raise ClusterError("the API server does not answer")

    with monkeypatch.context() as patch:
        patch.setattr(stage.cluster, "list_migrations", away)
        with pytest.raises(ClusterError):
            apply(stage.shell)
    assert stage.states()[-1] == "1 created"
    comes_once(stage)
