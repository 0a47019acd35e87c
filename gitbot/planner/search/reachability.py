"""Which nodes a few VMs could go to at all, in plain numbers: asked before the board is."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gitbot.kubernetes.names import NamespacedName
from gitbot.planner.plan_types import TargetPolicy
from gitbot.planner.search.chains import held_on
from gitbot.planner.state.plan_state import PlanState

State = tuple[str, ...]
"""The node of each mover."""

Offer = tuple[TargetPolicy, frozenset[str]]
"""Where a VM may go, but for some nodes."""


class Openings:
    """What the movers need and what the nodes have, from the board's present state on.

    It may name a node that refuses; it never leaves out one that accepts.
    """

    def __init__(self, board: PlanState, movers: Sequence[NamespacedName]) -> None:
        self.start: State = board.key(movers)
        self._board, self._movers = board, movers
        self._number = board.number
        self._everywhere = (1 << len(board.nodes)) - 1
        self._bits = [1 << number for number in range(len(board.nodes))]
        asks = [board.asks(vm) for vm in movers]
        held = [
            held_on(board, node).get(vm, {}) if node in board.number else {}
            for vm, node in zip(movers, self.start, strict=True)
        ]
        self.exact = all(dict(a) == dict(b) for a, b in zip(asks, held, strict=True))
        """Whether each mover takes the same everywhere, so that `room` is exact."""
        self._free: list[list[int]] = []  # by resource and node, without the movers
        self._asks: list[list[int]] = []  # by resource and mover
        self._stays: list[list[int]] = []  # the same, for a mover on its first node: at least
        for resource in sorted({name for item in asks for name in item}):
            free = board.room(resource).tolist()
            asked = [item.get(resource, 0) for item in asks]
            holds = [item.get(resource, 0) for item in held]
            for node, amount in zip(self.start, holds, strict=True):
                if node in board.number:
                    free[board.number[node]] += amount
            if sum(asked) > min(free):  # else there is always enough
                self._free.append(free)
                self._asks.append(asked)
                self._stays.append(list(map(min, asked, holds)))
        self._wanted = [tuple([asked[place] for asked in self._asks]) for place in range(len(asks))]

    def reach(self, place: int, offers: Sequence[Offer]) -> int:
        """The nodes that would take a mover for some offer if they were empty, as bits."""
        board, vm = self._board, self._movers[place]
        large = board.transit.world.fits_if_empty(board.transit.target_pod(vm))
        open_: set[str] = set()
        for wish, but in offers:
            open_ |= board.facts.matching(wish.target) - wish.closed.keys() - but
        return sum(1 << n for n, node in enumerate(board.nodes) if large[n] and node in open_)

    def room(self, state: State) -> Callable[[int], int]:
        """The nodes with room for a mover, as bits, with the movers in these places."""
        now, bits = list[list[int]](), self._bits
        for free, asks, stays in zip(self._free, self._asks, self._stays, strict=True):
            left = free.copy()
            for place, node in enumerate(state):
                if node in self._number:
                    home = node == self.start[place]
                    left[self._number[node]] -= stays[place] if home else asks[place]
            now.append([max(amount, 0) for amount in left])
        known: dict[tuple[int, ...], int] = {}  # many movers ask for the same

        def nodes_for(place: int) -> int:
            wanted = self._wanted[place]
            found = known.get(wanted)
            if found is None:
                found = self._everywhere
                for amount, left in zip(wanted, now, strict=True):
                    fits = [bit for bit, free in zip(bits, left, strict=True) if amount <= free]
                    found &= sum(fits)
                known[wanted] = found
            return found

        return nodes_for
