"""Three forms of one judgement: scalar, vectorised, incremental. The same answers, always."""

from typing import Any

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gitbot.constraints.moves.instances import Instances
from gitbot.constraints.rules.counts.rule_matrix import RuleMatrix
from gitbot.constraints.rules.zone_anti_affinity import ZoneAntiAffinity
from gitbot.constraints.scheduler.world import World
from gitbot.model.cluster.pod import Pod
from tests.bench.overfull import overfull
from tests.bench.virtual_cluster import cluster, pending, plain_loop
from tests.laws.test_constraints_laws import APPS, specs
from tests.unit.constraints.builders import ZONE, node, pod, rule_ref, snapshot, vm_name
from tests.unit.constraints.recordings import recorded, scenario_snapshot

QUICK = settings(
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
NODES = [f"n{number}" for number in range(6)]


def scalar(world: World, newcomer: Pod) -> list[bool]:
    """One VM, one node at a time, with reasons."""
    return [not world.check(newcomer, found.name) for found in world.nodes]


@st.composite
def pods(draw: st.DrawFn, count: int) -> list[Pod]:
    found = []
    for number in range(count):
        spec: dict[str, Any] = draw(specs())
        labels = {"app": draw(st.sampled_from(APPS)), "tier": draw(st.sampled_from(APPS))}
        cpu = draw(st.sampled_from(("100m", "1", "2")))
        obj = pod(f"p{number}", labels=labels, cpu=cpu, spec=spec)
        found.append(Pod.from_object(obj))
    return found


@QUICK
@given(pods(5), st.data())
def test_after_every_move_the_fast_forms_say_what_a_fresh_scalar_one_says(
    found: list[Pod], data: st.DataObject
) -> None:
    *placed, newcomer = found
    nodes = [
        node(name, f"z{number % 3}", cpu=str(data.draw(st.sampled_from((2, 3, 4)))))
        for number, name in enumerate(NODES)
    ]
    world = World.of(snapshot(*nodes))
    where: dict[str, str] = {}
    for _ in range(data.draw(st.integers(1, 8))):
        moved = data.draw(st.sampled_from(placed))
        target = data.draw(st.sampled_from(NODES))
        if moved.name.name in where:
            world.remove(moved)
        world.add(moved, target)
        where[moved.name.name] = target
        if data.draw(st.booleans()):
            world = world.fork()
        incremental = world.mask(newcomer).tolist()
        fresh = World.of(snapshot(*nodes))
        for other in placed:
            if other.name.name in where:
                fresh.add(other, where[other.name.name])
        assert incremental == fresh.mask(newcomer).tolist() == scalar(fresh, newcomer)


@QUICK
@given(pods(3))
def test_a_fork_does_not_change_what_its_origin_answers(found: list[Pod]) -> None:
    nodes = [node(name, f"z{n % 2}", cpu="2") for n, name in enumerate(NODES)]
    world = World.of(snapshot(*nodes))
    first, second, newcomer = found
    world.add(first, "n0")
    before = world.mask(newcomer).copy()
    fork = world.fork()
    fork.add(second, "n1")
    fork.cordon("n2")
    fork.mask(newcomer)
    assert np.array_equal(world.mask(newcomer), before)


def test_the_plain_loop_of_the_benchmark_gives_the_same_nodes() -> None:
    found = cluster(60, 240, waiting=24, seed=5)
    world, loop = World.of(found), plain_loop(found)
    newcomers = pending(found)
    assert len(newcomers) == 24
    for newcomer in newcomers:
        names = loop.feasible(newcomer)
        assert list(world.feasible(newcomer)) == names
        assert list(world.judge(newcomer).feasible) == names
        world.add(newcomer, names[0])
        next(place for place in loop.places if place.node.name == names[0]).add(newcomer)


@QUICK
@given(st.data())
def test_the_whole_state_breaks_the_rules_that_each_rule_says(data: st.DataObject) -> None:
    """Vectorised and incremental breaches of all rules against `rule.breaches`, one by one."""
    nodes = [
        node(name, f"z{number % 2}" if number else "", labels={"rack": f"r{number % 3}"})
        for number, name in enumerate(NODES)
    ]
    instances = Instances(snapshot(*nodes))
    vms = [vm_name(f"vm{number}") for number in range(6)]
    held = st.frozensets(st.sampled_from([*NODES, "gone"]), min_size=1, max_size=2)
    rules = [
        ZoneAntiAffinity(
            ref=rule_ref(f"r{number}"),
            members=data.draw(st.frozensets(st.sampled_from(vms))),
            domains=instances.domains,
            topology_key=data.draw(st.sampled_from((ZONE, "kubernetes.io/hostname", "rack"))),
            max_per_domain=data.draw(st.integers(1, 2)),
        )
        for number in range(data.draw(st.integers(0, 4)))
    ]
    occupancy = {vm: data.draw(held) for vm in vms if data.draw(st.booleans())}
    whole = RuleMatrix(instances.domains, rules, occupancy)
    for _ in range(4):
        slow = [breach for rule in rules for breach in rule.breaches(occupancy)]
        assert list(whole.breaches(occupancy)) == sorted(slow, key=lambda b: (b.rule, b.key))
        vm = data.draw(st.sampled_from(vms))
        if vm in occupancy:
            occupancy[vm] = data.draw(held)
            whole = whole.fork()
            whole.occupy(vm, occupancy[vm])


def test_a_node_is_overfull_where_its_vms_ask_for_more_than_is_left() -> None:
    instances = Instances(snapshot(*(node(name, "z") for name in ("a", "b"))))
    one, two = vm_name("one"), vm_name("two")
    places = {one: frozenset({"a"}), two: frozenset({"b"})}
    whole = RuleMatrix(instances.domains, (), places)
    amounts = {"memory": np.array([5, 7])}
    room = {"memory": np.array([12, 12])}
    standing = {"memory": np.array([0, 1])}
    assert list(whole._index) == [one, two]
    assert overfull(whole, amounts, standing, room) == ()
    whole.occupy(one, frozenset({"a", "b"}))
    assert overfull(whole, amounts, standing, room) == ("b",)
    whole.occupy(two, frozenset({"a"}))
    assert overfull(whole, amounts, standing, room) == ()


def test_on_recorded_clusters_a_world_that_was_emptied_and_filled_again_says_the_same() -> None:
    """The incremental form on recorded clusters; asked at every step, so that masks are kept."""
    for scenario in recorded():
        world = World.of(scenario_snapshot(scenario))
        asked = [Pod.from_object(obj) for obj in scenario["judge"]]
        before = [world.mask(new).tolist() for new in asked]
        assert before == [scalar(world, new) for new in asked]
        placed = [(held, found.name) for found in world.nodes for held in world.pods_on(found.name)]
        changed = world.fork()
        for held, _ in placed:
            changed.remove(held)
            changed.mask(asked[0])
        for held, where in reversed(placed):
            changed.add(held, where)
            changed.mask(asked[-1])
        assert [changed.mask(new).tolist() for new in asked] == before
        assert [world.mask(new).tolist() for new in asked] == before
