"""A ledger that a newer gitbot wrote to: nothing is done on it, and everybody says why."""

import pytest

from gitbot.workflows.apply import apply, cancel, hold, resume
from gitbot.workflows.ask import Query, history, status
from gitbot.workflows.propose import propose
from tests.doubles.intents import REQUEST
from tests.doubles.ledger import of_newer_gitbot
from tests.doubles.moves import a_move
from tests.doubles.stage import Stage, a_plan
from tests.unit.workflows.story import CLUSTER, Story

FILE = "requests/prod/request/db/one.jsonl"
STOP = f"a newer gitbot wrote to the ledger: line 2 (paused in {FILE}); update gitbot"


@pytest.fixture
def stage() -> Stage:
    stage = Stage.of(nodes={"a": "east", "b": "east", "c": "west"}, vms={"one": "a"})
    stage.approve(a_plan(a_move("one", "a", "c")))
    meet_newer(stage, "prod")
    return stage


def meet_newer(stage: Stage, cluster: str) -> None:
    now, ledger = stage.clock.now(), stage.store.ledger
    stage.store.ledger = of_newer_gitbot(ledger, file=FILE, cluster=cluster, time=now)


def test_a_pass_does_and_writes_nothing(stage: Stage) -> None:
    before = stage.store.ledger
    result = apply(stage.shell)
    assert (result.stop, result.did_nothing, result.in_flight) == (STOP, True, 0)
    assert stage.cluster.creates() == []
    assert stage.store.ledger == before


def test_lines_for_other_clusters_stop_nothing_here() -> None:
    stage = Stage.of(nodes={"a": "east", "c": "west"}, vms={"one": "a"})
    stage.approve(a_plan(a_move("one", "a", "c")))
    meet_newer(stage, "other")
    assert apply(stage.shell).states == {"succeeded": 1}


def test_what_is_under_way_when_it_comes_is_left_alone() -> None:
    stage = Stage.of(nodes={"a": "east", "c": "west"}, vms={"one": "a"})
    stage.approve(a_plan(a_move("one", "a", "c")))
    stage.store.after_append = lambda _: meet_newer(stage, "prod")
    result = apply(stage.shell)
    assert "a newer gitbot wrote to the ledger" in result.stop
    assert stage.cluster.creates() == []


def test_status_says_it_and_names_no_command(stage: Stage) -> None:
    shown = status(stage.shell)
    assert shown.stop == STOP
    assert [item.next_command for item in shown.requests] == []
    hold(stage.shell, reason="smoke", by="ann")
    resume(stage.shell, reason="", by="ann")
    assert status(stage.shell).stop == STOP


def test_a_request_that_began_has_no_next_command() -> None:
    stage = Stage.of(nodes={"a": "east", "c": "west"}, vms={"one": "a"})
    stage.approve(a_plan(a_move("one", "a", "c")))
    hold(stage.shell, reason="smoke", by="ann")
    apply(stage.shell)
    meet_newer(stage, "prod")
    (request,) = status(stage.shell).requests
    assert request.next_command == ""
    cancelled = cancel(stage.shell, request="request/db/one", reason="", by="ann")
    assert "a newer gitbot" in cancelled.stop
    assert stage.cluster.creates() == []


def test_the_ledger_shows_the_line_among_moves(stage: Stage) -> None:
    (event,) = history(stage.store.ledger, "prod", Query())
    assert event.state == "paused"


def test_nothing_is_proposed() -> None:
    story = Story.begin()
    story.commit(db=None, jump=REQUEST)
    hold(story.shell, reason="smoke", by="ann")
    now, ledger = story.cluster.now(), story.store.ledger
    story.store.ledger = of_newer_gitbot(ledger, file=FILE, cluster=CLUSTER, time=now)
    assert propose(story.shell).did_nothing
    assert story.forge.list_pulls() == ()
