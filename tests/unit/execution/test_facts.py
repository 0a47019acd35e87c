"""What one read of the cluster says: where a VM may be, and which places migrations take."""

from typing import Any

import pytest

from gitbot.constraints.moves.instances import Instances
from gitbot.constraints.rules.zone_anti_affinity import ZoneAntiAffinity
from gitbot.execution.cluster_facts import ClusterFacts, Slots, is_ready, new_breaches
from gitbot.kubernetes.names import NamespacedName
from gitbot.kubernetes.objects import KubernetesObject
from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.model.plan.problem import Limits, PlacementProblem
from gitbot.model.text.names import IntentRef
from tests.doubles.tiny_objects import HOST, ZONE
from tests.doubles.tiny_objects import tiny_instance as instance
from tests.doubles.tiny_objects import tiny_node as node
from tests.unit.execution.scene import NOW, World, migration, move

ONE, TWO = (NamespacedName(namespace="db", name=name) for name in ("one", "two"))


def problem_of(*instances: KubernetesObject, **fields: Any) -> PlacementProblem:
    """Nodes a and b in east, c in west."""
    nodes = (node("a"), node("b"), node("c", "west"))
    objects = {"Node": nodes, "VirtualMachineInstance": instances}
    snapshot = ClusterSnapshot(cluster="prod", taken_at=NOW, objects=objects, digest="")
    return PlacementProblem(cluster="prod", now=NOW, snapshot=snapshot, **fields)


EAST = {ZONE: "east"}


@pytest.mark.parametrize(
    ("on", "selector", "allowed", "said"),
    [
        ("b", EAST, (), True),
        ("b", EAST, ("a", "b"), True),
        ("b", EAST, ("a",), False),
        ("b", {}, ("a",), False),
        ("c", EAST, (), False),
        ("c", EAST, ("c",), False),
        ("c", {}, (), True),
        ("gone", {HOST: "gone"}, (), False),
    ],
)
def test_a_landing_is_on_a_node_with_the_labels_and_if_nodes_are_named_on_one_of_these(
    on: str, selector: dict[str, str], allowed: tuple[str, ...], said: bool
) -> None:
    facts = ClusterFacts.of(problem_of(), ())
    found = move("one", "a", "b", added_node_selector=selector, allowed_nodes=allowed)
    assert facts.satisfies(on, found) is said


@pytest.mark.parametrize("status", ["True", "False", "Unknown", None])
def test_a_node_is_ready_if_it_says_so(status: str | None) -> None:
    found = node("a")
    found["status"]["conditions"] = [{"type": "Ready", "status": status}] if status else []
    assert is_ready(found) is (status == "True")


# Places that running migrations take


def planned(world: World) -> None:
    """Our own, of which KubeVirt has not said yet where it goes."""
    world.approve(move("three", "b", "c", request="request/db/two"), request="request/db/two")
    world.step()
    world.run("Pending")


def scheduled(world: World) -> None:
    state = {"targetNode": "c"}
    world.migrations["evac"] = migration(
        "evac", "three", "Scheduled", own=False, migrationState=state
    )


def remembered(world: World) -> None:
    """Only the VMI tells so far."""
    world.migrations["evac"] = migration("evac", "three", "Scheduled", own=False)
    state = {"migrationUid": "m-evac", "targetNode": "c"}
    world.vms["three"]["status"]["migrationState"] = state


def remembered_of_another(world: World) -> None:
    """The VMI still tells of the migration before this one."""
    remembered(world)
    world.vms["three"]["status"]["migrationState"]["migrationUid"] = "m-before"


def unknown(world: World) -> None:
    world.migrations["evac"] = migration("evac", "three", "Pending", own=False)


@pytest.mark.parametrize("counted", [planned, scheduled, remembered])
def test_a_migration_has_a_place_on_its_target_whoever_names_it(counted: Any) -> None:
    world = World.of("a", "b", "c", one="a", three="b")
    world.problem["limits"] = Limits(per_target_node=1)
    counted(world)
    world.approve(move("one", "a", "c"))
    world.step()
    assert world.effects == []
    assert "1 migrations go to c" in world.waits.values()


@pytest.mark.parametrize("free", [remembered_of_another, unknown])
def test_a_migration_without_a_known_target_takes_no_place_there(free: Any) -> None:
    world = World.of("a", "b", "c", one="a", three="b")
    world.problem["limits"] = Limits(per_target_node=1)
    free(world)
    world.approve(move("one", "a", "c"))
    world.step()
    assert world.effects == ["create one"]


def test_several_migrations_are_told_in_the_plural() -> None:
    world = World.of("a", "b", "c", one="a", two="a", three="b")
    world.problem["limits"] = Limits(parallel=2, reserve=0)
    for name in ("two", "three"):
        world.migrations[name] = migration(name, name, "Running", own=False)
    world.approve(move("one", "a", "c"))
    world.step()
    assert world.waits == {1: "2 migrations run, gitbot starts at most 2 at once"}


# Rules that a landing breaks


@pytest.mark.parametrize(
    ("required", "members", "broken"),
    [(True, {ONE, TWO}, True), (False, {ONE, TWO}, False), (True, {TWO}, False)],
)
def test_only_a_required_rule_about_the_vm_is_broken_by_its_landing(
    required: bool, members: set[NamespacedName], broken: bool
) -> None:
    vms = (instance("one", "a"), instance("two", "b"))
    rule = ZoneAntiAffinity(
        ref=IntentRef(kind="ZoneAntiAffinity", namespace="db", name="apart"),
        required=required,
        members=frozenset(members),
        domains=Instances(problem_of().snapshot).domains,
    )
    problem = problem_of(*vms, rules=(rule,))
    facts = ClusterFacts.of(problem, ())
    assert bool(new_breaches(problem, facts, ONE, "c")) is broken
    assert new_breaches(problem, facts, ONE, "b") == (), "it stood before"


@pytest.mark.parametrize(
    ("phase", "own", "counted"),
    [("Pending", True, 1), ("Pending", False, 0), ("", False, 0), ("Scheduling", False, 1)],
)
def test_a_foreign_migration_that_hangs_in_pending_holds_no_slot(
    phase: str, own: bool, counted: int
) -> None:
    facts = ClusterFacts.of(problem_of(), (migration("evac", "one", phase, own=own),))
    assert Slots(facts, Limits(), {}).running == counted
