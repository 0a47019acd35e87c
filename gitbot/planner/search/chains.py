"""Making room: a resident steps aside so that a VM fits, and others step aside for the resident.

Each step is taken on a board where it is lawful, so the steps are lawful in their order. The
tightest nodes are filled first, which keeps room together for large VMs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations, islice, product
from typing import NamedTuple

import numpy as np

from gitbot.kubernetes.names import NamespacedName
from gitbot.kubevirt.names import CREATED_BY
from gitbot.model.cluster.columns import Mask, Numbers
from gitbot.model.plan.problem import Pin
from gitbot.planner.plan_types import Step, TargetPolicy, Task
from gitbot.planner.problem_index import Held
from gitbot.planner.state.blockers import blockers
from gitbot.planner.state.plan_state import PlanState
from gitbot.planner.state.residents import lingers

DEPTH = 3
"""How many VMs may step aside one for another."""

NODES, OPTIONS = 64, 8
"""Nodes that are checked for one VM, and ways to make room that are tried."""

PODS = "pods"

LEAVERS = 4
"""At most so many VMs step aside from one node for one VM."""

PAIRS, MANY = 16, 10
"""Nodes on which pairs are tried, and small residents of which more than two may leave."""

ALIKE, TRIES = 2, 60
"""Options of one kind that are tried, and options in all for one VM."""

SWAPS = 12
"""Nodes that rules of other VMs close, on which we try to move those VMs."""

COST_OF_TRY = 5
"""What it costs of the budget to try a VM on all nodes. Each resident of a node on which it tries
to make room costs 1.
"""

LARGE = 40
"""Large VMs that are asked to leave for good, one after the other."""

PARKING = 3
"""Nodes that are tried, one after the other, for a VM to wait on until its place is free."""

Vms = frozenset[NamespacedName]


class _Option(NamedTuple):
    """A node that has room for a VM once others have left it. Better ones sort first."""

    rank: tuple[int, int]  # the moves that it needs at least, and memory
    node: str
    leavers: tuple[NamespacedName, ...]
    zone: str = ""  # the leaving VMs must leave this zone too


class Chains:
    """Moves the VMs of one task on the board, and keeps the steps. The caller takes them back.

    `wide`: where a VM steps aside, the largest that can, so that others find room as well.
    """

    def __init__(self, board: PlanState, task: Task, *, wide: bool = False) -> None:
        self.board = board
        self.task = task
        self.wide = wide
        self.steps: list[Step] = []
        self._budget = board.facts.budget
        self._asked: dict[NamespacedName, Mapping[str, int]] = {}
        self._closed = mask_of(board, task.aside.closed if task.aside is not None else ())
        self._cleared = np.zeros(len(board.nodes), dtype=bool)  # by the chain so far: no targets
        self._hole = self._limit = self._tries = 0
        self._masks = {nodes: mask_of(board, nodes) for nodes in set(task.content.values())}

    def settle(self, vm: NamespacedName) -> bool:
        """Move an asked VM to where it is content, and others aside if necessary."""
        if self.board.place(vm) in self.task.content[vm]:
            return True  # it made room for another one, and went there
        wish, wanted = self.task.wishes[vm], self._masks[self.task.content[vm]]
        self._tries = 0 if self._budget.spent() else TRIES
        if self.wide and self._go_for_large(vm, wish, wanted):
            return True
        return self._go(vm, wish, wanted, DEPTH, frozenset()) or self._park(vm, wish, wanted)

    def _go_for_large(self, vm: NamespacedName, wish: TargetPolicy, wanted: Mask) -> bool:
        """Move a VM to a wanted node; if none takes it, after a large VM has left all of them."""
        if self._go(vm, wish, wanted, 0, frozenset()):
            return True
        mark, taken = self.board.mark(), len(self.steps)
        for node, other in islice(self._large(vm, wish, wanted), LARGE):
            aside, open_to = self._aside(other)
            gone = self._go(other, aside, open_to & ~wanted, 0, frozenset())
            if gone and self._go(vm, wish, mask_of(self.board, (node,)), 0, frozenset()):
                return True
            self.board.back(mark)
            del self.steps[taken:]
        return False

    def _large(
        self, vm: NamespacedName, wish: TargetPolicy, wanted: Mask
    ) -> Iterator[tuple[str, NamespacedName]]:
        """The VMs that would leave room for this one, each with its node, the largest first."""
        board = self.board
        lacks = {name: amount - board.room(name) for name, amount in self._asks(vm).items()}
        hole = int(board.room("memory")[~wanted & ~self._closed].max(initial=0))
        found: list[tuple[int, str, NamespacedName]] = []
        for number in _nearest(wanted & board.but_for_room(vm, wish), lacks):
            node = board.nodes[number]
            for other, size in held_on(board, node).items():
                memory = size.get("memory", 0)
                enough = all(size.get(name, 0) >= lack[number] for name, lack in lacks.items())
                if enough and memory <= hole:
                    found.append((-memory, node, other))
        for _, node, other in sorted(found) if self.task.aside is not None else ():
            if self._free(other):
                yield node, other

    def _go(
        self, vm: NamespacedName, wish: TargetPolicy, wanted: Mask, depth: int, fixed: Vms
    ) -> bool:
        """Move a VM to the tightest wanted node; if none takes it, make others step aside."""
        self._budget.asked += COST_OF_TRY
        step = self._fitting(vm, wish, wanted)
        if step is not None:
            self._take(step)
            return True
        if depth == 0 or self.task.aside is None:
            return False
        return self._eject(vm, wish, wanted, depth, fixed | {vm})

    def _eject(
        self, vm: NamespacedName, wish: TargetPolicy, wanted: Mask, depth: int, fixed: Vms
    ) -> bool:
        mark, taken = self.board.mark(), len(self.steps)
        options = self._options(vm, wish, wanted, fixed)
        for deep, option in product(range(depth), options):
            self._tries -= 1
            if self._tries < 0 or self._budget.spent():
                return False
            if self._clear(option, deep, fixed):
                step = self._fitting(vm, wish, mask_of(self.board, (option.node,)))
                if step is not None:
                    self._take(step)
                    return True
            self.board.back(mark)
            del self.steps[taken:]
        return False

    def _clear(self, option: _Option, depth: int, fixed: Vms) -> bool:
        """Make the VMs of an option leave."""
        names = (name for name in self.board.nodes if self.board.facts.zone(name) == option.zone)
        near = mask_of(self.board, names if option.zone else (option.node,))
        before, self._cleared = self._cleared, self._cleared | near
        try:
            for other in option.leavers:
                wish, wanted = self._aside(other)
                wanted = wanted & ~self._cleared
                if not self._go(other, wish, wanted, depth, fixed.union(option.leavers)):
                    return False
            return True
        finally:
            self._cleared = before

    def _aside(self, vm: NamespacedName) -> tuple[TargetPolicy, Mask]:
        """Where a VM that makes room may go; an asked VM only to where it is content."""
        if vm in self.task.content:
            return self.task.wishes[vm], self._masks[self.task.content[vm]]
        assert self.task.aside is not None
        # not home either: a VM that is away made room there for another one
        left = {*self.task.departed.get(vm, ()), self.board.facts.homes.get(vm, "")}
        return self.task.aside, ~mask_of(self.board, left)

    def _park(self, vm: NamespacedName, wish: TargetPolicy, wanted: Mask) -> bool:
        """Make the VM leave its node first: the VMs in its way may need exactly that place."""
        aside = self.task.aside
        if aside is None or self.board.place(vm) in aside.closed:
            return False
        mark, taken = self.board.mark(), len(self.steps)
        fits = self.board.feasible(vm, aside) & ~wanted
        for node in _by_room(self.board, fits)[:PARKING]:
            self._take(self.board.step(vm, node, aside))
            if self._go(vm, wish, wanted, DEPTH, frozenset()):
                return True
            self.board.back(mark)
            del self.steps[taken:]
        return False

    def _fitting(self, vm: NamespacedName, wish: TargetPolicy, wanted: Mask) -> Step | None:
        """The step to the tightest wanted node that takes the VM now."""
        if wish.pin is not Pin.NODE:
            return self.board.best(vm, wish, wanted)
        fits = self.board.feasible(vm, wish) & wanted
        return self.board.step(vm, _by_room(self.board, fits)[0], wish) if fits.any() else None

    def _take(self, step: Step) -> None:
        self.board.take(step)
        self.steps.append(step)

    def _options(
        self, vm: NamespacedName, wish: TargetPolicy, wanted: Mask, fixed: Vms
    ) -> list[_Option]:
        """Ways to make room for the VM: fewest moves first, then least memory."""
        board = self.board
        found: list[_Option] = []
        lacks = {name: amount - board.room(name) for name, amount in self._asks(vm).items()}
        self._hole = int(board.room("memory")[~self._closed].max(initial=0))
        self._limit = self._asks(vm).get("memory", 0)
        for rank, number in enumerate(_nearest(wanted & board.but_for_room(vm, wish), lacks)):
            lack = {name: int(column[number]) for name, column in lacks.items()}
            found = sorted(found)[: 4 * OPTIONS]
            if len(found) == 4 * OPTIONS and found[-1].rank < (1, lack.get("memory", 0)):
                break
            found.extend(
                self._at(
                    board.nodes[number], lack, fixed, pairs=rank < PAIRS and len(found) < OPTIONS
                )
            )
        return self._distinct(found) or self._swaps(vm, wish, wanted, lacks, fixed)

    def _distinct(self, options: Sequence[_Option]) -> list[_Option]:
        """The best options, only a few of each kind."""
        kinds: Counter[object] = Counter()
        found = []
        for option in sorted(options):
            ruled = [bool(self.board.facts.rules_over(vm)) for vm in option.leavers]
            kind = (option.rank, any(ruled) and self.board.facts.zone(option.node))
            kinds[kind] += 1
            if kinds[kind] <= ALIKE and all(map(self._free, option.leavers)):
                found.append(option)
                if len(found) == OPTIONS:
                    break
        return found

    def _swaps(
        self,
        vm: NamespacedName,
        wish: TargetPolicy,
        wanted: Mask,
        lacks: Mapping[str, Numbers],
        fixed: Vms,
    ) -> list[_Option]:
        """Ways to a node that rules or terms of other VMs close while those VMs stay."""
        board = self.board
        found: list[_Option] = []
        for number in _nearest(wanted, lacks)[:SWAPS]:
            self._budget.asked += board.facts.cost_of_rules(vm)
            node = board.nodes[number]
            there = blockers(board, vm, node, wish, lambda it: it not in fixed and self._free(it))
            if not there:
                continue
            lack = {name: int(column[number]) for name, column in lacks.items()}
            for other, size in held_on(board, node).items():
                if other in there:
                    lack = {name: amount - size.get(name, 0) for name, amount in lack.items()}
            away = any(board.place(other) != node for other in there)
            zone = board.facts.zone(node) if away else ""
            found.extend(
                option._replace(
                    rank=(option.rank[0] + len(there), option.rank[1]),
                    leavers=(*sorted(there), *option.leavers),
                    zone=zone,
                )
                for option in self._at(node, lack, fixed | there, pairs=True)
            )
        return self._distinct(found)

    def _at(
        self, node: str, lack: Mapping[str, int], fixed: Vms, *, pairs: bool
    ) -> Iterator[_Option]:
        """Sets of VMs that free the missing room on one node when they leave.

        A VM that is too large for any gap needs two moves more. It is tried only if it is smaller
        than the VM that comes.
        """
        missing = [(name, amount) for name, amount in lack.items() if amount > 0]
        if not missing:
            yield _Option(rank=(0, 0), node=node, leavers=())
            return
        self._budget.asked += len(held_on(self.board, node))
        sizes = {vm: size for vm, size in held_on(self.board, node).items() if vm not in fixed}
        if any(_most(sizes.values(), name) < amount for name, amount in missing):
            return
        direct = [vm for vm, size in sizes.items() if size.get("memory", 0) <= self._hole]
        for vm, size in sizes.items():
            if all(size.get(name, 0) >= amount for name, amount in missing):
                memory = size.get("memory", 0)
                if memory <= self._hole or memory < self._limit:
                    moves = 1 if memory <= self._hole else 3
                    yield _Option(rank=(moves, memory), node=node, leavers=(vm,))
        many = range(2, LEAVERS + 1) if pairs and len(direct) <= MANY else range(2, 2 + pairs)
        for group in (group for size in many for group in combinations(direct, size)):
            if all(sum(sizes[vm].get(n, 0) for vm in group) >= amount for n, amount in missing):
                memory = sum(sizes[vm].get("memory", 0) for vm in group)
                yield _Option(rank=(len(group), memory), node=node, leavers=group)

    def _asks(self, vm: NamespacedName) -> Mapping[str, int]:
        if vm not in self._asked:
            self._asked[vm] = self.board.asks(vm)
        return self._asked[vm]

    def _free(self, vm: NamespacedName) -> bool:
        return vm in self.task.content or self.task.others(vm)


def held_on(board: PlanState, node: str) -> Held:
    """What the VMs on a node would free if they left. Worked out again only for other pods."""
    state = board.transit.world.state
    names = tuple(state.by_node.get(state.columns.index[node]))
    known = board.facts.held.get(node)
    if known is None or known[0] != names:
        known = board.facts.held[node] = (names, _held_on(board, node))
    return known[1]


def _held_on(board: PlanState, node: str) -> Held:
    found: dict[NamespacedName, dict[str, int]] = {}
    transit = board.transit
    for pod in transit.world.pods_on(node):
        vm = transit.instances.by_uid.get(pod.labels.get(CREATED_BY, ""))
        if vm is not None and not lingers(board, vm, node):
            held, more = found.setdefault(vm, {}), {PODS: 1, **pod.requests.held}
            held.update({name: held.get(name, 0) + amount for name, amount in more.items()})
    return found


def _most(sizes: Iterable[Mapping[str, int]], resource: str) -> int:
    """What the largest LEAVERS free together."""
    return sum(sorted((size.get(resource, 0) for size in sizes), reverse=True)[:LEAVERS])


def _nearest(mask: Mask, lacks: Mapping[str, Numbers]) -> Numbers:
    """The numbers of these nodes, least lack of memory first."""
    numbers = np.flatnonzero(mask)
    lack = lacks.get("memory")
    if lack is not None:
        numbers = numbers[np.argsort(lack[numbers], kind="stable")]
    return numbers[:NODES]


def _by_room(board: PlanState, fits: Mask) -> list[str]:
    """These nodes, least free memory first, then by name."""
    numbers = np.flatnonzero(fits)
    order = np.argsort(board.room("memory")[numbers], kind="stable")
    return [board.nodes[number] for number in numbers[order]]


def mask_of(board: PlanState, nodes: Iterable[str]) -> Mask:
    mask = np.zeros(len(board.nodes), dtype=bool)
    mask[[board.number[node] for node in nodes if node in board.number]] = True
    return mask
