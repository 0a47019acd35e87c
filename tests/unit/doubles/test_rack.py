from collections import Counter

from gitbot.constraints.scheduler.world import World
from gitbot.kubernetes.objects import at, condition_of, labels_of
from gitbot.simulation.building import ZONE
from gitbot.simulation.port import SimulatedPort
from tests.doubles.rack import RACK, TIER, RackSize, rack

SMALL = RackSize(nodes=30, machines=400, nodes_in_rack=5, namespaces=4)


def test_the_rack_is_as_big_full_and_settled_as_it_says() -> None:
    cluster = rack(SMALL)
    snapshot = SimulatedPort(cluster).snapshot()
    world = World.of(snapshot)
    allocatable = sum(node.allocatable["memory"] for node in world.nodes)
    free = sum(world.free(node.name)["memory"] for node in world.nodes)
    assert 84 <= (allocatable - free) * 100 // allocatable <= 85
    assert len(snapshot.of("VirtualMachineInstance")) == len(snapshot.of("Pod")) == 400
    assert set(Counter(labels_of(node)[RACK] for node in snapshot.of("Node")).values()) == {5}
    stuck = [
        vmi
        for vmi in snapshot.of("VirtualMachineInstance")
        if at(condition_of(vmi, "LiveMigratable"), "status") != "True"
    ]
    assert len(stuck) == 20
    version = cluster.store.version
    cluster.advance(3600)
    assert cluster.store.version == version


def test_one_rule_is_broken_from_the_start() -> None:
    cluster = rack(SMALL)
    zones = [
        labels_of(pod)[ZONE] for pod in cluster.list("Pod") if labels_of(pod).get(TIER) == "quorum"
    ]
    assert sorted(Counter(zones).values()) == [1, 2]


def test_the_same_seed_builds_the_same_rack() -> None:
    digests = {SimulatedPort(rack(SMALL, seed=seed)).snapshot().digest for seed in (1, 1, 2)}
    assert len(digests) == 2
