"""The stages of a wave: gone through step by step, each world is what it would be made at once."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product

import pytest

from gitbot.constraints.moves.instances import Instances
from gitbot.constraints.moves.target_pod import target_name, target_of
from gitbot.constraints.replay.wave_states import Stages
from gitbot.constraints.scheduler.world import World
from gitbot.kubernetes.names import NamespacedName
from gitbot.kubernetes.objects import name_of
from gitbot.model.cluster.pod import Pod
from tests.unit.constraints.builders import machine, snapshot, vm_name, zones
from tests.unit.constraints.test_replay import move

VMS = ("db-1", "db-2", "web-1")
FOUND = snapshot(
    *zones("a", "b", "c"),
    *machine("db-1", "a-1"),
    *machine("db-2", "b-1"),
    *machine("web-1", "c-1"),
)
MOVES = (move("db-1", "a-1", "c-1"), move("db-2", "b-1", "a-1"), move("web-1", "c-1", "b-1"))
NODES = sorted(name_of(node).name for node in FOUND.of("Node"))


def made_at_once(
    world: World,
    stages: Sequence[int],
    targets: Mapping[NamespacedName, Pod],
    sources: Mapping[NamespacedName, NamespacedName],
) -> World:
    made = world.fork()
    for each, stage in zip(MOVES, stages, strict=True):
        vm = each.vm.namespaced_name
        if stage:
            made.add(replace(targets[vm], name=target_name(vm, 0)), each.to.node)
        if stage == 2:
            made.remove(sources[vm])
    return made


def test_every_world_is_as_it_would_be_made_at_once() -> None:
    world, instances = World.of(FOUND), Instances.of(FOUND)
    targets = {vm_name(vm): target_of(instances, vm_name(vm)) for vm in VMS}
    pods = {vm: instances[vm].source_pod for vm in targets}
    sources = {vm: name_of(pod) for vm, pod in pods.items() if pod is not None}
    stages = Stages(world, MOVES, targets=targets, sources=sources)
    there_and_back = [*product((0, 1, 2), repeat=3), (0, 2, 1), (2, 0, 1), (0, 0, 0)]
    for possible in there_and_back:
        walked = stages.at(possible)
        made = made_at_once(world, possible, targets, sources)
        for node in NODES:
            assert walked.pods_on(node) == made.pods_on(node), possible
            assert walked.free(node) == made.free(node), possible
        for pod in targets.values():
            assert walked.judge(pod) == made.judge(pod), possible
            assert walked.feasible(pod) == made.feasible(pod), possible
    assert world.pods_on("c-1") == World.of(FOUND).pods_on("c-1"), "the world itself stays"


def test_a_move_whose_source_is_not_placed_is_an_error_of_the_caller() -> None:
    vm = vm_name("db-1")
    targets = {vm: target_of(Instances.of(FOUND), vm)}
    with pytest.raises(KeyError):
        Stages(World.of(FOUND), MOVES[:1], targets=targets, sources={vm: vm_name("gone")})
