"""While the forge does not answer nothing starts, and what has begun is observed and recalled."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from gitbot.errors import ForgeError
from gitbot.execution.executor_types import Terms
from gitbot.model.text.instants import Interval
from gitbot.workflows.apply import apply, cancel
from gitbot.workflows.core.context import RunContext
from gitbot.workflows.watch import reconcile
from tests.doubles.stage import Stage
from tests.doubles.tiny_cluster import NOW
from tests.faults.pending import merge_another, pending


class Silent:
    """A forge of which no call gets an answer while `away`."""

    def __init__(self, stage: Stage, *, away: bool = True) -> None:
        self.stage = stage
        self.away = away

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.stage.forge, name)
        if not callable(found):
            return found

        def call(*args: Any, **named: Any) -> Any:
            if self.away:
                raise ForgeError("the forge does not answer")
            return found(*args, **named)

        return call


@pytest.fixture
def stage() -> Stage:
    stage = pending()
    merge_another(stage)
    return stage


def silent(stage: Stage) -> RunContext:
    return replace(stage.shell, forge=Silent(stage))


def anchors(stage: Stage) -> list[str]:
    return [
        item.description
        for commit in stage.repository.log("main")
        for item in stage.forge.list_statuses(commit.id)
        if item.context.startswith("gitbot/ledger")
    ]


@pytest.mark.parametrize("run", [apply, reconcile])
def test_what_is_pending_is_recalled_when_its_window_closes(
    stage: Stage, run: Callable[[RunContext], object]
) -> None:
    stage.clock.sleep(200)
    with pytest.raises(ForgeError, match="does not answer"):
        run(silent(stage))
    assert stage.cluster.migrations == {}
    assert stage.states()[-1] == "1 expired"
    assert len(stage.cluster.creates()) == 1
    assert apply(stage.shell).created == 1  # the other request


def test_a_forge_that_goes_away_in_mid_pass_lets_nothing_more_start(stage: Stage) -> None:
    """What was approved for later does not start either: its approval may be gone by then."""
    stage.base.terms_by_request["request/db/two"] = Terms(
        allowed=(Interval(start=NOW + 100, end=NOW + 9000),)
    )
    forge = Silent(stage, away=False)

    def trouble(verb: str, _: str) -> None:
        forge.away = forge.away or verb == "snapshot"

    stage.cluster.trouble = trouble
    with pytest.raises(ForgeError, match="does not answer"):
        apply(replace(stage.shell, forge=forge), max_runtime=400, wait_for_opening=400)
    assert stage.states()[-1] == "1 expired"
    assert stage.cluster.migrations == {}
    assert len(stage.cluster.creates()) == 1


def test_a_ledger_that_went_back_is_not_anchored_on_a_forge_that_was_not_asked(
    stage: Stage,
) -> None:
    stage.cluster.anchors.clear()
    before = anchors(stage)
    ledger = stage.store.read()
    stage.store.ledger = ledger.replace(events=ledger.events[:2], head="back")
    forge = Silent(stage)

    def trouble(verb: str, _: str) -> None:
        forge.away = forge.away and verb != "snapshot"  # it is back in mid-pass

    stage.cluster.trouble = trouble
    with pytest.raises(ForgeError, match="does not answer"):
        apply(replace(stage.shell, forge=forge))
    assert len(stage.cluster.creates()) == 1
    assert anchors(stage) == before != []


def test_what_waits_does_not_end_by_times_that_the_base_branch_has_moved(stage: Stage) -> None:
    for start in (NOW + 100, NOW + 1000):
        allowed = (Interval(start=start, end=start + 50),)
        stage.base.terms_by_request["request/db/two"] = Terms(allowed=allowed)
        if start == NOW + 100:
            apply(stage.shell, max_runtime=1)
    assert stage.states("request/db/two") == ["1 approved"]
    stage.clock.sleep(200)
    with pytest.raises(ForgeError, match="does not answer"):
        apply(silent(stage))
    assert stage.states("request/db/two") == ["1 approved"]


def test_what_is_cancelled_ends(stage: Stage) -> None:
    result = cancel(silent(stage), request="request/db/one", reason="", by="ann")
    assert stage.cluster.migrations == {}
    assert str(result.record.state) == "withdrawn"


def test_nothing_starts_on_a_ledger_that_was_not_compared_with_the_anchor(stage: Stage) -> None:
    """The forge answers right after, so what is approved is known."""
    forge = Silent(stage)

    def back(verb: str, _: str) -> None:
        if verb == "anchor":  # the cluster's is read after the forge's
            forge.away = False

    stage.cluster.trouble = back
    with pytest.raises(ForgeError, match="does not answer"):
        apply(replace(stage.shell, forge=forge))
    assert len(stage.cluster.creates()) == 1
    apply(stage.shell)
    assert len(stage.cluster.creates()) == 2
