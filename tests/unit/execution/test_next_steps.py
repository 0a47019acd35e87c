"""The executor's brain, one look at a time."""

from typing import Any

import pytest

from gitbot.execution.claims import FENCE
from gitbot.execution.executor_types import BreakerLimits, OutdatedGroup, Steps
from gitbot.kubernetes.names import NamespacedName
from gitbot.model.ledger.request_id import RequestId
from gitbot.model.plan.plan import Move, MoveRef
from gitbot.model.plan.problem import Freeze, Limits
from gitbot.model.text.instants import Interval
from gitbot.model.text.names import IntentRef
from tests.doubles.tiny_objects import tiny_instance as instance
from tests.unit.execution.scene import NOW, World, migration, move


@pytest.fixture
def world() -> World:
    return World.of("a", "b", "c", one="a", two="a", three="b")


def until(seconds: int) -> dict[str, Any]:
    return {"allowed": (Interval(start=NOW - 3600, end=NOW + seconds),)}


# The straight way


def test_from_approved_to_succeeded(world: World) -> None:
    world.approve(move("one", "a", "c"))
    assert world.step() == ["1 approved", "1 intended"]
    assert world.effects == ["create one"]
    world.run("Pending")
    assert world.step() == ["1 created"]
    world.set_phase("one", "Running")
    assert world.step() == ["1 running"]
    world.now += 42
    world.land("one", "c")
    assert world.step() == ["1 succeeded"]
    last = world.event("succeeded")
    assert (last.landed, last.seconds, last.attempt) == ("c", 42, 1)
    assert world.step() == []
    assert world.effects == []


def test_nothing_approved_is_nothing_to_do(world: World) -> None:
    assert world.step() == []
    assert world.last == Steps()


def test_the_same_view_gives_the_same_steps(world: World) -> None:
    world.approve(move("one", "a", "c"), move("three", "b", "c", 2))
    world.step()
    first = world.last
    world.ledger = World.of().ledger
    world.step()
    assert world.last == first


# Endings without a migration


@pytest.mark.parametrize(
    ("name", "change", "state", "reason"),
    [
        ("gone", lambda w: w.vms.pop("one"), "obsolete", "the VM is gone"),
        (
            "restarted",
            lambda w: w.vms["one"]["metadata"].update(uid="new"),
            "obsolete",
            "the VM was restarted since the plan was made",
        ),
        (
            "already there",
            lambda w: w.vms.update(one=instance("one", "c")),
            "obsolete",
            "the VM is on c already",
        ),
    ],
)
def test_moot_moves_end_as_obsolete(
    world: World, name: str, change: Any, state: str, reason: str
) -> None:
    world.approve(move("one", "a", "c"))
    change(world)
    assert world.step() == ["1 approved", f"1 {state}"], name
    assert world.event(state).reason == reason
    assert world.effects == []


def test_a_request_follows_its_vm_to_another_node(world: World) -> None:
    world.approve(move("one", "a", "c"))
    world.vms["one"] = instance("one", "b")
    assert world.step() == ["1 approved", "1 intended"]
    assert world.event("intended").source == "b"


def test_a_healing_does_not(world: World) -> None:
    world.approve(
        move("one", "a", "c", request=RequestId.read("heal/db/ZoneAntiAffinity/x")),
        request=RequestId.read("heal/db/ZoneAntiAffinity/x/0"),
    )
    world.vms["one"] = instance("one", "b")
    assert world.step() == ["1 approved", "1 obsolete"]


def test_what_could_not_start_in_time_is_expired(world: World) -> None:
    world.approve(move("one", "a", "c"), **until(29))
    assert world.step() == ["1 approved", "1 expired"]


def test_the_estimate_must_fit(world: World) -> None:
    world.approve(move("one", "a", "c"), **until(30))
    assert world.step() == ["1 approved", "1 intended"]


def test_a_void_request_is_withdrawn(world: World) -> None:
    world.approve(move("one", "a", "c"))
    world.refused = "c"
    world.step()
    world.approved.clear()
    world.approve(move("one", "a", "c"), void="its intent was removed")
    assert world.step() == ["1 withdrawn"]


def test_what_is_void_before_it_is_known_is_never_known(world: World) -> None:
    world.approve(move("one", "a", "c"), void="its intent was removed")
    assert world.step() == []


# What waits


def test_a_closed_window_waits_for_its_opening(world: World) -> None:
    world.approve(move("one", "a", "c"), allowed=(Interval(start=NOW + 60, end=NOW + 600),))
    assert world.step() == ["1 approved"]
    (waiting,) = world.last.waiting
    assert (waiting.until, waiting.retry) == (NOW + 60, False)


@pytest.mark.parametrize(
    "request_id",
    [
        "request/db/one",
        "drain/fw/o1",
        "return/fw/o1",
        "heal/db/ZoneAntiAffinity/apart/0123456789ab",
    ],
)
def test_freeze_wins_over_the_window(world: World, request_id: str) -> None:
    freeze = Freeze(
        intent=IntentRef(kind="FreezeWindow", namespace="", name="quarter"),
        vms=frozenset({NamespacedName(namespace="db", name="one")}),
        times=(Interval(start=NOW - 10, end=NOW + 100),),
    )
    world.problem["freezes"] = (freeze,)
    moves = (move("one", "a", "c"), move("two", "a", "c", 2))
    world.approve(*moves, request=request_id)
    assert world.step() == ["1 approved", "2 approved", "2 intended"]
    assert [item.until for item in world.last.waiting] == [NOW + 100]
    assert world.waits == {1: "frozen by FreezeWindow quarter"}


def test_the_stop_flag_stops_everything(world: World) -> None:
    world.approve(move("one", "a", "c"))
    world.view["stop"] = "lunch"
    assert world.step() == ["1 approved"]
    assert world.waits == {1: "stopped: lunch"}
    assert world.effects == []


def test_what_a_policy_denies_is_held_and_the_rest_starts(world: World) -> None:
    world.approve(move("one", "a", "c"), move("two", "a", "c", 2, group="two"))
    denied = OutdatedGroup(
        request=world.approved[0].id, group="one", reasons=("policy/lunch: not now",)
    )
    world.view["denied"] = (denied,)
    assert world.step() == ["1 approved", "2 approved", "1 held", "2 intended"]
    assert world.event("held").reason == "policy/lunch: not now"


def test_the_stop_flag_stops_what_was_announced(world: World) -> None:
    world.approve(move("one", "a", "c"))
    assert world.step() == ["1 approved", "1 intended"]
    world.now = FENCE.settles_at(world.event("intended").claim.until)
    world.view["stop"] = "lunch"
    assert world.step() == ["1 waiting"]
    assert (world.event("waiting").reason, world.effects) == ("stopped: lunch", [])


def test_a_move_waits_for_the_moves_that_it_names_and_for_no_wave(world: World) -> None:
    first = MoveRef(request=RequestId.read("request/db/one"), id=1)
    world.approve(
        move("one", "a", "c"),
        move("two", "a", "c", 2, wave=1, after=()),
        move("three", "b", "c", 3, wave=1, after=(first,)),
    )
    world.step()
    assert world.effects == ["create one", "create two"]
    assert world.waits == {3: "move 1, which it waits for, is not over"}


def test_a_move_waits_for_moves_of_other_requests_of_its_plan(world: World) -> None:
    first = MoveRef(request=RequestId.read("request/db/one"), id=1)
    fields: dict[str, Any] = {
        "request": RequestId.read("request/db/two"),
        "after": (first,),
        "group": "other",
    }
    world.approve(move("one", "a", "c"))
    world.approve(
        move("three", "b", "c", 1, wave=1, **fields), request=RequestId.read("request/db/two")
    )
    world.step()
    assert world.effects == ["create one"]
    assert "move 1 of request/db/one, which it waits for, is not over" in str(world.last.waiting)


def test_waves_keep_their_order(world: World) -> None:
    world.approve(move("one", "a", "c"), move("three", "b", "c", 2, wave=1))
    world.step()
    assert world.effects == ["create one"]
    assert world.waits == {2: "move 1 of an earlier wave is not over"}
    world.run("Running")
    world.land("one", "c")
    assert world.step() == ["1 succeeded", "2 intended"]


@pytest.mark.parametrize(
    ("limits", "started"),
    [
        (Limits(), ["one", "two", "three"]),
        (Limits(parallel=3, reserve=1), ["one", "two"]),
        (Limits(per_source_node=1), ["one", "three"]),
        (Limits(per_target_node=1), ["one"]),
        (Limits(per_zone=2), ["one", "two"]),
    ],
)
def test_limits_cap_what_starts(world: World, limits: Limits, started: list[str]) -> None:
    world.problem["limits"] = Limits(
        parallel=limits.parallel,
        reserve=limits.reserve,
        per_source_node=limits.per_source_node,
        per_target_node=limits.per_target_node if limits.per_target_node != 2 else 9,
        per_zone=limits.per_zone,
    )
    world.approve(move("one", "a", "c"), move("two", "a", "c", 2), move("three", "b", "c", 3))
    world.step()
    assert world.effects == [f"create {name}" for name in started]


def test_migrations_of_others_take_slots(world: World) -> None:
    world.problem["limits"] = Limits(parallel=2, reserve=1)
    world.migrations["evac"] = migration("evac", "three", "Scheduling", own=False)
    world.approve(move("one", "a", "c"))
    assert world.step() == ["1 approved"]
    kept = "1 of 2 is kept free for others"
    assert world.waits == {1: f"1 migration runs, gitbot starts at most 1 at once ({kept})"}


def test_a_vm_that_somebody_migrates_is_waited_for(world: World) -> None:
    world.migrations["evac"] = migration("evac", "one", "Running", own=False)
    world.approve(move("one", "a", "c"))
    assert world.step() == ["1 approved"]
    assert world.waits == {1: "another migration of the VM is running: evac"}
    assert world.last.waiting[0].retry


# The law


def test_a_group_that_breaks_the_law_is_held_and_the_other_goes_on(world: World) -> None:
    world.approve(move("one", "a", "c"), move("three", "b", "a", 2, group="other"))
    world.refused = "c"
    assert world.step() == ["1 approved", "2 approved", "1 held", "2 intended"]
    assert [(item.group, item.reasons) for item in world.last.stale] == [("one", ("c is full",))]


def test_a_held_group_runs_when_the_law_is_kept_again(world: World) -> None:
    world.approve(move("one", "a", "c"))
    world.refused = "c"
    world.step()
    assert world.step() == []
    world.refused = ""
    assert world.step() == ["1 intended"]


def test_a_newer_plan_takes_the_place_of_what_has_not_started(world: World) -> None:
    world.approve(move("one", "a", "c"))
    world.refused = "c"
    world.step()
    world.approve(move("one", "a", "b", 2), digest="sha256:1", concern="request-db-one")
    assert world.step() == ["1 withdrawn", "2 approved", "2 intended"]


# Exactly once


def finished(world: World) -> None:
    world.approve(move("one", "a", "c"))
    world.step()
    world.run("Running")
    world.land("one", "c")
    world.step()


@pytest.mark.parametrize(
    ("name", "again", "concern"),
    [
        ("the same plan", move("one", "a", "c"), ""),
        ("the same number in another plan", move("one", "c", "a"), "request-db-one"),
        ("another plan of a person", move("one", "c", "a", 2), ""),
    ],
)
def test_a_finished_request_never_fires_again(
    world: World, name: str, again: Move, concern: str
) -> None:
    finished(world)
    world.migrations.clear()  # KubeVirt's garbage collection
    world.vms["one"] = instance("one", "a")
    world.approve(again, digest="sha256:1", concern=concern)
    assert world.step() == [], name
    assert world.effects == []


def test_a_later_proposal_of_the_bot_adds_to_it(world: World) -> None:
    finished(world)
    world.approve(move("two", "a", "c", 2), digest="sha256:1", concern="rest-0")
    assert world.step() == ["2 approved", "2 intended"]


def test_two_merges_of_the_same_plan_are_one(world: World) -> None:
    world.approve(move("one", "a", "c"), consent="bob has not approved it")
    world.approve(move("one", "a", "c"))
    world.approve(move("one", "a", "c"), void="edited")
    assert world.step() == ["1 approved", "1 intended"]
    assert world.effects == ["create one"]
    world.run("Running")
    world.land("one", "c")
    assert world.step() == ["1 succeeded"]
    assert world.step() == []


# Half-way failure


def test_a_failed_move_stops_its_group_alone(world: World) -> None:
    world.approve(
        move("one", "a", "c"),
        move("two", "a", "c", 2, wave=1),
        move("three", "b", "c", 3, wave=1, group="other"),
    )
    world.step()
    world.run("Running")
    world.set_phase("one", "Failed", migrationState={"failureReason": "no route"})
    assert world.step() == ["1 failed", "2 withdrawn", "3 intended"]
    assert world.event("failed").reason == "no route"
    assert world.event("withdrawn").reason == "move 1 of its group failed: no route"


def test_attempts_are_counted_and_pause(world: World) -> None:
    world.approve(move("one", "a", "c"), attempts=2)
    world.step()
    first = world.event("intended").migration
    world.run("Running")
    world.set_phase("one", "Failed")
    assert world.step() == ["1 failed"]
    assert world.last.waiting[0].until == NOW + 60
    world.now += 60
    assert world.step() == ["1 intended"]
    assert world.event("intended").attempt == 2
    assert world.event("intended").migration != first


def test_a_second_attempt_has_its_own_time_to_begin(world: World) -> None:
    """Its creation was not recorded; what is known of the first one says nothing about it."""
    world.approve(move("one", "a", "c"), attempts=2)
    world.step()
    world.run("Pending")
    assert world.step() == ["1 created"]
    world.now += 400
    world.set_phase("one", "Failed")
    assert world.step() == ["1 failed"]
    world.now += 60
    assert world.step() == ["1 intended"]
    world.run("Pending")
    world.now += 5
    assert world.step() == ["1 created"]
    assert world.effects == []


def test_an_unexpected_landing_fails_and_opens_the_circuit(world: World) -> None:
    world.approve(move("one", "a", "c"), move("three", "b", "c", 2, wave=1, group="other"))
    world.step()
    world.run("Running")
    world.land("one", "b")
    assert world.step() == ["1 failed", "hold.jsonl set"]
    assert world.event("failed").outcome == "unexpected-landing"
    assert world.event("set").reason == (
        "circuit breaker: 1 VMs landed on nodes that nobody approved (limit 1)"
    )
    assert world.effects == []


def test_the_breaker_counts_failures_since_the_last_resume(world: World) -> None:
    world.view["breaker"] = BreakerLimits(failures=1)
    world.approve(move("one", "a", "c"), move("three", "b", "c", 2, wave=1, group="other"))
    world.step()
    world.run("Running")
    world.set_phase("one", "Failed")
    assert world.step() == ["1 failed", "hold.jsonl set"]
    world.view["stop"] = world.event("set").reason
    assert world.step() == []


def test_a_success_that_does_not_tell_where_yet_is_looked_at_again(world: World) -> None:
    world.approve(move("one", "a", "c"))
    world.step()
    world.run("Running")
    world.step()
    world.set_phase("one", "Succeeded")  # the VMI was read before, and still stands on a
    assert world.step() == []
    world.set_phase("one", "Succeeded", migrationState={"targetNode": "c"})
    assert world.step() == ["1 succeeded"]
    assert world.event("succeeded").landed == "c"


# VMIMs that are not there


def test_a_create_that_never_happened_is_made_under_the_same_name(world: World) -> None:
    world.approve(move("one", "a", "c"))
    world.step()
    name = world.event("intended").migration
    world.now += 149
    assert world.step() == []  # whoever announced it may still send it
    assert world.effects == []
    world.now += 1
    assert world.step() == ["1 intended"]
    assert world.effects == ["create one"]
    assert world.last.effects[0].event.migration == name  # type: ignore[union-attr]


def test_a_create_that_never_happened_ends_with_the_window(world: World) -> None:
    world.approve(move("one", "a", "c"), **until(60))
    world.step()
    world.now += 121  # it could be sent for 31 s only
    assert world.step() == ["1 expired"]
    assert world.event("expired").outcome == "never-created"


@pytest.mark.parametrize(
    ("name", "change", "line"),
    [
        ("collected, nobody knows who moved it", lambda w: w.land("one", "c"), "1 obsolete"),
        ("deleted by a person", lambda w: w.migrations.clear(), "1 withdrawn"),
        ("gone with its VM", lambda w: w.vms.pop("one"), "1 obsolete"),
    ],
)
def test_a_migration_that_vanished_is_never_made_again(
    world: World, name: str, change: Any, line: str
) -> None:
    world.approve(move("one", "a", "c"), attempts=3)
    world.step()
    world.run("Running")
    world.step()
    change(world)
    world.migrations.clear()
    assert world.step() == [line], name
    assert world.effects == []
    world.now += 3600
    assert world.step() == []


# Recall


@pytest.mark.parametrize(
    ("name", "seconds", "outcome", "state"),
    [
        ("near the end of the window", 50, "expiring", "expired"),
        ("after its own deadline", 3600, "overdue", "failed"),
    ],
)
def test_a_pending_migration_is_deleted(
    world: World, name: str, seconds: int, outcome: str, state: str
) -> None:
    world.approve(move("one", "a", "c"), **until(seconds))
    world.step()
    world.run("Pending")
    world.step()
    world.now += 40 if outcome == "expiring" else 301
    assert world.step() == ["1 created"], name
    assert world.event("created").outcome == outcome
    assert world.effects == ["delete"]
    assert world.step() == []
    assert world.effects == ["delete"]
    world.migrations.clear()
    assert world.step() == [f"1 {state}"]


def test_a_running_migration_is_never_deleted_for_the_clock(world: World) -> None:
    world.approve(move("one", "a", "c"), **until(50))
    world.step()
    world.run("Running")
    world.step()
    world.now += 3600
    assert world.step() == []
    assert world.effects == []


# Others


def test_foreign_moves_are_observed_once(world: World) -> None:
    world.migrations["evac"] = migration(
        "evac",
        "three",
        "Succeeded",
        own=False,
        migrationState={"sourceNode": "b", "targetNode": "c"},
    )
    assert world.step() == ["three.jsonl observed"]
    seen = world.event("observed")
    assert (seen.source, seen.landed, seen.vm) == ("b", "c", "db/three")
    assert seen.author == "a person or another tool"
    assert world.step() == []


def test_vms_that_somebody_moves_back_open_the_circuit(world: World) -> None:
    finished(world)
    for number in (1, 2):
        world.now += 10
        world.migrations[f"back{number}"] = migration(
            f"back{number}", "one", "Succeeded", own=False, migrationState={"targetNode": "a"}
        )
        lines = world.step()
    assert lines == ["one.jsonl observed", "hold.jsonl set"]


# What is judged, read again and told


LATER: dict[str, Any] = {"allowed": (Interval(start=NOW + 600, end=NOW + 6000),)}


def somebody_moves(world: World) -> None:
    world.migrations["evac"] = migration("evac", "three", "Running", own=False)


def another_may_create(world: World) -> None:
    world.approve(move("three", "b", "a"), request="request/db/two")
    world.step()
    assert world.effects == ["create three"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda _: None, ["1 held"]),
        (lambda w: w.view.update(judge_groups=False), []),
        (somebody_moves, []),
        (another_may_create, []),
    ],
)
def test_groups_that_wait_are_judged_while_nothing_moves(
    world: World, change: Any, said: list[str]
) -> None:
    """In the midst of moves the cluster is as no plan says."""
    change(world)
    world.refused = "c"
    world.approve(move("one", "a", "c"), **LATER)
    assert world.step() == ["1 approved", *said]


def test_what_is_read_again_by_name_and_since_when_it_cannot_come(world: World) -> None:
    world.approve(move("one", "a", "c"), move("three", "b", "c", 2))
    world.step()
    claim = world.event("intended").claim
    world.run("Running")
    del world.migrations[world.event("intended").migration.partition("/")[2]]
    world.step()
    assert not world.last.absent, "while it may come"
    world.migrations.clear()
    world.now = FENCE.settles_at(claim.until)
    world.step()
    assert [item.since for item in world.last.absent] == [0, world.now]


def test_what_this_process_has_not_sent_cannot_come(world: World) -> None:
    world.approve(move("one", "a", "c"))
    world.step()
    event = world.event("intended")
    world.view["unsent"] = frozenset({(event.migration, event.claim.epoch)})
    world.step()
    assert [item.since for item in world.last.absent] == [0]


@pytest.mark.parametrize(
    ("terms", "waits"),
    [
        ({"consent": "bob has not approved it"}, {1: "bob has not approved it"}),
        ({"consent": "bob has not approved it", "void": "edited"}, {}),
        ({"void": "edited"}, {}),
    ],
)
def test_what_owners_have_not_approved_waits_for_them(
    world: World, terms: dict[str, str], waits: dict[int, str]
) -> None:
    world.approve(move("one", "a", "c"), **terms)
    assert world.step() == []
    assert world.waits == waits
    assert not any(item.retry for item in world.last.waiting), "no pass is worth waiting for it"


def test_what_is_never_accepted_waits_for_nothing(world: World) -> None:
    finished(world)
    world.approve(move("one", "c", "a", 2), digest="sha256:1")
    assert world.step() == []
    assert world.waits == {}


@pytest.mark.parametrize(("phase", "landed"), [("Succeeded", "c"), ("Failed", "")])
def test_a_foreign_move_landed_if_it_succeeded(world: World, phase: str, landed: str) -> None:
    state = {"sourceNode": "b", "targetNode": "c"}
    world.migrations["evac"] = migration("evac", "three", phase, own=False, migrationState=state)
    world.step()
    seen = world.event("observed")
    assert (seen.to, seen.landed, seen.outcome) == ("c", landed, phase)


@pytest.mark.parametrize("own", [True, False])
def test_what_the_ledger_does_not_name_is_observed_whoever_it_says_made_it(
    world: World, own: bool
) -> None:
    world.migrations["other"] = migration("other", "three", "Succeeded", own=own)
    assert world.step() == ["three.jsonl observed"]
    assert world.step() == []
