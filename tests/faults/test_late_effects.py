"""Between an effect's ledger line and its request everything may change; then nothing is sent."""

from collections.abc import Callable

import pytest

from gitbot.execution.executor_types import Terms
from gitbot.model.ledger.events import KnownEvent, MoveChanged, MoveState
from gitbot.model.text.instants import Interval
from gitbot.workflows.apply import apply, cancel, hold
from tests.doubles.ledger import last_move
from tests.doubles.moves import a_move
from tests.doubles.stage import Stage, a_plan
from tests.doubles.tiny_cluster import NOW
from tests.faults.test_crashes import Killed

REQUEST = "request/db/one"


@pytest.fixture
def stage() -> Stage:
    stage = Stage.of(nodes={"a": "east", "b": "east", "c": "west"}, vms={"one": "a", "two": "b"})
    stage.base.terms_by_request[REQUEST] = Terms(
        allowed=(Interval(start=NOW - 60, end=NOW + 3600),)
    )
    stage.approve(a_plan(a_move("one", "a", "c")))
    return stage


def after_announcing(stage: Stage, action: Callable[[], object]) -> None:
    """Do something once, right after the first effect stands in the ledger as intended."""

    def point(events: tuple[KnownEvent, ...]) -> None:
        intended = [e for e in events if isinstance(e, MoveChanged) and e.state == "intended"]
        if intended and stage.store.after_append is point:
            stage.store.after_append = lambda _: None
            action()

    stage.store.after_append = point


def test_a_cancelled_request_does_not_fire(stage: Stage) -> None:
    after_announcing(stage, lambda: cancel(stage.shell, request=REQUEST, reason="no", by="ann"))
    apply(stage.shell)
    assert stage.cluster.creates() == []
    assert last_move(stage.store.read()).state is MoveState.WITHDRAWN


def test_a_move_that_another_executor_ended_does_not_fire(stage: Stage) -> None:
    def restart() -> None:
        stage.cluster.instances["one"]["metadata"]["uid"] = "uid-again"
        apply(stage.shell, max_runtime=200)
        stage.cluster.instances["one"]["metadata"]["uid"] = "uid-one"  # an old read, believed

    after_announcing(stage, restart)
    apply(stage.shell)
    assert stage.cluster.creates() == []
    assert last_move(stage.store.read()).state is MoveState.OBSOLETE


def test_a_vm_that_restarted_is_not_moved(stage: Stage) -> None:
    def restart() -> None:
        stage.cluster.instances["one"]["metadata"]["uid"] = "uid-again"

    after_announcing(stage, restart)
    apply(stage.shell)
    assert stage.cluster.creates() == []
    assert last_move(stage.store.read()).state is MoveState.OBSOLETE


def test_a_vm_that_left_its_node_is_not_moved_on(stage: Stage) -> None:
    def leave() -> None:
        stage.cluster.instances["one"]["status"]["nodeName"] = "c"

    after_announcing(stage, leave)
    apply(stage.shell)
    assert stage.cluster.creates() == []


def test_nothing_starts_outside_its_time_however_slow_the_answers_are(stage: Stage) -> None:
    after_announcing(stage, lambda: stage.clock.sleep(3590))
    apply(stage.shell)
    assert stage.cluster.creates() == []
    assert last_move(stage.store.read()).state is MoveState.EXPIRED


def test_a_slow_read_of_the_stop_flag_counts_as_well(stage: Stage) -> None:
    def slow(verb: str, what: str) -> None:
        if verb == "flag" and len(stage.states()) > 1:
            stage.clock.present = max(stage.clock.present, NOW + 3590)

    stage.cluster.trouble = slow
    apply(stage.shell)
    assert stage.cluster.creates() == []


def test_hold_in_that_moment_wins(stage: Stage) -> None:
    after_announcing(stage, lambda: hold(stage.shell, reason="smoke", by="ann"))
    result = apply(stage.shell, max_runtime=60)
    assert (stage.cluster.creates(), result.stop) == ([], "smoke")


def test_an_effect_that_was_announced_and_never_sent_is_resolved_in_one_pass(stage: Stage) -> None:
    def die() -> None:
        raise Killed

    after_announcing(stage, die)
    with pytest.raises(Killed):
        apply(stage.shell)
    object.__setattr__(stage.base, "refuse", lambda *_: "c is cordoned")
    began = stage.clock.now()
    result = apply(stage.shell)
    assert not result.unfinished
    assert stage.clock.now() - began < 300
    assert stage.cluster.creates() == []
    last = last_move(stage.store.read())
    assert (last.state, last.reason) == (MoveState.HELD, "c is cordoned")


def test_an_attempt_that_was_never_sent_keeps_its_name(stage: Stage) -> None:
    def die() -> None:
        raise Killed

    after_announcing(stage, die)
    with pytest.raises(Killed):
        apply(stage.shell)
    announced = last_move(stage.store.read()).migration
    object.__setattr__(stage.base, "refuse", lambda *_: "c is cordoned")
    apply(stage.shell)
    object.__setattr__(stage.base, "refuse", lambda *_: "")
    apply(stage.shell)
    assert stage.cluster.creates() == [announced.partition("/")[2]]
