"""The stop flag, cancelling one request, the circuit breaker's way back."""

from collections.abc import Callable, Mapping

import pytest

from gitbot.errors import ClusterError, ClusterForbidden, GitbotError, UsageError
from gitbot.execution.ledger_folds import stop_flag
from gitbot.model.ledger.events import (
    KnownEvent,
    NodeChanged,
    NodeFacts,
    NodeState,
    RequestCancelled,
)
from gitbot.model.ledger.ledger import Ledger, node_file
from gitbot.model.ledger.request_id import OccurrenceId, RequestId
from gitbot.workflows.apply import (
    apply,
    cancel,
    hold,
    hold_cluster,
    note_cancelled,
    resume,
    resume_ledger,
    returned,
)
from gitbot.workflows.ask import status
from tests.doubles.moves import a_move
from tests.doubles.stage import Stage, a_plan

VMS = {"one": "a", "two": "b", "three": "a", "four": "b"}


@pytest.fixture
def stage() -> Stage:
    stage = Stage.of(nodes={"a": "east", "b": "east", "c": "west"}, vms=VMS)
    stage.approve(a_plan(a_move("one", "a", "c"), a_move("two", "b", "c", number=2, wave=1)))
    return stage


def test_hold_stops_and_resume_goes_on(stage: Stage) -> None:
    hold(stage.shell, reason="smoke", by="ann")
    result = apply(stage.shell)
    assert (result.created, result.stop) == (0, "smoke")
    resume(stage.shell, reason="", by="ann")
    assert apply(stage.shell).states == {"succeeded": 2}


def test_resume_knows_whether_anything_was_stopped(stage: Stage) -> None:
    assert not resume(stage.shell, reason="", by="ann")
    stage.cluster.flag = ""
    before = stage.store.appends
    assert resume(stage.shell, reason="", by="ann")
    assert stage.store.appends == before, "the ledger had no flag"
    hold(stage.shell, reason="smoke", by="ann")
    assert resume(stage.shell, reason="", by="ann")


def test_resume_needs_a_name(stage: Stage) -> None:
    hold(stage.shell, reason="smoke", by="ann")
    with pytest.raises(UsageError, match="resume needs a name"):
        resume(stage.shell, reason="", by="")
    assert apply(stage.shell).stop == "smoke"


def test_a_comment_that_resumes_what_is_not_stopped_writes_nothing(stage: Stage) -> None:
    before = stage.store.appends
    assert not resume_ledger(stage.shell, reason="", by="ann", said_at=stage.clock.now() + 1)
    assert stage.store.appends == before


@pytest.mark.parametrize("where", ["ledger", "cluster"])
def test_either_flag_alone_suffices(stage: Stage, where: str) -> None:
    hold(stage.shell, reason="smoke", by="ann")
    if where == "ledger":
        stage.cluster.flag = None
    else:
        stage.store.ledger = type(stage.store.ledger)()
        stage.approve(a_plan(a_move("one", "a", "c")), branch="again")
    assert apply(stage.shell).created == 0


def test_a_flag_that_cannot_be_read_is_set(stage: Stage) -> None:
    def trouble(verb: str, what: str) -> None:
        if verb == "flag":
            raise ClusterError("connection refused")

    stage.cluster.trouble = trouble
    result = apply(stage.shell)
    assert result.created == 0
    assert result.stop == "the stop flag cannot be read: connection refused"


def test_the_flag_is_read_before_every_effect(stage: Stage) -> None:
    def trouble(verb: str, what: str) -> None:
        if verb == "created":
            stage.cluster.flag = "enough"

    stage.store.ledger = type(stage.store.ledger)()
    both = a_plan(a_move("one", "a", "c"), a_move("two", "b", "c", number=2))
    stage.approve(both, branch="both")
    stage.cluster.trouble = trouble
    assert apply(stage.shell).created == 1
    assert len(stage.cluster.creates()) == 1
    assert "stopped: enough" in stage.lines
    stage.cluster.flag = None
    stage.cluster.trouble = lambda verb, what: None  # noqa: ARG005
    apply(stage.shell)
    assert len(stage.cluster.creates()) == 2


def test_running_migrations_are_deleted_and_named_on_request(stage: Stage) -> None:
    stage.cluster.stuck = {"one"}
    apply(stage.shell, max_runtime=7)
    stage.cluster.foreign("two", "a")
    result = hold(stage.shell, reason="smoke", by="ann", cancel_running=True)
    assert len(result.deleted) == 1
    assert [item["spec"]["vmiName"] for item in stage.cluster.list_migrations()] == ["two"]


def test_migrations_of_another_gitbot_are_left_alone(stage: Stage) -> None:
    """The label is the same, but this ledger has not announced them."""
    stage.cluster.stuck = {"one", "two"}
    apply(stage.shell, max_runtime=7)
    ours = set(stage.cluster.migrations)
    stage.cluster.foreign("two", "a")
    (theirs,) = set(stage.cluster.migrations) - ours
    stage.cluster.migrations[theirs]["metadata"]["labels"] = {
        "app.kubernetes.io/managed-by": "gitbot"
    }
    result = hold(stage.shell, reason="smoke", by="ann", cancel_running=True)
    assert {name.partition("/")[2] for name in result.deleted} == ours
    assert set(stage.cluster.migrations) == {theirs}


def test_what_a_ledger_that_went_back_has_forgotten_is_cancelled_too(stage: Stage) -> None:
    """It names this ledger; only this gitbot can have made it."""
    stage.cluster.stuck = {"one"}
    apply(stage.shell, max_runtime=7)
    (ours,) = stage.cluster.creates()
    ledger = stage.store.read()
    stage.store.ledger = ledger.replace(events=ledger.events[:1], head="back")
    result = hold(stage.shell, reason="smoke", by="ann", cancel_running=True)
    assert result.deleted == (f"db/{ours}",)
    assert stage.cluster.migrations == {}


def test_without_the_ledger_the_label_tells_what_is_cancelled(stage: Stage) -> None:
    """What ended stays, and so does what nobody labelled as gitbot's."""
    stage.cluster.stuck = {"two"}
    apply(stage.shell, max_runtime=30)
    stage.cluster.foreign("three", "b")
    ended, recalled = stage.cluster.creates()
    (foreign,) = stage.cluster.migrations.keys() - {ended, recalled}
    result = hold_cluster(
        lambda: stage.cluster, unreached="no Git", reason="smoke", by="ann", cancel_running=True
    )
    assert result.deleted == (f"db/{recalled}",)
    assert stage.cluster.migrations.keys() == {ended, foreign}


def test_a_flag_in_the_cluster_alone_cancels_nothing_by_itself(stage: Stage) -> None:
    stage.cluster.stuck = {"two"}
    apply(stage.shell, max_runtime=30)
    before = stage.cluster.migrations.keys() | set()
    result = hold_cluster(
        lambda: stage.cluster, unreached="no Git", reason="smoke", by="ann", cancel_running=False
    )
    assert result.deleted == ()
    assert stage.cluster.migrations.keys() == before


def test_what_copies_already_is_named_apart(stage: Stage) -> None:
    stage.cluster.seconds = 600
    apply(stage.shell, max_runtime=30)
    (copying,) = stage.cluster.creates()
    result = hold(stage.shell, reason="smoke", by="ann", cancel_running=True)
    assert (result.deleted, result.past_recall) == ((), (f"db/{copying}",))


def test_a_flag_that_can_be_set_nowhere_is_an_error(stage: Stage) -> None:
    def refuse(*_: object) -> None:
        raise ClusterError("no")

    stage.cluster.set_hold_flag = refuse  # type: ignore[assignment]
    stage.store.before_append = refuse
    with pytest.raises(GitbotError, match="the stop flag is set nowhere"):
        hold(stage.shell, reason="smoke", by="ann")


def test_cancel_ends_one_request_for_ever(stage: Stage) -> None:
    stage.cluster.stuck = {"one"}
    apply(stage.shell, max_runtime=7)
    result = cancel(stage.shell, request="request/db/one", reason="wrong rack", by="ann")
    assert str(result.record.state) == "withdrawn"
    assert stage.cluster.list_migrations() == ()
    assert stage.states()[-2:] == ["2 withdrawn", "1 withdrawn"]
    assert apply(stage.shell).did_nothing
    with pytest.raises(UsageError, match="is finished: cancelled"):
        cancel(stage.shell, request="request/db/one", reason="", by="ann")


def test_a_request_that_has_succeeded_is_not_cancelled(stage: Stage) -> None:
    apply(stage.shell)
    with pytest.raises(UsageError, match="is finished: succeeded"):
        note_cancelled(stage.shell, request="request/db/one", reason="", by="ann")


@pytest.mark.parametrize(("reason", "written"), [("wrong rack", "wrong rack (ann)"), ("", "ann")])
def test_what_is_only_approved_yet_can_be_cancelled(
    stage: Stage, reason: str, written: str
) -> None:
    note_cancelled(stage.shell, request="request/db/one", reason=reason, by="ann")
    event = stage.store.read().events[-1]
    assert isinstance(event, RequestCancelled)
    assert event.reason == written
    apply(stage.shell)
    assert stage.cluster.creates() == []


def test_cancelling_again_writes_nothing_new(stage: Stage) -> None:
    stage.cluster.stuck = {"one"}
    apply(stage.shell, max_runtime=7)
    note_cancelled(stage.shell, request="request/db/one", reason="", by="ann")
    before = stage.store.appends
    note_cancelled(stage.shell, request="request/db/one", reason="", by="bob")
    assert stage.store.appends == before


def test_cancel_starts_nothing_and_names_only_its_own_past_recall(stage: Stage) -> None:
    stage.cluster.stuck = {"two"}
    stage.cluster.seconds = 600
    stage.store.ledger = Ledger()
    other = a_move("three", "a", "b", request=RequestId.read("request/db/other"))
    stage.approve(
        a_plan(a_move("one", "a", "c"), a_move("two", "b", "c", number=2), other), branch="both"
    )
    apply(stage.shell, max_runtime=30)
    phases = {
        item["spec"]["vmiName"]: item["status"]["phase"] for item in stage.cluster.list_migrations()
    }
    assert phases == {"one": "Running", "two": "Pending", "three": "Running"}
    later = a_move("four", "b", "a", request=RequestId.read("request/db/later"))
    stage.approve(a_plan(later), branch="later")
    result = cancel(stage.shell, request="request/db/one", reason="", by="ann")
    assert len(stage.cluster.creates()) == 3
    (mine,) = result.past_recall
    assert mine.startswith("db/gitbot-one-")


def test_cancel_names_what_the_ledger_knows(stage: Stage) -> None:
    apply(stage.shell, max_runtime=7)
    with pytest.raises(UsageError, match="unfinished: request/db/one"):
        cancel(stage.shell, request="drain/rack-7", reason="", by="ann")
    with pytest.raises(UsageError, match="did you mean request/db/one"):
        cancel(stage.shell, request="request/db/two", reason="", by="ann")


def test_a_node_that_nobody_waits_for_cannot_return(stage: Stage) -> None:
    with pytest.raises(UsageError, match="no maintenance has a in state ready"):
        returned(stage.shell, node="a", by="ann")


def test_a_node_returns_once_from_the_window_that_has_it(stage: Stage) -> None:
    for window, node, state in (
        ("disks", "rack-2", NodeState.READY),
        ("firmware", "rack-1", NodeState.DRAINING),
        ("kernel", "rack-1", NodeState.READY),
        ("kernel", "rack-1", NodeState.RETURNED),
    ):
        away = OccurrenceId(window=window, id="o1")
        event = NodeChanged(
            file=node_file("prod", away),
            time=stage.clock.now(),
            cluster="prod",
            state=state,
            request=away.drain,
            facts=NodeFacts(node=node),
        )
        stage.store.append(stage.store.read(), (event,), {})
    assert str(returned(stage.shell, node="rack-1", by="ann")) == "firmware/o1"
    with pytest.raises(UsageError, match="no maintenance has rack-1 in state ready") as caught:
        returned(stage.shell, node="rack-1", by="ann")
    assert caught.value.hint == "did you mean rack-2?"
    assert str(returned(stage.shell, node="rack-2", by="ann")) == "disks/o1"
    with pytest.raises(UsageError) as caught:
        returned(stage.shell, node="rack-2", by="ann")
    assert caught.value.hint == "`gitbot status` lists the nodes and their states"


def test_status_tells_what_to_type_next(stage: Stage) -> None:
    hold(stage.shell, reason="smoke", by="ann")
    apply(stage.shell)
    (request,) = status(stage.shell).requests
    assert request.next_command == "gitbot resume"
    assert [move.waits for move in request.moves] == ["stopped: smoke"] * 2


def race(monkeypatch: pytest.MonkeyPatch, stage: Stage, rival: Callable[[], object]) -> None:
    """Somebody else writes the ledger just before the next write."""
    append = stage.store.append

    def late(
        ledger: Ledger, events: tuple[KnownEvent, ...], plans: Mapping[str, bytes | None]
    ) -> Ledger:
        monkeypatch.undo()
        rival()
        return append(ledger, events, plans)

    monkeypatch.setattr(stage.store, "append", late)


def test_a_flag_set_while_somebody_resumes_stays(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    hold(stage.shell, reason="one", by="ann")
    stage.clock.sleep(5)
    said_at = stage.clock.now()
    stage.clock.sleep(5)
    race(monkeypatch, stage, lambda: hold(stage.shell, reason="two", by="bob"))
    with pytest.raises(UsageError, match=r"set again at .*: two"):
        resume_ledger(stage.shell, reason="", by="ann", said_at=said_at)
    assert stop_flag(stage.store.read(), "prod")


@pytest.mark.parametrize("later", [5, 1, 0])
def test_a_flag_set_anew_is_not_taken_away_by_an_earlier_word(stage: Stage, later: int) -> None:
    """Nor by one of the same second: nobody knows which came first."""
    hold(stage.shell, reason="one", by="ann")
    stage.clock.sleep(5)
    said_at = stage.clock.now()
    stage.clock.sleep(later)
    hold(stage.shell, reason="two", by="bob")
    with pytest.raises(UsageError, match="set again"):
        resume_ledger(stage.shell, reason="", by="ann", said_at=said_at)
    assert resume_ledger(stage.shell, reason="", by="ann", said_at=stage.clock.now() + 1)


def test_while_the_clocks_do_not_agree_a_comment_resumes_nothing(stage: Stage) -> None:
    hold(stage.shell, reason="one", by="ann")
    stage.forge.clock_skew = 45
    with pytest.raises(UsageError, match="45 s away from ours"):
        resume_ledger(stage.shell, reason="", by="ann", said_at=stage.clock.now() + 45)
    assert stop_flag(stage.store.read(), "prod")
    resume(stage.shell, reason="", by="ann")
    assert not stop_flag(stage.store.read(), "prod")


def test_a_pass_that_writes_does_not_keep_a_cancellation_from_being_written(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage.cluster.stuck = {"one"}
    apply(stage.shell, max_runtime=7)
    race(monkeypatch, stage, lambda: hold(stage.shell, reason="other", by="bob"))
    note_cancelled(stage.shell, request="request/db/one", reason="", by="ann")
    assert any(entry.state == "cancelled" for entry in stage.store.read().events)


def no_right_to_the_flag(verb: str, _: str) -> None:
    if verb == "set-flag":
        raise ClusterForbidden("not allowed to delete configmaps", hint="grant it")


def test_resume_undoes_a_hold_with_the_rights_that_made_it(stage: Stage) -> None:
    """The account may not write the cluster's flag: it set the ledger's alone."""
    stage.cluster.trouble = no_right_to_the_flag
    assert not hold(stage.shell, reason="smoke", by="ann").in_cluster
    assert resume(stage.shell, reason="over", by="ann")
    assert apply(stage.shell).states == {"succeeded": 2}


def test_resume_says_what_others_set_and_who_may_take_it_back(stage: Stage) -> None:
    hold(stage.shell, reason="smoke", by="ann")
    stage.cluster.flag = "fire (bob)"
    stage.cluster.trouble = no_right_to_the_flag
    with pytest.raises(GitbotError, match=r"remains: fire \(bob\) .*40-holder.yaml") as caught:
        resume(stage.shell, reason="over", by="ann")
    assert caught.value.exit_code == 2
    assert stop_flag(stage.store.read(), "prod") == "", "its own part is undone"
    assert apply(stage.shell).stop == "fire (bob)"
