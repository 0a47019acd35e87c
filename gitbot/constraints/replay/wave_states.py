"""The world while the moves of a wave run, each at a different stage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from gitbot.constraints.moves.target_pod import target_name
from gitbot.constraints.scheduler.world import World
from gitbot.kubernetes.names import NamespacedName
from gitbot.model.cluster.pod import Pod
from gitbot.model.plan.plan import Move


class Stages:
    """A world in which each move has not started (0), is running (1) or is done (2).

    Changes only the moves that differ from the last state: a wave has hundreds of states, and each
    differs from the one before in one or two moves.
    """

    def __init__(
        self,
        world: World,
        moves: Sequence[Move],
        *,
        targets: Mapping[NamespacedName, Pod],
        sources: Mapping[NamespacedName, NamespacedName],
    ) -> None:
        """`targets`: the target pods by VM; `sources`: names of the pods that they replace."""
        self._world = world.fork()
        vms = [move.vm.namespaced_name for move in moves]
        self._targets = [
            (replace(targets[vm], name=target_name(vm, 0)), move.to.node)
            for vm, move in zip(vms, moves, strict=True)
        ]
        self._sources = [_source(world, sources.get(vm)) for vm in vms]
        self._stages = [0] * len(moves)

    def at(self, stages: Sequence[int]) -> World:
        """The world at these stages, one for each move; the next call changes it."""
        for number, (before, stage) in enumerate(zip(self._stages, stages, strict=True)):
            if stage != before:
                self._change(number, before, stage)
                self._stages[number] = stage
        return self._world

    def all_at(self, stage: int) -> World:
        return self.at([stage] * len(self._stages))

    def _change(self, number: int, before: int, stage: int) -> None:
        target, node = self._targets[number]
        if not before:
            self._world.add(target, node)
        elif not stage:
            self._world.remove(target)
        source = self._sources[number]
        if source is not None and stage == 2:
            self._world.remove(source[0])
        elif source is not None and before == 2:
            self._world.add(*source)


def _source(world: World, name: NamespacedName | None) -> tuple[Pod, str] | None:
    """A pod with its node. Raises KeyError if it is not placed."""
    if name is None:
        return None
    pod = world.pod(name)
    if pod is None:
        raise KeyError(name)
    return pod, world.node_of(name)
