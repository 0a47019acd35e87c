"""What one look says of a move whose migration may exist: recalled, ended, or looked at again."""

from typing import Any

import pytest

from gitbot.constraints.moves.instances import Instances
from gitbot.constraints.rules.zone_anti_affinity import ZoneAntiAffinity
from gitbot.execution.claims import FENCE
from gitbot.execution.executor_types import STORED_OTHERWISE, DeleteMigration
from gitbot.kubernetes.names import NamespacedName
from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.model.plan.diagnosis import TOGETHER, warned
from gitbot.model.plan.problem import Freeze
from gitbot.model.text.instants import Interval
from gitbot.model.text.names import IntentRef
from tests.doubles.tiny_objects import tiny_instance as instance
from tests.doubles.tiny_objects import tiny_node as node
from tests.unit.execution.scene import NOW, World, move

HOURS = (Interval(start=NOW - 60, end=NOW + 100),)


def pending(*, seen: bool = True, **terms: Any) -> World:
    """Its migration is there and has not begun; `seen`: the ledger says so."""
    world = World.of("a", "b", "c", one="a")
    world.approve(move("one", "a", "c"), **terms)
    world.step()
    world.now += 10
    world.run("Pending")
    if seen:
        assert world.step() == ["1 created"]
    return world


def stored(world: World) -> dict[str, Any]:
    (found,) = world.migrations.values()
    return found


def restart(world: World) -> None:
    world.vms["one"]["metadata"]["uid"] = "another"


def another_spec(world: World) -> None:
    stored(world)["spec"]["addedNodeSelector"] = {"kubernetes.io/hostname": "b"}


def voided(world: World) -> None:
    world.approved.clear()
    world.approve(move("one", "a", "c"), void="edited")


def cancelled(world: World) -> None:
    world.cancel("request/db/one")


def frozen(world: World, vm: str = "one", start: int = NOW) -> None:
    freeze = Freeze(
        intent=IntentRef(kind="FreezeWindow", namespace="", name="quarter"),
        vms=frozenset({NamespacedName(namespace="db", name=vm)}),
        times=(Interval(start=start, end=start + 9000),),
        reason="books",
    )
    world.problem["freezes"] = (freeze,)


def later(seconds: int) -> Any:
    def change(world: World) -> None:
        world.now += seconds

    return change


RECALLS = [
    (restart, {}, "withdrawing", "the VM was restarted since the plan was made"),
    (another_spec, {}, "stored-otherwise", STORED_OTHERWISE),
    (voided, {}, "withdrawing", "edited"),
    (cancelled, {}, "withdrawing", "the request was cancelled: cancelled"),
    (frozen, {}, "withdrawing", "freeze quarter: books"),
    (
        later(61),
        {"allowed": HOURS},
        "expiring",
        "it has not begun, and would not end within its allowed time",
    ),
    (later(95), {"allowed": HOURS}, "expiring", "its allowed time is over and it has not begun"),
    (later(301), {}, "overdue", "it has not begun within 300 s"),
    (later(301), {"allowed": HOURS, "finish": True}, "overdue", "it has not begun within 300 s"),
]


@pytest.mark.parametrize("seen", [True, False])
@pytest.mark.parametrize(("change", "terms", "outcome", "reason"), RECALLS)
def test_what_has_not_begun_is_recalled(
    change: Any, terms: dict[str, Any], outcome: str, reason: str, seen: bool
) -> None:
    world = pending(seen=seen, **terms)
    change(world)
    assert world.step() == ["1 created"]
    event = world.event("created")
    assert (event.outcome, event.reason, event.migration_uid) == (
        outcome,
        reason,
        stored(world)["metadata"]["uid"],
    )
    (deletion,) = world.last.effects
    assert isinstance(deletion, DeleteMigration)
    assert (deletion.name, deletion.reason) == (event.migration, reason)


@pytest.mark.parametrize(
    ("change", "terms"),
    [
        (later(0), {}),
        (later(60), {"allowed": HOURS}),
        (later(200), {"allowed": HOURS, "finish": True}),
        (later(300), {}),
        (lambda world: frozen(world, vm="two"), {}),
        (lambda world: frozen(world, start=NOW + 11), {}),
    ],
)
def test_what_may_still_begin_is_left_alone(change: Any, terms: dict[str, Any]) -> None:
    world = pending(**terms)
    change(world)
    assert world.step() == []
    assert world.effects == []


@pytest.mark.parametrize("change", [restart, another_spec, voided, frozen])
def test_what_runs_is_not_recalled(change: Any) -> None:
    world = pending()
    world.set_phase("one", "Running")
    change(world)
    assert world.step() == ["1 running"]
    assert world.effects == []


def test_what_is_being_deleted_is_not_deleted_again() -> None:
    world = pending()
    stored(world)["metadata"]["deletionTimestamp"] = "2027-01-15T08:00:00Z"
    cancelled(world)
    assert world.step() == []
    assert world.effects == []


@pytest.mark.parametrize(
    ("change", "state"), [(cancelled, "withdrawn"), (later(301), "failed"), (frozen, "withdrawn")]
)
def test_a_recalled_migration_that_failed_ends_as_it_was_recalled(change: Any, state: str) -> None:
    world = pending()
    change(world)
    world.step()
    event = world.event("created")
    world.set_phase("one", "Failed", migrationState={"failureReason": "aborted"})
    assert world.step()[0] == f"1 {state}"
    last = world.event(state)
    assert (last.outcome, last.reason) == (event.outcome, event.reason)


def test_a_phase_that_goes_back_is_no_change() -> None:
    world = pending()
    world.set_phase("one", "Running")
    assert world.step() == ["1 running"]
    world.set_phase("one", "Pending")
    assert world.step() == []


def test_only_an_end_has_a_duration_from_its_creation() -> None:
    world = pending()
    world.now += 5
    world.set_phase("one", "Running")
    world.step()
    assert (world.event("created").seconds, world.event("running").seconds) == (0, 0)
    world.now += 35
    world.land("one", "c")
    world.step()
    assert world.event("succeeded").seconds == 40
    at_once = pending()
    at_once.land("one", "c")
    at_once.step()
    assert at_once.event("succeeded").seconds == 0
    approved = World.of("a", "c", one="a")
    approved.view["stop"] = "lunch"
    approved.approve(move("one", "a", "c"))
    approved.step()
    del approved.vms["one"]
    approved.step()
    assert (approved.event("obsolete").seconds, approved.event("obsolete").attempt) == (0, 0)


def test_a_migration_that_moved_another_vm_than_was_approved_did_not_succeed() -> None:
    world = pending()
    restart(world)
    world.land("one", "c")
    assert world.step() == ["1 obsolete"]
    event = world.event("obsolete")
    assert event.reason == (
        "the VM was restarted: the migration moved another VM than was approved"
    )
    assert (event.landed, event.outcome) == ("c", "")


@pytest.mark.parametrize("apart", [True, False])
def test_a_landing_that_breaks_a_rule_is_a_failure(apart: bool) -> None:
    """Somebody moved the other VM into the zone meanwhile."""
    world = World.of("b", "c", two="c")
    world.nodes["a"] = node("a", "west")
    world.vms["one"] = instance("one", "a")
    vms = frozenset(NamespacedName(namespace="db", name=name) for name in ("one", "two"))
    objects = {"Node": tuple(world.nodes.values())}
    snapshot = ClusterSnapshot(cluster="prod", taken_at=NOW, objects=objects, digest="")
    rule = ZoneAntiAffinity(
        ref=IntentRef(kind="ZoneAntiAffinity", namespace="db", name="apart"),
        members=vms if apart else frozenset(),
        domains=Instances(snapshot).domains,
    )
    world.problem["rules"] = (rule,)
    world.approve(move("one", "a", "b"))
    world.step()
    world.run("Running")
    world.land("one", "b")
    state = "failed" if apart else "succeeded"
    assert world.step()[0] == f"1 {state}"
    event = world.event(state)
    assert event.outcome == ("unexpected-landing" if apart else "Succeeded")
    assert ("zone east holds 2" in event.reason) == bool(event.reason) == apart


@pytest.mark.parametrize("fails", [True, False])
def test_landing_counts_only_those_as_following_that_still_move(fails: bool) -> None:
    """One goes to the zone of two, which leaves it as one with it, unless its move has ended."""
    world = World.of("b", "c", two="c")
    world.nodes |= {name: node(name, "west") for name in ("a", "d")}
    world.vms["one"] = instance("one", "a")
    objects = {"Node": tuple(world.nodes.values())}
    snapshot = ClusterSnapshot(cluster="prod", taken_at=NOW, objects=objects, digest="")
    rule = ZoneAntiAffinity(
        ref=IntentRef(kind="ZoneAntiAffinity", namespace="db", name="apart"),
        members=frozenset(NamespacedName(namespace="db", name=name) for name in ("one", "two")),
        domains=Instances(snapshot).domains,
    )
    world.problem["rules"] = (rule,)
    as_one = (warned(TOGETHER, "they move as one"),)
    world.approve(move("one", "a", "b", checks=as_one), move("two", "c", "d", 2, checks=as_one))
    world.step()
    world.run("Running")
    world.step()
    if fails:
        world.set_phase("two", "Failed")
        assert world.step() == ["2 failed"]
    world.land("one", "b")
    assert world.step()[0] == ("1 failed" if fails else "1 succeeded")


DELETED = "somebody deleted db/{}: gitbot does not create it again"


@pytest.mark.parametrize(
    ("vmi", "state", "outcome", "reason"),
    [
        (instance("one", "a"), "withdrawn", "vanished", DELETED),
        (instance("one", "b"), "withdrawn", "vanished", DELETED),
        (
            instance("one", "c"),
            "obsolete",
            "",
            "the VM is on c already, and no migration of gitbot's is known to have moved it",
        ),
        ({"failed": True, "failureReason": "no route"}, "withdrawn", "vanished", "no route"),
        ({"failed": True}, "withdrawn", "vanished", DELETED),
        (
            {"migrationUid": "another", "failureReason": "no route"},
            "withdrawn",
            "vanished",
            DELETED,
        ),
        (None, "obsolete", "", "the VM is gone"),
        ({"uid": "another"}, "obsolete", "", "the VM was restarted"),
    ],
)
def test_a_migration_that_is_gone_ends_its_move_by_what_is_left(
    vmi: dict[str, Any] | None, state: str, outcome: str, reason: str
) -> None:
    world = pending()
    name, uid = stored(world)["metadata"]["name"], stored(world)["metadata"]["uid"]
    world.migrations.clear()
    if vmi is None:
        del world.vms["one"]
    elif "uid" in vmi:
        restart(world)
    elif "kind" in vmi:
        world.vms["one"] = vmi
    else:
        known = {"migrationUid": uid, "completed": True, **vmi}
        world.vms["one"]["status"]["migrationState"] = known
    assert world.step() == [f"1 {state}"]
    event = world.event(state)
    assert (event.outcome, event.reason) == (outcome, reason.format(name))


@pytest.mark.parametrize("phase", ["Pending", "Running", "Succeeded"])
def test_another_migration_under_its_name_is_not_it(phase: str) -> None:
    """Somebody deleted gitbot's own, and another gitbot or a person made one of that name."""
    world = pending()
    stored(world)["metadata"]["uid"] = "another"
    stored(world)["status"] = {"phase": phase}
    assert world.step() == ["1 withdrawn"]
    assert (world.event("withdrawn").outcome, world.effects) == ("vanished", [])


@pytest.mark.parametrize(
    ("namespace", "same", "remembered"),
    [("db", True, True), ("db", False, False), ("web", True, False)],
)
def test_a_pod_that_remembers_it_shows_that_an_announced_migration_was_created(
    namespace: str, same: bool, remembered: bool
) -> None:
    world = World.of("a", "c", one="a")
    world.approve(move("one", "a", "c"))
    world.step()
    event = world.event("intended")
    name = event.migration.partition("/")[2] if same else "another"
    note = {"kubevirt.io/migrationJobName": name}
    pod = {"kind": "Pod", "metadata": {"namespace": namespace, "name": "p", "annotations": note}}
    objects = {
        "Node": (node("a"), node("c")),
        "VirtualMachineInstance": (instance("one", "a"),),
        "Pod": (pod,),
    }
    world.now = FENCE.settles_at(event.claim.until)
    world.problem["snapshot"] = ClusterSnapshot(
        cluster="prod", taken_at=NOW, objects=objects, digest=""
    )
    assert world.step() == (["1 withdrawn"] if remembered else ["1 intended"])
    assert len(world.last.absent) == (not remembered)
