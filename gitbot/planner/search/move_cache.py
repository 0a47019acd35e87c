"""What the board says about moves of a few VMs, kept by what each part of it depends on.

Where a VM may go depends on room, on the places of VMs that required terms count, and for each rule
on the places of its members. Few of these differ from one state to the next.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from operator import itemgetter

import numpy as np

from gitbot.kubernetes.names import NamespacedName
from gitbot.kubevirt.names import CREATED_BY
from gitbot.model.cluster.columns import Mask
from gitbot.model.cluster.pod import Pod
from gitbot.model.cluster.scheduling import HOSTNAME, AffinityTerm
from gitbot.planner.schedule.in_flight import counts, selectors
from gitbot.planner.search.reachability import Openings, State
from gitbot.planner.state.plan_state import PlanState

_Part = tuple[Callable[[State], object], Callable[[], Mask]]
"""The places of a state on which a part of the answer depends, and who gives it."""


class KnownMoves:
    """Where movers may go, pinned to a node. Sets of nodes are the bits of a number."""

    def __init__(
        self, board: PlanState, movers: Sequence[NamespacedName], openings: Openings
    ) -> None:
        self._board, self._movers = board, movers
        self._known: dict[object, int] = {}
        self._parts = cache(lambda place: list(self._parts_of(place)))
        columns = board.transit.world.state.columns
        labelled = bool(columns.label(HOSTNAME).known.all()) and not board.facts.twins
        pinned = not board.mark()[1]  # no landing is up to the scheduler
        self._plain = openings.exact and labelled and pinned
        self.tells = cache(self._tells)

    def _tells(self, place: int) -> bool:
        """Whether nothing but room, required terms and rules decides where a mover may go."""
        board, vm = self._board, self._movers[place]
        return (
            self._plain
            and HOSTNAME not in board.facts.node_selector(vm)
            and vm.namespace not in board.transit.instances.quotas
            and board.transit.world.needs_only_room(board.transit.target_pod(vm))
            and all(self._alike(vm, other) for other in self._movers)
        )

    def _alike(self, vm: NamespacedName, other: NamespacedName) -> bool:
        """Whether the pod that a mover has now, and any later one, are the same to a VM's pod."""
        transit = self._board.transit
        name = transit.instances.source_pod_of(other)
        source = transit.world.pod(name) if name is not None else None
        if source is None:
            return False
        target, mine = transit.target_pod(other), selectors(transit.target_pod(vm))
        same = all(item.matches(source.labels) == item.matches(target.labels) for item in mine)
        return same and _terms(source) == _terms(target)

    def _parts_of(self, place: int) -> Iterator[_Part]:
        board, vm = self._board, self._movers[place]
        world, pod = board.transit.world, board.transit.target_pod(vm)
        tied = [
            number
            for number, other in enumerate(self._movers)
            if number == place or counts(board, vm, other) or counts(board, other, vm)
        ]
        yield parts_of(tied), lambda: world.mask(pod, room=False)
        for rule in board.transit.rules_over(vm):
            if board.transit.rules[rule].required:
                members = board.transit.rules[rule].members
                mates = [number for number, other in enumerate(self._movers) if other in members]
                yield parts_of(mates), lambda only=(rule,): self._kept(vm, only)  # type: ignore[misc]

    def _kept(self, vm: NamespacedName, only: Sequence[int]) -> Mask:
        mask = self._board.transit.world.state.columns.everywhere()
        mask[self._board.number[self._board.place(vm)]] = False
        return self._board.transit.rule_mask(vm, mask, only)

    def where(self, place: int, nodes: int, state: State, go: Callable[[], None]) -> int:
        """Those of the nodes, which have room, to which a mover may go in this state.

        `go` brings the board there. Only about movers that `tells` accepts.
        """
        for part, (ties, ask) in enumerate(self._parts(place)):
            if not nodes:
                break
            key = place, part, ties(state)
            known = self._known.get(key)
            if known is None:
                go()
                known = self._known[key] = bits(ask())
            nodes &= known
        return nodes


def _terms(pod: Pod) -> tuple[list[AffinityTerm], ...]:
    """The required terms of a pod, without KubeVirt's own."""
    own = (CREATED_BY, pod.labels.get(CREATED_BY, ""))
    both = pod.affinity.required_pods, pod.affinity.required_anti
    return tuple([term for term in terms if term.selector.one_label != own] for terms in both)


def parts_of(numbers: Sequence[int]) -> Callable[[State], object]:
    """What is at these numbers of a state."""
    return itemgetter(*numbers) if numbers else lambda _state: ()


def bits(mask: Mask) -> int:
    return sum(1 << int(number) for number in np.flatnonzero(mask))
