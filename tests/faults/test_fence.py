"""Requests that arrive late, claims that others hold, and what may be said and done meanwhile."""

import copy
from collections.abc import Callable
from dataclasses import replace

import pytest

from gitbot.errors import ClusterError, OutcomeUnknown
from gitbot.execution import next_steps as deciding
from gitbot.execution import observe as observing
from gitbot.execution.claims import FENCE
from gitbot.kubernetes.names import NamespacedName
from gitbot.kubernetes.objects import KubernetesObject, name_of
from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.model.ledger.events import FINAL_STATES, Claim, KnownEvent, MoveChanged, MoveState
from gitbot.model.plan.problem import ALWAYS, Freeze, Limits
from gitbot.model.text.names import IntentRef
from gitbot.ports.cluster import Gate, no_gate
from gitbot.workflows.apply import apply, cancel
from tests.doubles.ledger import moves_of
from tests.doubles.moves import a_move
from tests.doubles.stage import Stage, a_plan
from tests.doubles.tiny_cluster import TinyCluster, copied
from tests.faults.test_crashes import Killed

REQUEST = "request/db/one"
FILE = f"requests/prod/{REQUEST}.jsonl"
SETTLED = FENCE.settles_at(FENCE.send)


class SlowWire(TinyCluster):
    """The first create is answered by nothing and arrives `seconds` later; 0: never."""

    seconds_away = 0
    on_its_way: KubernetesObject | None = None
    sent = 0

    def create_migration(
        self, migration: KubernetesObject, *, dry_run: bool = False, gate: Gate = no_gate
    ) -> KubernetesObject:
        if self.sent:
            return super().create_migration(migration, dry_run=dry_run, gate=gate)
        assert not gate()
        self.sent = self.clock.present
        if self.seconds_away:
            self.on_its_way = copy.deepcopy(migration)
            self.clock.listeners.append(self.arrive)
        raise OutcomeUnknown("the answer was lost")

    def get_migration(self, name: NamespacedName) -> KubernetesObject | None:
        self.trouble("get", name.name)
        return super().get_migration(name)

    def get_instance(self, name: NamespacedName) -> KubernetesObject | None:
        found = super().get_instance(name)
        self.trouble("got", name.name)
        return found

    def arrive(self) -> None:
        if self.on_its_way is not None and self.clock.present - self.sent >= self.seconds_away:
            arrived, self.on_its_way = self.on_its_way, None
            assert name_of(arrived).name not in self.migrations
            super().create_migration(arrived)


def a_stage(*, seconds_away: int) -> Stage:
    stage = Stage.of(nodes={"a": "east", "c": "west"}, vms={"one": "a"})
    tiny = stage.cluster
    wire = SlowWire(stage.clock, nodes={}, vms={})
    wire.nodes, wire.instances = tiny.nodes, tiny.instances
    wire.seconds_away = seconds_away
    stage.clock.listeners.remove(tiny.tick)
    stage.cluster = wire
    stage.approve(a_plan(a_move("one", "a", "c")))
    return stage


def finals(stage: Stage) -> list[tuple[int, str]]:
    """When each final state was written."""
    known = moves_of(stage.store.read(), FILE)
    return [(event.time, str(event.state)) for event in known if event.state in FINAL_STATES]


def when_announced(stage: Stage, action: Callable[[], object]) -> None:
    """Do something once, right after the effect stands in the ledger as intended."""

    def point(events: tuple[KnownEvent, ...]) -> None:
        if any(isinstance(item, MoveChanged) and item.claim for item in events):
            stage.store.after_append = lambda _: None
            action()

    stage.store.after_append = point


def cancelled_while_on_its_way(stage: Stage) -> str:
    """One pass sends and is killed; then a person cancels. The state that `cancel` answers."""

    def die(verb: str, name: str) -> None:
        if verb == "get" and name.startswith("gitbot-"):
            stage.cluster.trouble = lambda *_: None
            raise Killed

    stage.cluster.trouble = die
    with pytest.raises(Killed):
        apply(stage.shell)
    assert stage.cluster.creates() == []
    return cancel(stage.shell, request=REQUEST, reason="no", by="ann").record.state


@pytest.mark.parametrize("seconds", [1, 30, 59])
def test_cancel_says_withdrawn_only_when_nothing_can_come_any_more(seconds: int) -> None:
    stage = a_stage(seconds_away=seconds)
    began = stage.clock.now()
    assert cancelled_while_on_its_way(stage) == "withdrawn"
    assert len(stage.cluster.creates()) == 1
    assert stage.cluster.calls[-1][0] == "delete"
    (end,) = finals(stage)
    assert end[1] == "withdrawn"
    assert end[0] >= began + seconds
    stage.clock.sleep(600)
    assert stage.cluster.where() == {"one": "a"}


def test_cancel_waits_for_what_never_comes_and_no_longer() -> None:
    stage = a_stage(seconds_away=0)
    began = stage.clock.now()
    assert cancelled_while_on_its_way(stage) == "withdrawn"
    assert began + SETTLED <= finals(stage)[0][0] < began + SETTLED + 60
    assert stage.cluster.creates() == []


def test_cancel_answers_cancelling_while_it_does_not_know() -> None:
    stage = a_stage(seconds_away=0)
    stage.cluster.trouble = lambda verb, _: (
        stage.clock.sleep(40) if verb == "snapshot" and stage.cluster.sent else None  # type: ignore[attr-defined]
    )
    shell = stage.shell
    object.__setattr__(shell, "interrupted", lambda: bool(stage.cluster.sent))  # type: ignore[attr-defined]
    apply(shell)
    result = cancel(shell, request=REQUEST, reason="no", by="ann")
    assert result.record.state == "cancelling"
    assert finals(stage) == []


def test_the_same_schedule_goes_wrong_without_the_fence(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted bug: a final state is written while the request may still arrive."""
    monkeypatch.setattr(observing, "is_free", lambda *_: True)
    monkeypatch.setattr(deciding, "claim_expires_at", lambda _: 0)
    stage = a_stage(seconds_away=59)
    assert cancelled_while_on_its_way(stage) == "withdrawn"
    assert stage.cluster.creates() == []
    stage.clock.sleep(600)
    assert len(stage.cluster.creates()) == 1  # after the end


@pytest.mark.parametrize("seconds", [0, 20, 59])
def test_another_executor_adopts_only_when_nothing_can_come_any_more(seconds: int) -> None:
    stage = a_stage(seconds_away=seconds)
    began = stage.clock.now()

    def die() -> None:
        raise Killed

    when_announced(stage, die)
    with pytest.raises(Killed):
        apply(stage.shell)
    result = apply(stage.shell)  # the first wire never sent: it was killed before
    assert not result.unfinished
    assert [claim.epoch for claim in claims(stage)][:2] == [1, 2]
    assert stage.cluster.sent >= began + SETTLED  # type: ignore[attr-defined]
    stage.clock.sleep(300)
    apply(stage.shell)
    assert len(stage.cluster.creates()) == 1
    assert stage.cluster.where() == {"one": "c"}


def claims(stage: Stage) -> list[Claim]:
    known = moves_of(stage.store.read(), FILE)
    return [event.claim for event in known if isinstance(event, MoveChanged) and event.claim]


def test_nobody_ends_what_another_executor_may_still_create() -> None:
    stage = Stage.of(nodes={"a": "east", "c": "west"}, vms={"one": "a"})
    stage.approve(a_plan(a_move("one", "a", "c")))
    seen: list[tuple[int, str]] = []

    def restart() -> None:
        stage.cluster.instances["one"]["metadata"]["uid"] = "uid-again"
        apply(stage.shell, max_runtime=100)
        seen.extend(finals(stage))
        apply(stage.shell, max_runtime=100)

    when_announced(stage, restart)
    apply(stage.shell)
    assert seen == []
    assert [state for _, state in finals(stage)] == ["obsolete"]
    assert stage.cluster.creates() == []


def test_an_executor_that_wakes_up_late_sends_nothing() -> None:
    """It was stopped right before the request, after its last look."""
    stage = a_stage(seconds_away=0)
    stage.cluster.sent = stage.clock.now()  # type: ignore[attr-defined] # the wire is good

    def sleep(verb: str, name: str) -> None:
        if verb == "got":
            stage.cluster.trouble = lambda *_: None
            stage.clock.sleep(FENCE.send)

    stage.cluster.trouble = sleep
    apply(stage.shell)
    assert stage.cluster.where() == {"one": "c"}
    assert len(stage.cluster.creates()) == 1
    assert [claim.epoch for claim in claims(stage)] == [1, 2]


def test_a_wall_clock_that_steps_back_does_not_make_a_claim_longer() -> None:
    stage = Stage.of(nodes={"a": "east", "c": "west"}, vms={"one": "a"})
    stage.approve(a_plan(a_move("one", "a", "c")))
    counted = [0.0]

    def late() -> None:
        counted[0] += FENCE.send

    when_announced(stage, late)
    shell = stage.shell
    object.__setattr__(shell, "seconds", lambda: counted[0])
    apply(shell)
    assert [claim.epoch for claim in claims(stage)] == [1, 2]
    assert len(stage.cluster.creates()) == 1


def test_a_run_that_is_told_to_end_gives_its_claims_back() -> None:
    stage = Stage.of(nodes={"a": "east", "c": "west"}, vms={"one": "a"})
    stage.approve(a_plan(a_move("one", "a", "c")))
    told: list[bool] = []
    when_announced(stage, lambda: told.append(True))
    shell = stage.shell
    object.__setattr__(shell, "interrupted", lambda: bool(told))
    apply(shell)
    began = stage.clock.now()
    apply(stage.shell)
    assert stage.cluster.where() == {"one": "c"}
    assert stage.clock.now() - began < FENCE.send


def test_the_server_says_when_a_claim_is_over() -> None:
    """Our clock is 29 s ahead of the server's: adopting waits for the server."""
    stage = Stage.of(nodes={"a": "east", "c": "west"}, vms={"one": "a"})
    stage.approve(a_plan(a_move("one", "a", "c")))

    def die() -> None:
        raise Killed

    when_announced(stage, die)
    began = stage.clock.now()
    with pytest.raises(Killed):
        apply(stage.shell)
    behind = stage.clock
    stage.cluster.server_time = lambda: behind.present - 29  # type: ignore[method-assign]
    apply(stage.shell)
    created = next(item for item in moves_of(stage.store.read(), FILE) if item.state == "created")
    assert created.time >= began + SETTLED + 29


def test_a_claim_without_answer_is_used_once() -> None:
    """The lost request is not repeated under its claim; the next claim comes after its time."""
    stage = a_stage(seconds_away=0)
    began = stage.clock.now()
    apply(stage.shell)
    states = [event.state for event in moves_of(stage.store.read(), FILE)]
    assert states.count(MoveState.INTENDED) == 2
    created = next(item for item in moves_of(stage.store.read(), FILE) if item.state == "created")
    assert created.time >= began + SETTLED
    assert stage.cluster.where() == {"one": "c"}


def test_what_takes_its_name_meanwhile_does_not_end_what_may_still_come() -> None:
    """The answer is lost; asked by name, the server shows somebody else's, which then goes."""
    stage = a_stage(seconds_away=50)
    wire = stage.cluster
    taken: list[str] = []

    def take(verb: str, name: str) -> None:
        if verb == "get" and name.startswith("gitbot-") and not taken:
            taken.append(name)
            wire._store(name, "two", {}, {})

    wire.trouble, wire.stuck = take, {"two"}
    wire.instances["two"] = copied(wire.instances["one"])
    apply(stage.shell, max_runtime=10)
    del wire.migrations[taken[0]]
    assert cancel(stage.shell, request=REQUEST, reason="no", by="ann").record.state == "withdrawn"
    stage.clock.sleep(SETTLED)
    assert stage.cluster.where()["one"] == "a"


def test_a_server_that_cannot_be_asked_by_name_ends_nothing() -> None:
    stage = a_stage(seconds_away=0)
    apply(stage.shell, max_runtime=60)
    stage.clock.sleep(SETTLED)

    def silent(verb: str, name: str) -> None:
        if verb == "get" and name.startswith("gitbot-"):
            raise ClusterError("no answer")

    stage.cluster.trouble = silent
    assert cancel(stage.shell, request=REQUEST, reason="no", by="ann").not_read == "no answer"
    assert finals(stage) == []


def test_a_freeze_that_is_merged_after_the_announcement_stops_it() -> None:
    stage = Stage.of(nodes={"a": "east", "c": "west"}, vms={"one": "a"})
    freezes: list[Freeze] = []
    stage.base = replace(
        stage.base, adjust=lambda problem: replace(problem, freezes=tuple(freezes))
    )
    stage.approve(a_plan(a_move("one", "a", "c")))

    def merge() -> None:
        stage.repository.write_commit(
            branch="main",
            expected=stage.repository.resolve("main"),
            files={"README": b"2"},
            message="freeze",
            time=stage.clock.now(),
        )
        quarter = IntentRef(kind="FreezeWindow", namespace="", name="quarter")
        one = frozenset({NamespacedName(namespace="db", name="one")})
        freezes.append(Freeze(intent=quarter, vms=one, times=ALWAYS, reason="books"))

    when_announced(stage, merge)
    apply(stage.shell)
    assert stage.cluster.creates() == []
    assert stage.states()[-1] in ("1 waiting", "1 expired")


@pytest.mark.parametrize("stands_still", ["process", "machine"])
def test_an_executor_that_stood_still_since_its_look_looks_again(stands_still: str) -> None:
    """Meanwhile somebody else's migration has taken the only slot."""
    stage = Stage.of(nodes={"a": "east", "c": "west"}, vms={"one": "a", "two": "a"})
    stage.base = replace(stage.base, limits=Limits(parallel=1, reserve=0))
    stage.approve(a_plan(a_move("one", "a", "c")))
    stage.cluster.seconds, counted = 10_000, [0.0]

    def stand_still(_: ClusterSnapshot) -> None:
        if stage.cluster.migrations:
            return
        stage.cluster.foreign("two", "c")
        stage.cluster.tick()  # it runs from now on
        if stands_still == "machine":  # its counter stands still, too
            stage.clock.present += 400
        else:
            counted[0] += 400

    shell = stage.shell
    object.__setattr__(shell, "seconds", lambda: counted[0])
    apply(shell, max_runtime=600, on_look=stand_still)
    assert stage.cluster.creates() == []
