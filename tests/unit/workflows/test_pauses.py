"""A pass that waits for an opening, that runs out of time, and that is asked to end."""

from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest

from gitbot.errors import ConflictError, RepositoryError
from gitbot.execution.executor_types import Terms
from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.model.ledger.events import KnownEvent, MoveEvent, StopSet
from gitbot.model.ledger.ledger import HOLD_FILE, Ledger
from gitbot.model.text.instants import Interval, format_instant
from gitbot.snapshot import write_snapshot
from gitbot.workflows.apply import apply, hold
from gitbot.workflows.apply.waiting import LOOK_ANYWAY, POLL, stages, wait_for_progress
from gitbot.workflows.core.context import base_head
from gitbot.workflows.core.published_snapshots import snapshot_branch
from gitbot.workflows.ledger.writer import LOST_RACES, MINUTE, PUSHES, Journal, retried
from gitbot.workflows.watch import reconcile
from tests.doubles.intents import REQUEST, RULE
from tests.doubles.moves import a_move
from tests.doubles.stage import Stage, a_plan
from tests.doubles.tiny_cluster import NOW
from tests.unit.workflows.story import Story


def a_stage(*, opens_in: int) -> Stage:
    stage = Stage.of(nodes={"a": "east", "c": "west"}, vms={"one": "a"})
    opens = NOW + opens_in
    stage.base.terms_by_request["request/db/one"] = Terms(
        allowed=(Interval(start=opens, end=opens + 3600),)
    )
    stage.approve(a_plan(a_move("one", "a", "c")))
    return stage


@pytest.mark.parametrize(
    ("opens_in", "wait", "moved"),
    [(900, 1200, True), (1199, 1200, True), (1201, 1200, False), (900, 0, False)],
)
def test_an_opening_is_waited_for_only_when_it_is_near(
    opens_in: int, wait: int, moved: bool
) -> None:
    stage = a_stage(opens_in=opens_in)
    result = apply(stage.shell, wait_for_opening=wait)
    assert (stage.cluster.where()["one"] == "c") is moved
    assert not result.unfinished
    if moved:
        created = [item for item in stage.store.read().events if item.state == "created"]
        assert created[0].time >= NOW + opens_in
    else:
        assert stage.clock.present == NOW  # no time was spent


def test_a_pass_whose_time_ends_before_the_opening_hands_over() -> None:
    stage = a_stage(opens_in=900)
    result = apply(stage.shell, max_runtime=600, wait_for_opening=1200)
    assert result.unfinished
    assert stage.clock.present == NOW + 600
    assert stage.cluster.creates() == []
    successor = apply(stage.shell, max_runtime=600, wait_for_opening=1200)
    assert stage.cluster.where()["one"] == "c"
    assert not successor.unfinished


def test_a_pass_whose_time_ends_while_a_move_runs_hands_over() -> None:
    stage = a_stage(opens_in=0)
    stage.cluster.seconds = 500
    assert apply(stage.shell, max_runtime=100).unfinished
    assert not apply(stage.shell, max_runtime=3600).unfinished
    assert len(stage.cluster.creates()) == 1


def test_what_waits_for_no_time_is_not_handed_over() -> None:
    stage = a_stage(opens_in=86_400)
    assert not apply(stage.shell, max_runtime=60, wait_for_opening=1200).unfinished


def test_a_hold_set_while_waiting_for_the_opening_stops_it() -> None:
    stage = a_stage(opens_in=900)

    def in_ten_minutes() -> None:
        if stage.clock.present == NOW + 600:
            hold(stage.shell, reason="storage is slow", by="ann")

    stage.clock.listeners.append(in_ten_minutes)
    result = apply(stage.shell, wait_for_opening=1200)
    assert "storage is slow" in result.stop
    assert stage.cluster.creates() == []


def test_a_hold_set_while_a_look_is_taken_is_seen_soon() -> None:
    stage = a_stage(opens_in=900)
    apply(stage.shell)  # writes down what was approved
    looks: list[int] = []

    def on_look(snapshot: ClusterSnapshot) -> None:
        looks.append(snapshot.taken_at)
        if len(looks) == 1:
            hold(stage.shell, reason="storage is slow", by="ann")

    result = apply(stage.shell, wait_for_opening=1200, on_look=on_look)
    assert "storage is slow" in result.stop
    assert stage.clock.present - NOW <= LOOK_ANYWAY


def test_a_move_that_ends_while_a_look_is_taken_is_written_down_soon() -> None:
    stage = a_stage(opens_in=0)
    looks: list[int] = []

    def on_look(snapshot: ClusterSnapshot) -> None:
        looks.append(snapshot.taken_at)
        if len(looks) == 2:  # the snapshot says that it is under way
            stage.clock.sleep(stage.cluster.seconds)

    result = apply(stage.shell, on_look=on_look)
    assert result.states == {"succeeded": 1}
    assert looks[2] - looks[1] == stage.cluster.seconds + POLL


def test_no_claim_waits_for_a_push_and_records_go_with_the_next_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("gitbot.workflows.ledger.writer.PUSHES", 1)
    stage = Stage.of(nodes={"a": "east", "c": "west"}, vms={"one": "a", "two": "a"})
    stage.approve(a_plan(a_move("one", "a", "c"), a_move("two", "a", "c", number=2, wave=1)))
    pushed: list[list[str]] = []
    stage.store.before_append = lambda events: pushed.append(
        [f"{item.state} {item.move}" for item in events if isinstance(item, MoveEvent)]
    )
    assert apply(stage.shell).states == {"succeeded": 2}
    assert pushed == [
        ["approved 1", "approved 2", "intended 1"],
        ["created 1", "succeeded 1", "intended 2"],
        ["created 2", "succeeded 2"],
    ]
    begun = [item.time for item in stage.store.read().events if item.state == "intended"]
    assert begun[1] - begun[0] < MINUTE


def test_a_clock_that_steps_back_delays_no_push() -> None:
    stage = a_stage(opens_in=0)
    journal = Journal(stage.store, stage.clock)
    for _ in range(PUSHES):
        journal.read()
        journal.commit((StopSet(file=HOLD_FILE, time=NOW),))
    stage.clock.present -= 3600
    assert journal.has_turn()


def test_what_was_judged_before_the_wait_is_judged_again_at_the_opening() -> None:
    stage = a_stage(opens_in=900)

    def vm_moves_away() -> None:
        if stage.clock.present == NOW + 600:
            stage.cluster.instances["one"]["status"]["nodeName"] = "c"

    stage.clock.listeners.append(vm_moves_away)
    result = apply(stage.shell, wait_for_opening=1200)
    assert stage.cluster.creates() == []
    assert result.states == {"obsolete": 1}


@pytest.mark.parametrize("after", [0, 1, 3, 7, 11])
def test_a_pass_that_is_asked_to_end_begins_nothing_and_the_next_one_goes_on(after: int) -> None:
    stage = Stage.of(nodes={"a": "east", "c": "west"}, vms={"one": "a", "two": "a"})
    stage.approve(
        a_plan(a_move("one", "a", "c"), a_move("two", "a", "c", number=2, wave=1)),
    )
    asked_at = stage.clock.present + after
    shell = replace(stage.shell, interrupted=lambda: stage.clock.present >= asked_at)
    result = apply(shell)
    assert result.interrupted
    assert not result.unfinished  # a person ended it: no successor is started
    creates = len(stage.cluster.creates())
    assert stage.clock.present <= asked_at + 5
    apply(stage.shell)
    assert stage.cluster.where() == {"one": "c", "two": "c"}
    assert len(stage.cluster.creates()) == 2 >= creates


def test_a_pass_that_loses_its_last_race_ends_well_and_the_next_one_sees_what_happened() -> None:
    stage = a_stage(opens_in=0)
    asked: list[bool] = []
    append = stage.store.append

    def racing(
        ledger: Ledger, events: tuple[KnownEvent, ...], plans: Mapping[str, bytes | None]
    ) -> Ledger:
        if any(event.state == "created" for event in events) and asked:
            raise ConflictError("somebody else moved gitbot/ledger first")
        return append(ledger, events, plans)

    def created(verb: str, what: str) -> None:
        if verb == "created":
            asked.append(True)

    stage.store.append = racing  # type: ignore[method-assign]
    stage.cluster.trouble = created
    shell = replace(stage.shell, interrupted=lambda: bool(asked))
    assert apply(shell).interrupted
    asked.clear()
    apply(stage.shell)
    assert stage.cluster.where()["one"] == "c"
    assert len(stage.cluster.creates()) == 1
    assert stage.states()[-1] == "1 succeeded"


def test_a_lost_race_is_run_again_but_not_for_ever() -> None:
    tries: list[int] = []

    def lost() -> None:
        tries.append(1)
        raise ConflictError("somebody else moved gitbot/ledger first")

    with pytest.raises(ConflictError):
        retried(lost)
    assert len(tries) == LOST_RACES + 1


def test_hold_is_set_although_another_run_writes_at_the_same_time() -> None:
    stage = a_stage(opens_in=0)
    lost = 3
    append: Callable[..., object] = stage.store.append

    def racing(*arguments: object) -> object:
        nonlocal lost
        if lost:
            lost -= 1
            raise ConflictError("somebody else moved gitbot/ledger first")
        return append(*arguments)

    stage.store.append = racing  # type: ignore[method-assign, assignment]
    assert hold(stage.shell, reason="stop", by="ann").in_ledger
    assert apply(stage.shell).stop


def test_a_pass_that_is_asked_to_end_early_proposes_nothing() -> None:
    story = Story.begin(db=RULE)
    result = reconcile(replace(story.shell, interrupted=lambda: True), pack=write_snapshot)
    assert result.applied.interrupted
    assert result.snapshot_published
    assert story.forge.list_pulls() == ()
    assert reconcile(story.shell, pack=write_snapshot).proposed.concerns


def test_a_long_pass_publishes_the_snapshot_before_it_grows_old() -> None:
    story = Story.begin(db=RULE)
    reconcile(story.shell, pack=write_snapshot)
    opens = story.port.now() + 3000
    window = format_instant(opens)
    story.commit(
        jump=f"{REQUEST}  notBefore: {window!r}\n  deadline: {format_instant(opens + 3600)!r}\n"
    )
    reconcile(story.shell, pack=write_snapshot)
    story.merge(2)
    ages: list[int] = []

    def look() -> bool:
        head = story.repository.resolve(snapshot_branch(story.name))
        if head is not None:
            ages.append(story.port.now() - story.repository.commit(head).time)
        return False

    shell = replace(story.shell, interrupted=look)
    result = reconcile(shell, pack=write_snapshot, wait_for_opening=3600)
    assert result.applied.states["succeeded"] == 1
    assert len(ages) > 50
    assert max(ages) < 1800


@pytest.fixture
def moving() -> Stage:
    """Somebody's migration of a VM is there, and stays in its phase."""
    stage = a_stage(opens_in=0)
    stage.cluster.stuck = {"one"}
    stage.cluster.foreign("one", "c")
    return stage


def test_a_migration_that_only_waits_is_no_progress(moving: Stage) -> None:
    wait_for_progress(moving.shell, {}, ends_at=NOW + 3600)
    assert moving.clock.present == NOW + LOOK_ANYWAY


@pytest.mark.parametrize("phase", ["Scheduling", "Running", "Succeeded"])
def test_a_migration_that_gets_on_is_progress(moving: Stage, phase: str) -> None:
    (migration,) = moving.cluster.migrations.values()
    seen = stages(moving.cluster.list_migrations())
    migration["status"]["phase"] = phase
    wait_for_progress(moving.shell, seen, ends_at=NOW + 3600)
    assert moving.clock.present == NOW + POLL


def test_phases_of_its_preparation_are_one_stage(moving: Stage) -> None:
    (migration,) = moving.cluster.migrations.values()
    found: list[str] = []
    for phase in ("", "Pending", "Scheduling", "TargetReady", "Running", "Failed"):
        migration["status"]["phase"] = phase
        found += stages(moving.cluster.list_migrations()).values()
    assert found == ["", "", "prepared", "prepared", "Running", "Failed"]


def test_a_migration_that_goes_is_progress(moving: Stage) -> None:
    seen = stages(moving.cluster.list_migrations())
    moving.cluster.migrations.clear()
    wait_for_progress(moving.shell, seen, ends_at=NOW + 3600)
    assert moving.clock.present == NOW + POLL


def test_without_the_base_branch_there_is_nothing_to_wait_for() -> None:
    stage = a_stage(opens_in=0)
    del stage.repository.branches["main"]
    with pytest.raises(RepositoryError, match="there is no branch main"):
        base_head(stage.shell)
