"""Which looks at the cluster are believed, and what is read again before a move ends."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from gitbot.errors import SnapshotError
from gitbot.execution.executor_types import ExecutorInput, MissingMigration, Steps
from gitbot.kubernetes.names import NamespacedName
from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.model.ledger.events import KnownEvent, MoveState
from gitbot.model.ledger.ledger import Ledger
from gitbot.model.plan.problem import PlacementProblem
from gitbot.workflows.apply.snapshot_sanity import (
    PATIENCE,
    SnapshotSanity,
    ending_vms_unchanged,
    is_stale_look,
    no_pending_creation,
)
from tests.doubles.stage import Stage
from tests.doubles.tiny_cluster import TinyCluster
from tests.doubles.tiny_objects import tiny_instance as instance
from tests.doubles.tiny_objects import tiny_node as node
from tests.unit.execution.scene import NOW, World, move


def seen(nodes: str = "abcd", version: str = "", **vms: str) -> ClusterSnapshot:
    objects = {
        "Node": tuple(node(name) for name in nodes),
        "VirtualMachineInstance": tuple(instance(name, on) for name, on in vms.items()),
    }
    found = ClusterSnapshot(cluster="prod", taken_at=NOW, objects=objects, digest="")
    return replace(found, resource_version=version)


FOUR = {"one": "a", "two": "b", "three": "c", "four": "d"}
ONE = {"one": "a"}
TWO = {"one": "a", "two": "b"}


@pytest.mark.parametrize(
    ("before", "now", "doubt"),
    [
        (seen(**FOUR), seen(**TWO), ""),
        (seen(**FOUR), seen(**ONE), "shows 1 VMIs, a moment ago it had 4"),
        (seen("abcd"), seen("ab"), ""),
        (seen("abcd"), seen("a"), "shows 1 nodes, a moment ago it had 4"),
        (seen(), seen("ac", **TWO), ""),
        (seen(), seen("cd", **TWO), "does not show 2 of 2 nodes that have VMs"),
        (seen(), seen("ab", nowhere=""), ""),
        (seen(version="7"), seen(version="7"), ""),
        (seen(version="7"), seen(version="8"), ""),
        (seen(version="7"), seen(version="6"), "an older state (6) than before (7)"),
        (seen(version="7"), seen(version="opaque"), ""),
        (seen(version="opaque"), seen(version="0"), ""),
        (seen(version="10"), seen(version="9"), "an older state (9) than before (10)"),
        (seen(), seen(""), "the cluster shows no node at all"),
    ],
)
def test_what_is_doubted(before: ClusterSnapshot, now: ClusterSnapshot, doubt: str) -> None:
    belief = SnapshotSanity()
    assert belief.doubt(before, NOW) == ""
    said = belief.doubt(now, NOW + 1)
    assert doubt in said
    assert bool(said) == bool(doubt)


def test_the_first_look_of_a_pass_has_nothing_to_be_compared_with() -> None:
    assert SnapshotSanity().doubt(seen("a", version="0"), NOW) == ""
    assert SnapshotSanity().doubt(seen(""), NOW), "it is doubted before it is an error"


def test_the_newest_state_stays_known_after_a_look_without_a_version() -> None:
    belief = SnapshotSanity()
    for version in ("9", "opaque"):
        assert belief.doubt(seen(version=version), NOW) == ""
    assert "older state (8)" in belief.doubt(seen(version="8"), NOW)


@pytest.mark.parametrize("wrong", [seen(""), seen(version="6")])
def test_what_cannot_be_so_is_an_error_when_it_lasts(wrong: ClusterSnapshot) -> None:
    belief = SnapshotSanity()
    belief.doubt(seen(version="7"), NOW)
    assert belief.doubt(wrong, NOW + 5)
    assert belief.doubt(wrong, NOW + 5 + PATIENCE - 1)
    with pytest.raises(SnapshotError, match="nothing was concluded"):
        belief.doubt(wrong, NOW + 5 + PATIENCE)


def test_what_may_be_so_is_believed_when_it_lasts_and_compared_with_from_then_on() -> None:
    belief = SnapshotSanity()
    belief.doubt(seen(**FOUR), NOW)
    assert belief.doubt(seen(**ONE), NOW + 5)
    assert belief.doubt(seen(**ONE), NOW + 5 + 59)
    assert belief.doubt(seen(**ONE), NOW + 5 + 60) == ""
    assert belief.doubt(seen(**ONE), NOW + 6 + 60) == ""
    assert belief.doubt(seen(""), NOW + 7 + 60), "a new doubt, and no error yet"


def test_a_look_that_is_believed_ends_the_doubt() -> None:
    belief = SnapshotSanity()
    belief.doubt(seen(**FOUR), NOW)
    assert belief.doubt(seen(**ONE), NOW + 5)
    assert belief.doubt(seen(**FOUR), NOW + 6) == ""
    assert belief.doubt(seen(**ONE), NOW + 5 + PATIENCE)


def a_cluster(**vms: str) -> TinyCluster:
    return Stage.of(nodes={"a": "east", "c": "west"}, vms=vms).cluster


def ends(*vms: str, state: MoveState = MoveState.SUCCEEDED) -> Steps:
    world = World.of("a", "c", one="a", two="a")
    world.approve(move("one", "a", "c"), move("two", "a", "c", number=2))
    world.step()
    event = world.event("approved") if state is MoveState.APPROVED else world.event("intended")
    events: list[KnownEvent] = [
        event.replace(vm=f"db/{vm}", state=state) if state is not MoveState.APPROVED else event
        for vm in vms
    ]
    return Steps(events=tuple(events))


def a_view(snapshot: ClusterSnapshot) -> ExecutorInput:
    return ExecutorInput(
        cluster="prod",
        now=NOW,
        ledger=Ledger(),
        approved=(),
        problem=PlacementProblem(cluster="prod", now=NOW, snapshot=snapshot),
        migrations=(),
        replay=World.of().replay,
    )


@pytest.mark.parametrize(
    ("listed", "by_name", "steps", "so"),
    [
        ({"one": "a"}, {"one": "a"}, ends("one"), True),
        ({"one": "a"}, {"one": "c"}, ends("one"), False),
        ({"one": "a"}, {}, ends("one"), False),
        ({}, {"one": "a"}, ends("one"), False),
        ({}, {}, ends("one"), True),
        ({"one": "a", "two": "a"}, {"one": "c", "two": "a"}, ends("two"), True),
        ({"one": "a", "two": "a"}, {"one": "a", "two": "c"}, ends("one", "two"), False),
        ({"one": "a"}, {"one": "c"}, ends("one", state=MoveState.RUNNING), True),
        ({"one": "a"}, {"one": "c"}, ends("one", state=MoveState.APPROVED), True),
    ],
)
def test_what_would_end_a_move_is_read_by_name(
    listed: Mapping[str, str], by_name: Mapping[str, str], steps: Steps, so: bool
) -> None:
    assert ending_vms_unchanged(a_cluster(**by_name), a_view(seen(**listed)), steps) is so


def test_another_vm_of_the_same_name_confirms_nothing() -> None:
    cluster = a_cluster(one="a")
    cluster.instances["one"]["metadata"]["uid"] = "another"
    assert not ending_vms_unchanged(cluster, a_view(seen(one="a")), ends("one"))


def absent(since: int) -> MissingMigration:
    return MissingMigration(name=NamespacedName(namespace="db", name="m"), since=since)


@pytest.mark.parametrize(
    ("since", "there", "so"),
    [
        ((), False, True),
        ((0,), False, True),
        ((0,), True, False),
        ((NOW,), False, True),
        ((NOW + 1,), False, False),
        ((NOW - 5, NOW + 1), False, False),
        ((NOW - 5,), True, False),
    ],
)
def test_nothing_rests_on_what_may_still_be_created(
    since: tuple[int, ...], there: bool, so: bool
) -> None:
    cluster = a_cluster(one="a")
    if there:
        cluster._store("m", "one", {}, {})
    steps = Steps(absent=tuple(absent(time) for time in since))
    assert no_pending_creation(cluster, steps) is so


def test_without_a_limit_the_time_of_the_server_is_not_read() -> None:
    class Timeless(TinyCluster):
        def server_time(self) -> Any:
            raise AssertionError("nothing depends on it")

    stage = Stage.of(nodes={}, vms={})
    cluster = Timeless(stage.clock, nodes={}, vms={})
    assert no_pending_creation(cluster, Steps(absent=(absent(0),)))
    assert no_pending_creation(cluster, Steps())


@pytest.mark.parametrize(
    ("clock", "timer", "old"), [(0, 0, 0), (300, 300, 0), (301, 0, 1), (0, 301, 1)]
)
def test_the_first_clock_that_counts_five_minutes_makes_a_look_old(
    clock: int, timer: int, old: int
) -> None:
    stage = Stage.of(nodes={}, vms={})
    stage.clock.present = NOW + clock
    assert is_stale_look(replace(stage.shell, seconds=lambda: timer), NOW, 0.0) is bool(old)
