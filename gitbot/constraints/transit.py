"""Capacity and rules while VMs move: both pods of a migration hold their place until it ends."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gitbot.constraints.world import World
from gitbot.model.constraint import Breach, Occupancy
from gitbot.model.names import NamespacedName
from gitbot.model.pod import Pod
from gitbot.model.problem import Pin, PlacementProblem, Target


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeOption:
    """One node's answer to a move that would start now.

    `ok`: the move may start with this node. `schedulable`: the scheduler accepts the target pod
    here (rules aside). `reasons`: one line for each rejecting plugin or rule. `score`: the
    scheduler's weighted sum among the nodes that it may choose from; 0 where not schedulable.
    """

    node: str
    ok: bool
    schedulable: bool
    reasons: tuple[str, ...] = ()
    score: int = 0


class Transit:
    """World, occupancy and rules of one problem while moves start and finish. Mutable; forks.

    A move that was started holds source and target in capacity and in the rules, until `finish`
    (the source is given back) or `fail` (the target is given back).
    """

    world: World

    @classmethod
    def of(cls, problem: PlacementProblem) -> Transit:
        """The state at the snapshot: running migrations hold both places, reservations count."""
        raise NotImplementedError

    def fork(self) -> Transit:
        """An independent copy, cheap."""
        raise NotImplementedError

    @property
    def occupancy(self) -> Occupancy:
        """VMI to the nodes where it holds a place now."""
        raise NotImplementedError

    @property
    def moving(self) -> Mapping[NamespacedName, str]:
        """The VMs that are being moved, with their target nodes."""
        raise NotImplementedError

    def node_of(self, vm: NamespacedName) -> str:
        """Where the VM runs now (its source while it moves); "" where it does not run."""
        raise NotImplementedError

    def target_pod(self, vm: NamespacedName, added: Mapping[str, str] | None = None) -> Pod:
        """The pod that a migration of the VM would create, decoded. KeyError: no such VM(I)."""
        raise NotImplementedError

    def selector(self, pin: Pin, node: str) -> Mapping[str, str]:
        """The addedNodeSelector that pins a move: hostname or zone of the node, or nothing."""
        raise NotImplementedError

    def options(
        self, vm: NamespacedName, pin: Pin, target: Target | None = None
    ) -> tuple[NodeOption, ...]:
        """Every node but the VM's own, sorted by name: may the move start now, and why not.

        With Pin.ZONE and Pin.NONE a node is ok only where every node that the scheduler may choose
        for that zone (or at all) lies in the target and breaks no hard rule.
        """
        raise NotImplementedError

    def start(self, vm: NamespacedName, node: str) -> None:
        """Start a move: the target pod holds its place from now on. Nothing is asked."""
        raise NotImplementedError

    def finish(self, vm: NamespacedName) -> None:
        """The move succeeded: the source's place is free, the VM runs on the target."""
        raise NotImplementedError

    def fail(self, vm: NamespacedName) -> None:
        """The move failed: the target's place is free, the VM stays on its source."""
        raise NotImplementedError

    def cordon(self, *nodes: str) -> None:
        """From now on these nodes are unschedulable."""
        raise NotImplementedError

    def breaches(self) -> tuple[Breach, ...]:
        """The breaches of all rules in this state, sorted."""
        raise NotImplementedError

    def worsened_by(self, vm: NamespacedName, node: str) -> tuple[Breach, ...]:
        """What the rules would lose if the VM also held this node."""
        raise NotImplementedError
