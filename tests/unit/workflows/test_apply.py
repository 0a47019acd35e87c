"""One pass of apply, from an approved plan to Succeeded migrations."""

from dataclasses import replace

import pytest

from gitbot import gitbot_version
from gitbot.errors import ConflictError, ForgeError, RepositoryError
from gitbot.execution.claims import FENCE, TOO_LATE
from gitbot.execution.executor_types import Maintenance, Terms
from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.model.ledger.events import ConcernChanged, ConcernState, KnownEvent, MoveChanged
from gitbot.model.ledger.ledger import Ledger, concern_file
from gitbot.model.ledger.request_id import OccurrenceId, RequestId
from gitbot.model.plan.plan import Move, PlacementPlan
from gitbot.model.plan.problem import PlacementProblem
from gitbot.model.text.instants import Interval
from gitbot.ports.forge import CheckState
from gitbot.published.ledger_lines import verify
from gitbot.settings import ClusterSettings, Settings
from gitbot.workflows.apply import apply, cancel, note_cancelled
from gitbot.workflows.apply.waiting import POLL
from gitbot.workflows.ask import write_dashboard
from gitbot.workflows.core.stop_conditions import MAX_SKEW
from gitbot.workflows.ledger.writer import LOST_RACES
from tests.doubles.ledger import last_move, moves_of
from tests.doubles.moves import a_move
from tests.doubles.stage import Stage, TinyBase, a_plan
from tests.doubles.tiny_cluster import NOW, no_trouble


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
    said = [line.removeprefix("db/one: a -> c ") for line in stage.lines]
    assert said == ["approved", "created", "running", "succeeded"]
    ledger = stage.store.read()
    assert not verify(ledger.events)
    claims = [event.claim for event in ledger.events if isinstance(event, MoveChanged)]
    assert [claim.version for claim in claims if claim is not None] == [gitbot_version()]
    last = last_move(ledger)
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


def test_a_pass_without_anything_to_write_reads_the_ledger_once(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads: list[Ledger] = []
    read = stage.store.read

    def counted() -> Ledger:
        reads.append(read())
        return reads[-1]

    monkeypatch.setattr(stage.store, "read", counted)
    assert apply(stage.shell).did_nothing
    assert len(reads) == 1, "the first look decides on the ledger that began the pass"


def test_the_status_of_the_pull_request_follows_and_tells_the_outcome(stage: Stage) -> None:
    stage.approve(a_plan(a_move("one", "a", "c")))
    head = stage.forge.get_pull(1).merged_head
    seen: set[str] = set()
    stage.clock.listeners.append(
        lambda: seen.update(item.description for item in stage.forge.list_statuses(head))
    )
    apply(stage.shell)
    assert seen == {"request/db/one running"}
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


TOGETHER = (a_move("one", "a", "c"), a_move("two", "a", "c", number=2, wave=1))


def no_room_for_both(problem: PlacementProblem, plan: PlacementPlan) -> str:
    return "no room" if len(plan.moves) == len(TOGETHER) else ""


def test_a_plan_that_does_not_hold_as_a_whole_is_proposed_again(stage: Stage) -> None:
    stage.base = replace(stage.base, refuse=no_room_for_both)
    stage.approve(a_plan(*TOGETHER))
    result = apply(stage.shell)
    assert [item.reasons for item in result.stale] == [("no room",)]
    assert stage.cluster.creates() == []


def opens_in(stage: Stage, seconds: int, *moves: Move) -> None:
    stage.base.terms_by_request["request/db/one"] = Terms(
        allowed=(Interval(start=NOW + seconds, end=NOW + seconds + 3600),)
    )
    stage.approve(a_plan(*(moves or TOGETHER[:1])))


def test_a_plan_is_judged_again_at_its_opening(stage: Stage) -> None:
    def refuse(problem: PlacementProblem, plan: PlacementPlan) -> str:
        return no_room_for_both(problem, plan) if stage.clock.present >= NOW + 600 else ""

    stage.base = replace(stage.base, refuse=refuse)
    opens_in(stage, 900, *TOGETHER)
    result = apply(stage.shell, wait_for_opening=1200)
    assert [item.reasons for item in result.stale] == [("no room",)]


def test_what_runs_is_watched_while_something_else_waits_for_its_opening(stage: Stage) -> None:
    opens_in(stage, 900)
    two = a_move("two", "a", "c", request=RequestId.read("request/db/two"))
    stage.approve(a_plan(two), branch="two")
    assert apply(stage.shell, wait_for_opening=1200).states == {"succeeded": 2}
    ended = [event.time for event in stage.store.read().events if event.state == "succeeded"]
    assert ended[0] < NOW + 60 < NOW + 900 < ended[1]


def test_a_pass_waits_for_no_opening_unless_it_is_told_to(stage: Stage) -> None:
    opens_in(stage, 1)
    assert not apply(stage.shell).unfinished
    assert (stage.states(), stage.clock.present) == (["1 approved"], NOW)


def test_a_plan_that_has_begun_well_is_not_judged_again_between_its_waves(stage: Stage) -> None:
    """What holds as a whole may not hold half-way."""

    def refuse(problem: PlacementProblem, plan: PlacementPlan) -> str:
        del problem
        return "half-way" if len(plan.moves) == 2 else ""

    stage.base = replace(stage.base, refuse=refuse)
    stage.approve(a_plan(*TOGETHER, a_move("three", "b", "c", number=3, wave=2)))
    result = apply(stage.shell)
    assert (result.states, result.stale) == ({"succeeded": 3}, ())


def test_a_pass_ends_after_an_hour(stage: Stage) -> None:
    opens_in(stage, 4000)
    assert apply(stage.shell, wait_for_opening=5000).unfinished
    assert stage.clock.present == NOW + 3600


@pytest.mark.parametrize(("runtime", "refused"), [(59, 0), (60, 1)])
def test_a_pass_asks_the_forge_again_after_a_minute(
    stage: Stage, runtime: int, refused: int
) -> None:
    """Since the last answer, the base branch may ask for more reviews."""
    stage.cluster.stuck = {"one"}
    stage.approve(a_plan(a_move("one", "a", "c")))
    stage.clock.listeners.append(lambda: stage.forge.require_reviews(1))
    assert len(apply(stage.shell, max_runtime=runtime).refused) == refused


@pytest.mark.parametrize(("state", "refused"), [(ConcernState.AUTO, 1), (ConcernState.OPENED, 0)])
def test_a_pass_asks_the_forge_at_once_when_gitbot_approved_something(
    stage: Stage, state: ConcernState, refused: int
) -> None:
    stage.cluster.stuck = {"one"}
    stage.approve(a_plan(a_move("one", "a", "c")))

    def another_run() -> None:
        if stage.clock.present == NOW + 20:
            stage.forge.require_reviews(1)
            event = ConcernChanged(
                file=concern_file("prod", "c"), time=NOW + 20, cluster="prod", state=state
            )
            stage.store.append(stage.store.read(), (event,), {})

    stage.clock.listeners.append(another_run)
    assert len(apply(stage.shell, max_runtime=50).refused) == refused


def test_a_pass_follows_the_base_branch(stage: Stage) -> None:
    opens_in(stage, 900)

    def merged() -> None:
        if stage.clock.present == NOW + 600:
            two = a_move("two", "a", "c", request=RequestId.read("request/db/two"))
            stage.approve(a_plan(two), branch="two")

    stage.clock.listeners.append(merged)
    result = apply(stage.shell, max_runtime=800, wait_for_opening=1200)
    assert result.base == stage.repository.resolve("main")
    assert result.states == {"succeeded": 1}


@pytest.mark.parametrize(("ends", "shown"), [(False, "two"), (True, "one")])
def test_a_pass_that_did_nothing_reports_unless_it_was_asked_to_end(
    stage: Stage, *, ends: bool, shown: str
) -> None:
    stage.approve(a_plan(a_move("one", "a", "c")))
    stage.cluster.flag = "one"
    apply(stage.shell, on_report=write_dashboard)
    stage.cluster.flag = "two"
    again = replace(stage.shell, interrupted=lambda: ends)
    assert apply(again, on_report=write_dashboard).did_nothing
    (dashboard,) = stage.forge.issues
    assert f"**Stopped**: {shown}" in dashboard.body


def test_a_pass_that_is_asked_to_end_while_it_looks_announces_nothing(stage: Stage) -> None:
    stage.approve(a_plan(a_move("one", "a", "c")))
    asked: list[ClusterSnapshot] = []
    shell = replace(stage.shell, interrupted=lambda: bool(asked))
    assert apply(shell, on_look=asked.append).did_nothing


@pytest.mark.parametrize("state", ["running", "stopped"])
def test_busy_pass_decides_on_new_snapshots_only(stage: Stage, state: str) -> None:
    stage.approve(a_plan(a_move("one", "a", "c")))
    stage.cluster.stuck.add("one")
    stage.cluster.flag = "lunch" if state == "stopped" else None
    apply(stage.shell, max_runtime=0)
    assert stage.states()[-1] == ("1 approved" if state == "stopped" else "1 created")
    known, looks = stage.cluster.snapshot(), list[ClusterSnapshot]()
    apply(stage.shell, max_runtime=0, known=known, on_look=looks.append)
    assert len(looks) == 1
    assert looks[0] is not known


def test_idle_pass_needs_no_new_snapshot(stage: Stage) -> None:
    known, looks = stage.cluster.snapshot(), list[ClusterSnapshot]()
    apply(stage.shell, known=known, on_look=looks.append)
    assert looks == [known]


def test_a_pass_that_is_asked_to_end_sends_and_reports_nothing_more(stage: Stage) -> None:
    stage.approve(a_plan(a_move("one", "a", "c")))
    told: list[int] = []
    stage.store.after_append = lambda events: told.append(len(events))
    apply(replace(stage.shell, interrupted=lambda: bool(told)))
    assert stage.cluster.creates() == []
    assert stage.forge.list_statuses(stage.forge.get_pull(1).merged_head) == ()


DRAIN = OccurrenceId(window="firmware", id="o1")


def drain(stage: Stage) -> None:
    """Empty b and then a; one node at a time."""
    request = DRAIN.drain
    terms = Maintenance(occurrence=DRAIN, nodes=("b", "a"), cordon=True)
    stage.base.terms_by_request[request] = Terms(maintenance=terms)
    del stage.cluster.instances["three"]
    stage.approve(a_plan(a_move("one", "a", "c", request=request)))


def test_a_pass_looks_again_soon_after_it_changed_only_nodes(stage: Stage) -> None:
    drain(stage)
    result = apply(stage.shell)
    assert [(done.node, done.did) for done in result.nodes] == [
        ("b", "draining"),
        ("b", "cordoned"),
        ("b", "ready"),
    ]
    assert stage.clock.present == NOW + POLL


def test_what_is_due_for_nodes_is_not_done_late(stage: Stage) -> None:
    """The line before it may be an hour old: the next look decides."""
    drain(stage)
    counted = [0.0]

    def late(_: tuple[KnownEvent, ...]) -> None:
        counted[0] += FENCE.send

    stage.store.after_append = late
    apply(replace(stage.shell, seconds=lambda: counted[0]))
    assert stage.lines.index(TOO_LATE) < stage.lines.index("b cordoned")


def test_a_node_is_not_cordoned_on_a_ledger_that_somebody_wrote_to_since(stage: Stage) -> None:
    drain(stage)

    def trouble(verb: str, _: str) -> None:
        if verb == "set-anchor":
            stage.cluster.trouble = no_trouble
            note_cancelled(stage.shell, request=DRAIN.drain, reason="", by="ann")

    stage.cluster.trouble = trouble
    result = apply(stage.shell)
    assert [(done.node, done.did) for done in result.nodes] == [
        ("b", "draining"),
        ("b", "returned"),
    ]
    assert stage.cluster.calls == []


def test_once_the_mode_is_observe_a_node_is_not_given_back(stage: Stage) -> None:
    drain(stage)
    apply(stage.shell)
    observing = Settings(clusters=(ClusterSettings(name="prod"),), mode="Observe")
    stage.base = replace(stage.base, revision=replace(stage.base.revision, settings=observing))
    note_cancelled(stage.shell, request=DRAIN.drain, reason="", by="ann")
    before = list(stage.cluster.calls)
    apply(stage.shell)
    assert stage.cluster.calls == before


def test_what_the_server_stored_otherwise_is_deleted_at_once(stage: Stage) -> None:
    deleted: list[int] = []

    def trouble(verb: str, name: str) -> None:
        if verb == "created":
            stage.cluster.migrations[name]["spec"]["addedNodeSelector"] = {}
        if verb == "delete":
            deleted.append(stage.clock.now())

    stage.cluster.trouble = trouble
    stage.approve(a_plan(a_move("one", "a", "c")))
    apply(stage.shell)
    assert deleted == [NOW]
    assert stage.cluster.where()["one"] == "a"


def test_what_changed_since_the_look_is_not_moved_and_told(stage: Stage) -> None:
    def trouble(verb: str, _: str) -> None:
        if verb == "created":
            stage.cluster.instances["three"]["status"]["nodeName"] = "a"

    stage.cluster.trouble = trouble
    stage.approve(a_plan(a_move("one", "a", "c"), a_move("three", "b", "c", number=2)))
    apply(stage.shell)
    assert "db/three is not moved: the VM left b for a" in stage.lines
    sources = [
        event.source
        for event in moves_of(stage.store.read(), "requests/prod/request/db/one.jsonl")
        if event.move == 2
    ]
    assert sources[0] == "b"
    assert sources[-1] == "a", "a later look decided again"


def test_in_mode_observe_nothing_starts(stage: Stage) -> None:
    stage.base = TinyBase.of(Settings(clusters=(ClusterSettings(name="prod"),), mode="Observe"))
    stage.approve(a_plan(a_move("one", "a", "c")))
    assert apply(stage.shell).stop == "mode Observe applies nothing"
    assert stage.cluster.creates() == []


@pytest.mark.parametrize(("skew", "moves"), [(MAX_SKEW, 1), (MAX_SKEW + 1, 0)])
@pytest.mark.parametrize("whose", ["forge", "cluster"])
def test_nothing_starts_while_a_clock_is_further_away_than_the_fence_allows(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, whose: str, skew: int, moves: int
) -> None:
    stage.approve(a_plan(a_move("one", "a", "c")))
    if whose == "forge":
        stage.forge.clock_skew = -skew
    else:
        monkeypatch.setattr(stage.cluster, "server_time", lambda: stage.clock.now() + skew)
    result = apply(stage.shell)
    assert len(stage.cluster.creates()) == moves
    assert (f"{skew} s away from ours" in result.stop) is not bool(moves)


def test_a_slow_answer_hides_no_clock_that_is_behind(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server is 40 s ahead; what it says takes 15 s to arrive."""
    stage.approve(a_plan(a_move("one", "a", "c")))

    def late() -> int:
        there = stage.clock.now() + 40
        stage.clock.sleep(15)
        return there

    monkeypatch.setattr(stage.cluster, "server_time", late)
    assert "40 s away from ours" in apply(stage.shell).stop
    assert stage.cluster.creates() == []


def test_a_merge_that_approves_nothing_has_a_failed_check(stage: Stage) -> None:
    stage.approve(a_plan(a_move("one", "a", "c")))
    stage.forge.require_reviews(1)
    (refused,) = apply(stage.shell).refused
    (status,) = stage.forge.list_statuses(stage.forge.get_pull(1).merged_head)
    assert (status.state, status.description) == (CheckState.FAILURE, refused.reason)


def test_a_forge_that_takes_no_status_stops_no_move_and_is_told(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> bool:
        raise ForgeError("the forge is down")

    monkeypatch.setattr(stage.forge, "set_check", refuse)
    stage.approve(a_plan(a_move("one", "a", "c")))
    assert apply(stage.shell).states == {"succeeded": 1}
    assert "progress is not written to the forge: the forge is down" in stage.lines


def rewrite(stage: Stage) -> None:
    files = dict(stage.repository.read_tree("main"))
    root = stage.repository.add_commit(files, parents=(), message="anew", time=NOW)
    stage.repository.branches["main"] = root


def test_nothing_starts_on_a_rewritten_base_but_what_runs_can_be_cancelled(stage: Stage) -> None:
    stage.cluster.stuck = {"one"}
    stage.approve(a_plan(a_move("one", "a", "c")))
    apply(stage.shell, max_runtime=7)
    rewrite(stage)
    with pytest.raises(RepositoryError, match="somebody rewrote it"):
        apply(stage.shell, max_runtime=7)
    stage.cluster.flag = "and everything is held"
    cancel(stage.shell, request="request/db/one", reason="", by="ann")
    assert stage.cluster.migrations == {}


def test_a_cancel_on_a_rewritten_base_ends_nothing_else(stage: Stage) -> None:
    stage.cluster.stuck = {"one", "two"}
    stage.approve(a_plan(a_move("one", "a", "c")))
    two = a_move("two", "a", "c", request=RequestId.read("request/db/two"))
    stage.approve(a_plan(two), branch="two")
    apply(stage.shell, max_runtime=7)
    whole = stage.repository.branches["main"]
    rewrite(stage)
    note_cancelled(stage.shell, request="request/db/one", reason="", by="ann")
    assert apply(stage.shell, max_runtime=7, start=False).states == {"withdrawn": 1}
    stage.repository.branches["main"] = whole
    stage.cluster.stuck = set()
    apply(stage.shell)
    assert stage.states("request/db/two")[-1] == "1 succeeded"


def test_what_runs_is_cancelled_also_if_the_base_is_rewritten_in_mid_pass(stage: Stage) -> None:
    stage.cluster.stuck = {"one"}
    stage.approve(a_plan(a_move("one", "a", "c")))
    apply(stage.shell, max_runtime=7)

    def trouble(verb: str, _: str) -> None:
        if verb == "set-anchor":
            stage.cluster.trouble = no_trouble
            rewrite(stage)

    stage.cluster.trouble = trouble
    cancel(stage.shell, request="request/db/one", reason="", by="ann")
    assert stage.cluster.trouble is no_trouble
    assert stage.cluster.migrations == {}


def test_a_base_that_is_rewritten_in_mid_pass_ends_it(stage: Stage) -> None:
    opens_in(stage, 900)
    stage.clock.listeners.append(
        lambda: rewrite(stage) if stage.clock.present == NOW + 60 else None
    )
    with pytest.raises(RepositoryError, match="somebody rewrote it"):
        apply(stage.shell, wait_for_opening=1200)


@pytest.mark.parametrize("more", [0, 1])
def test_a_pass_that_loses_race_after_race_gives_up(stage: Stage, more: int) -> None:
    stage.approve(a_plan(a_move("one", "a", "c")))
    lost: list[int] = []

    def race(_: tuple[KnownEvent, ...]) -> None:
        if len(lost) < LOST_RACES + more:
            lost.append(stage.clock.now())
            raise ConflictError("somebody else moved gitbot/ledger first")

    stage.store.before_append = race
    if more:
        with pytest.raises(ConflictError):
            apply(stage.shell)
    else:
        assert apply(stage.shell).states == {"succeeded": 1}
