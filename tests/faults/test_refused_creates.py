"""Creates that the server refuses, announced moves that cannot start any more, and proofs."""

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from gitbot.errors import (
    ClusterError,
    ClusterForbidden,
    ClusterRefused,
    ConflictError,
    OutcomeUnknown,
)
from gitbot.execution.executor_types import Terms
from gitbot.execution.start_waits import LONGEST_BACK_OFF
from gitbot.kubernetes.objects import KubernetesObject
from gitbot.model.ledger.request_id import RequestId
from gitbot.model.plan.problem import Freeze
from gitbot.model.text.instants import Interval
from gitbot.model.text.names import IntentRef
from gitbot.workflows.apply import apply
from gitbot.workflows.apply.held_claims import MOST_UNANSWERED
from gitbot.workflows.ledger.writer import Journal
from tests.doubles.moves import a_move
from tests.doubles.stage import Stage, a_plan
from tests.faults.test_crashes import Killed
from tests.unit.execution.scene import World, migration, move

REQUEST = "request/db/one"
LATER = 200


def a_stage(**vms: str) -> Stage:
    stage = Stage.of(
        nodes={"a": "east", "b": "east", "c": "west"}, vms={"one": "a", "two": "b", **vms}
    )
    stage.approve(a_plan(a_move("one", "a", "c")))
    return stage


def refuse(stage: Stage, code: int, times: int, message: str = "") -> None:
    left = [times]

    def trouble(verb: str, name: str) -> None:
        if verb == "create" and left[0]:
            left[0] -= 1
            text = message or f"answer {code} for {name}"
            raise ClusterRefused(text, code=code, reason="Unknown")

    stage.cluster.trouble = trouble


QUOTA = 'migrations "x" is forbidden: '


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (404, ""),
        (409, ""),
        (410, ""),
        (429, ""),
        (403, f"{QUOTA}exceeded quota: q, requested: count/x=1, used: count/x=5, limited: 5"),
        (403, f"{QUOTA}status unknown for quota: q, resources: count/x"),
    ],
)
def test_a_refusal_that_may_pass_does_not_end_the_request(code: int, message: str) -> None:
    stage = a_stage()
    refuse(stage, code, 2, message)
    first = apply(stage.shell)
    assert not first.unfinished, "the pass ends"
    assert stage.states(REQUEST)[-1] == "1 waiting"
    stage.clock.sleep(LATER)
    apply(stage.shell)
    stage.clock.sleep(LATER)
    assert apply(stage.shell).states == {"succeeded": 1}
    assert len(stage.cluster.creates()) == 1


@pytest.mark.parametrize(
    ("code", "message"),
    [
        *((code, "") for code in (400, 403, 405, 413, 422)),
        (400, "the VM in-flight is of no use"),
    ],
)
def test_a_refusal_of_the_request_itself_ends_it(code: int, message: str) -> None:
    stage = a_stage()
    refuse(stage, code, 1, message)
    assert apply(stage.shell).states == {"failed": 1}
    assert apply(stage.shell).did_nothing


def lose_right(stage: Stage) -> None:
    def trouble(verb: str, _: str) -> None:
        if verb == "create":
            raise ClusterForbidden("no right to create")

    stage.cluster.trouble = trouble


@pytest.mark.parametrize("lose", [lose_right, lambda stage: refuse(stage, 429, 1_000)])
def test_refusal_that_lasts_hours_writes_few_lines(lose: Callable[[Stage], None]) -> None:
    stage, hours = a_stage(), 8
    lose(stage)
    ends, tries, before = stage.clock.now() + hours * 3600, [], len(stage.states(REQUEST))
    while stage.clock.now() < ends:
        apply(stage.shell)
        if len(stage.states(REQUEST)) > before:
            tries.append(stage.clock.now())
            before = len(stage.states(REQUEST))
        stage.clock.sleep(60)
    pauses = [after - first for first, after in pairwise(tries)]
    assert pauses == sorted(pauses), "they grow"
    assert max(pauses) < LONGEST_BACK_OFF + 120, "up to a bound"
    assert len(stage.states(REQUEST)) <= 1 + 2 * 4 * hours
    stage.cluster.trouble = lambda *_: None
    stage.clock.sleep(LONGEST_BACK_OFF)
    assert apply(stage.shell).states == {"succeeded": 1}
    assert stage.cluster.creates() == [effect_name()]


def test_pass_ends_when_only_a_missing_right_is_left() -> None:
    stage = a_stage()
    lose_right(stage)
    began = stage.clock.now()
    result = apply(stage.shell, wait_for_opening=1200)
    assert not result.unfinished
    assert stage.clock.now() - began < 60
    assert stage.states(REQUEST) == ["1 approved", "1 intended", "1 waiting"]


def effect_name() -> str:
    """The name that the first attempt has."""
    stage = a_stage()
    apply(stage.shell)
    return stage.cluster.creates()[0]


@pytest.mark.parametrize("phase", ["Pending", "Succeeded"])
def test_somebody_elses_migration_under_our_name_is_waited_for(phase: str) -> None:
    name = effect_name()
    stage = a_stage()
    foreign = stage.cluster._store(name, "two", {}, {})
    stage.cluster.stuck.add("two")
    foreign["status"]["phase"] = phase
    assert not apply(stage.shell).unfinished
    assert "failed" not in " ".join(stage.states(REQUEST))
    assert stage.cluster.where() == {"one": "a", "two": "b"}
    stage.clock.sleep(LATER)
    del stage.cluster.migrations[name]
    assert apply(stage.shell).states == {"succeeded": 1}


def killed_before_its_create() -> Stage:
    stage = a_stage()

    def die(verb: str, _: str) -> None:
        if verb == "create":
            stage.cluster.trouble = lambda *_: None
            raise Killed

    stage.cluster.trouble = die
    with pytest.raises(Killed):
        apply(stage.shell)
    assert stage.states(REQUEST)[-1] == "1 intended"
    return stage


def target_refused(stage: Stage) -> None:
    stage.base = replace(stage.base, refuse=lambda _, plan: "c is full" if plan.moves else "")


def held(stage: Stage) -> None:
    stage.cluster.flag = "smoke"


def closed(stage: Stage) -> None:
    later = stage.clock.now() + 86_400
    terms = Terms(allowed=(Interval(start=later, end=later + 600),))
    stage.base.terms_by_request[REQUEST] = terms


@pytest.mark.parametrize("change", [target_refused, held, closed])
def test_what_was_announced_and_cannot_start_is_resolved_in_one_pass(
    change: Callable[[Stage], None],
) -> None:
    """Killed before the create; then its target is full, everything is held, or it is too late."""
    stage = killed_before_its_create()
    change(stage)
    began = stage.clock.now()
    result = apply(stage.shell)
    assert not result.unfinished
    assert result.in_flight == 0
    assert stage.clock.now() - began < 600
    assert stage.states(REQUEST)[-1] in ("1 waiting", "1 held")
    assert apply(stage.shell).did_nothing


def test_a_server_that_never_answers_does_not_keep_a_pass() -> None:
    stage, asked = a_stage(), []

    def lose(verb: str, name: str) -> None:
        if verb == "create":
            asked.append(name)
            raise OutcomeUnknown(f"{name}: answer 500: failed calling webhook")

    stage.cluster.trouble = lose
    first = apply(stage.shell)
    assert not first.unfinished
    assert (len(asked), len(set(asked))) == (MOST_UNANSWERED, 1)
    assert [item.reason for item in first.waiting] == [
        "the API server answers no request for its migration"
    ]
    assert sum("failed calling webhook" in line for line in stage.lines) == MOST_UNANSWERED
    stage.cluster.trouble = lambda *_: None
    assert apply(stage.shell).states == {"succeeded": 1}
    assert stage.cluster.creates() == asked[:1]


def test_an_attempt_that_was_put_off_keeps_its_name() -> None:
    stage = killed_before_its_create()
    held(stage)
    apply(stage.shell)
    stage.cluster.flag = None
    assert apply(stage.shell).states == {"succeeded": 1}
    assert stage.cluster.creates() == [effect_name()]


def created(world: World) -> None:
    world.approve(move("one", "a", "c"))
    world.step()
    world.run("Running")
    assert world.step() == ["1 running"]


@pytest.mark.parametrize("uid", ["m-of-gitbot", "of-somebody"])
def test_succeeded_needs_the_uid_of_our_own_migration(uid: str) -> None:
    """Its VMIM is collected, and the VM is where it should be: who moved it?"""
    world = World.of("a", "b", "c", one="a")
    created(world)
    ours = world.event("running").migration_uid
    world.migrations.clear()
    done = ours if uid == "m-of-gitbot" else uid
    world.vms["one"]["status"] |= {
        "nodeName": "c",
        "migrationState": {"migrationUid": done, "completed": True},
    }
    state = "succeeded" if uid == "m-of-gitbot" else "obsolete"
    assert world.step() == [f"1 {state}"]


def test_a_migration_that_was_made_again_under_our_name_is_not_ours() -> None:
    world = World.of("a", "b", "c", one="a")
    created(world)
    ((name, _),) = world.migrations.items()
    world.migrations[name] = migration(name, "one", "Succeeded", uid="copied by a person")
    world.vms["one"]["status"]["nodeName"] = "c"
    assert world.step() == ["1 obsolete"]


def test_a_freeze_recalls_a_migration_that_has_not_begun() -> None:
    world = World.of("a", "b", "c", one="a")
    world.approve(move("one", "a", "c"))
    world.step()
    world.run("Pending")
    freeze = Freeze(
        intent=IntentRef(kind="FreezeWindow", namespace="", name="close"),
        reason="quarter",
        times=(Interval(start=world.now, end=world.now + 60),),
        vms=frozenset({move("one", "a", "c").vm.namespaced_name}),
    )
    world.problem["freezes"] = (freeze,)
    world.step()
    assert world.effects == ["delete"]


def test_a_server_that_stores_another_spec_is_stopped_at_once() -> None:
    stage = a_stage()
    real = stage.cluster.create_migration

    def pruned(wanted: KubernetesObject, **named: Any) -> KubernetesObject:
        stored = dict(real(wanted, **named))
        stored["spec"] = {"vmiName": "one"}
        return stored

    stage.cluster.create_migration = pruned  # type: ignore[assignment,method-assign]
    assert apply(stage.shell).states == {"failed": 1}
    assert [verb for verb, _ in stage.cluster.calls] == ["create", "delete"]
    assert stage.cluster.migrations == {}
    assert stage.cluster.where()["one"] == "a"


@pytest.mark.parametrize(
    "error", [ClusterForbidden("no right to delete"), ClusterRefused("a webhook says no", code=403)]
)
def test_refused_withdrawal_stops_no_other_move(error: ClusterError) -> None:
    stage = a_stage()
    stage.cluster.stuck.add("one")

    def trouble(verb: str, _: str) -> None:
        if verb == "delete":
            raise error

    stage.cluster.trouble = trouble
    apply(stage.shell, max_runtime=400)
    other = a_move("two", "b", "c", request=RequestId.read("request/db/two"))
    stage.approve(a_plan(other), branch="two")
    result = apply(stage.shell, max_runtime=400)
    assert f"cannot be withdrawn: {error}" in str(result.not_allowed)
    assert stage.cluster.where() == {"one": "a", "two": "c"}


def test_a_lost_race_keeps_no_outcome_that_was_not_written() -> None:
    stage = a_stage()
    journal, other = (Journal(stage.store, stage.clock) for _ in range(2))
    journal.read()
    event = next(item for item in stage.store.read().events)
    journal.note(event)  # type: ignore[arg-type]
    other.read()
    other.commit((event,))  # type: ignore[arg-type]
    with pytest.raises(ConflictError):
        journal.commit((event,))  # type: ignore[arg-type]
    before = len(stage.store.read().events)
    journal.read()
    journal.commit(())
    assert len(stage.store.read().events) == before
