"""All states of a tiny problem at once, where any VM may move: what the best plan costs.

Counts of its own over arrays with one entry for each state; it shares no code with the planner or
with `constraints`. A state is a row of node numbers, one for each VM.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from tests.laws.tiny import State, Tiny, TinyRule

Flags = npt.NDArray[np.bool_]
Counts = npt.NDArray[np.int64 | np.int8]
Edge = tuple[int, int]
"""Of one VM to one node, by their numbers."""
Route = list[Edge]
FAR = 1 << 40
MOVE = 1 << 16
"""A cost is moves times MOVE, plus GiB moved."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Best:
    """What stays undone at least, the least moves and GiB of that, and one such plan."""

    undone: int
    moves: int
    memory: int
    route: Route


@dataclass(frozen=True, slots=True, kw_only=True)
class _Turn:
    """The least costs before and after one node's turn, or the only turn there is."""

    begin: Counts
    found: Counts
    closed: frozenset[int]


@dataclass
class Space:
    """`own`: what VMs' own podAffinity asks for is law as well while they run.

    No lawful move fills a node beyond its room or beyond what was on it, nor breaks a rule more
    than it was. Without `whole` only the states are here for which that is true from the start on.
    """

    case: Tiny
    own: bool = True
    whole: bool = False
    edges: dict[Edge, Flags] = field(init=False)

    def __post_init__(self) -> None:
        case = self.case
        vms, nodes = len(case.vms), len(case.nodes)
        self.domain = {
            "host": list(range(nodes)),
            "zone": [
                sorted({item.zone for item in case.nodes}).index(item.zone) for item in case.nodes
            ],
        }
        self.rules = [(rule, self._members(rule)) for rule in case.rules if rule.required]
        if self.own:
            self.rules += [
                (TinyRule(shape="near", app=item.app, domain=item.beside, required=True), [number])
                for number, item in enumerate(case.vms)
                if item.beside
            ]
        self.weights = nodes ** np.arange(vms)[::-1]
        self.places = self._states()
        if not self.whole:
            for rule, members in self.rules:
                amounts = self._amounts(rule, members, self._held())
                start = (self.places == case.start).all(axis=1)
                self.places = self.places[(amounts <= amounts[start]).all(axis=1)]
        self.held = self._held()
        self.used = np.stack(
            [(self.places == node) @ [item.size for item in case.vms] for node in range(nodes)]
        )
        self.still = [self._amounts(rule, members, self.held) for rule, members in self.rules]
        self.columns = np.ascontiguousarray(self.places.T)
        self.number = np.full(nodes**vms, -1)
        self.codes = self.places @ self.weights
        self.number[self.codes] = np.arange(len(self.places))
        self.ends = {edge: self._after(*edge) for edge in self._edges()}
        self.edges = {edge: self._lawful(*edge) for edge in self.ends}

    def _edges(self) -> Iterator[Edge]:
        for mover, item in enumerate(self.case.vms):
            for target in range(len(self.case.nodes) if item.migratable else 0):
                yield mover, target

    def _states(self) -> Counts:
        """The nodes of all VMs, VM by VM: (states, VMs)."""
        case, every = self.case, np.arange(len(self.case.nodes))
        filled = [sum(item.size for item in case.vms if item.on == node) for node in every]
        most = np.maximum(filled, [item.room for item in case.nodes])
        places, used = np.zeros((1, 0), dtype=np.int64), np.zeros((1, len(every)), dtype=np.int64)
        for item in case.vms:
            where = every if self.whole or item.migratable else every[[item.on]]
            ends = np.tile(where, len(places))
            places = np.column_stack([places.repeat(len(where), axis=0), ends])
            used = used.repeat(len(where), axis=0)
            used[np.arange(len(ends)), ends] += item.size
            if not self.whole:
                fits = (used <= most).all(axis=1)
                places, used = places[fits], used[fits]
        return places

    def _held(self) -> Flags:
        held: Flags = self.places[:, :, None] == np.arange(len(self.case.nodes))
        return held

    def at(self, state: State) -> int:
        """The number of a state."""
        found = int(self.number[np.array(state) @ self.weights])
        assert found >= 0, (self.case, state)
        return found

    def _members(self, rule: TinyRule) -> list[int]:
        return [number for number, item in enumerate(self.case.vms) if item.app == rule.app]

    # the law

    def _domains(self, held: Flags, domain: str) -> Flags:
        """In which domains each VM holds a place: (states, VMs, domains)."""
        if domain == "host":
            return held
        column = np.array(self.domain[domain])
        parts = [held[:, :, column == number].any(axis=2) for number in range(column.max() + 1)]
        return np.stack(parts, axis=2)

    def _amounts(self, rule: TinyRule, members: list[int], held: Flags) -> Counts:
        """The breaches of a rule by key (domain or VM): (states, keys)."""
        if rule.shape == "fast":
            slow = [number for number, node in enumerate(self.case.nodes) if not node.fast]
            return np.asarray(held[:, members][:, :, slow].any(axis=2), dtype=np.int8)
        domains = self._domains(held, rule.domain)
        friends = [number for number, item in enumerate(self.case.vms) if item.app == "y"]
        if rule.shape == "near":
            return self._alone(members, friends, domains)
        if rule.shape == "apart":
            pairs = {frozenset({a, b}) for a in members for b in friends if a != b}
            found = np.zeros((len(held), domains.shape[2]), np.int8)
            for one, other in map(sorted, pairs):
                found += domains[:, one] & domains[:, other]
            return found
        counts: Counts = domains[:, members].sum(axis=1, dtype=np.int8)
        if rule.shape == "most":
            return (counts - rule.most).clip(0)
        skew: Counts = counts.max(axis=1, keepdims=True) - counts.min(axis=1, keepdims=True) - 1
        return skew.clip(0)

    def _alone(self, members: list[int], friends: list[int], domains: Flags) -> Counts:
        found = np.zeros((len(domains), len(members)), np.int8)
        for place, member in enumerate(members):
            others = [other for other in friends if other != member]
            if others or member not in friends:
                company = domains[:, others].any(axis=1)
                found[:, place] = (domains[:, member] & ~company).any(axis=1)
        return found

    def _lawful(self, mover: int, target: int) -> Flags:
        """In which states this move may start."""
        case, item = self.case, self.case.vms[mover]
        ends = self.ends[mover, target]
        good: Flags = (self.columns[mover] != target) & (ends >= 0)
        good &= self.used[target] + item.size <= case.nodes[target].room
        if item.fast and not case.nodes[target].fast:
            good[:] = False
        for number, other in enumerate(case.vms):
            for domain in {item.apart, other.apart} - {""} if other.app == item.app else ():
                good &= ~self._domains(self.held, domain)[:, number, self.domain[domain][target]]
        if item.beside:
            friends = [number for number, other in enumerate(case.vms) if other.app == "y"]
            here = self.domain[item.beside][target]
            good &= self._domains(self.held, item.beside)[:, friends, here].any(axis=1)
        for (rule, members), before in zip(self.rules, self.still, strict=True):
            if mover not in members and not (rule.shape in ("near", "apart") and item.app == "y"):
                continue  # no place that the rule counts changes
            open_ = np.flatnonzero(good)
            during, after = self.held[open_], ends[open_]
            during[:, mover, target] = True
            kept = (self._amounts(rule, members, during) <= before[open_]).all(axis=1)
            good[open_] = kept & (before[after] <= before[open_]).all(axis=1)
        return good

    def _after(self, mover: int, target: int) -> Counts:
        """The state that each state leads to: (states,); -1 for one that is not here."""
        moved = (target - self.columns[mover]) * self.weights[mover]
        found: Counts = self.number[self.codes + moved]
        return found

    # what can be reached

    def reach(
        self, begin: Counts, closed: frozenset[int], movers: frozenset[int] | None = None
    ) -> Counts:
        """The least cost of every state from states with a cost, without moves to closed nodes."""
        cost = begin.copy()
        open_ = [
            (np.flatnonzero(lawful), self.ends[mover, target][lawful], mover)
            for (mover, target), lawful in self.edges.items()
            if target not in closed and (movers is None or mover in movers)
        ]
        changed = True
        while changed:
            before = cost.copy()
            for sources, ends, mover in open_:
                price = MOVE + self.case.vms[mover].size
                np.minimum.at(cost, ends, cost[sources] + price)
            changed = bool((cost < before).any())
        return cost

    def reachable(self) -> Flags:
        """Whether lawful moves lead to each state, if all nodes are open."""
        found: Flags = self.reach(self._begun(), frozenset()) < FAR
        return found

    def _begun(self) -> Counts:
        cost = np.full(len(self.places), FAR)
        cost[self.at(self.case.start)] = 0
        return cost

    def helped(self) -> bool:
        """Whether more can be done if other VMs than those of the goal may move as well."""
        return self.best().undone < self.best(self.named()).undone

    def named(self) -> frozenset[int]:
        """The VMs that the goal is about."""
        case = self.case
        if case.kind == "heal":
            return frozenset(self._members(case.rules[0]))
        if case.kind in ("empty", "leave"):
            return frozenset(n for n, item in enumerate(case.vms) if item.on in case.goal_nodes)
        return frozenset(case.goal_vms)

    def best(self, movers: frozenset[int] | None = None) -> Best:
        """The best plan there is; with `movers`, of those that move only these VMs."""
        cost = self._begun()
        drained = self.case.goal_nodes if self.case.kind in ("empty", "leave") else ()
        turns: list[_Turn] = []
        for number in range(max(1, len(drained))):
            closed = frozenset(drained[: number + 1])
            found = self.reach(cost, closed, movers)
            turns.append(_Turn(begin=cost, found=found, closed=closed))
            if self.case.kind == "empty":  # the node as it was, or whole
                there = self.held[:, :, drained[number]].any(axis=1)
                found = np.where(there, cost, np.minimum(found, cost))
            cost = found
        left = self.undone()
        ranks = np.where((cost < FAR) & self._stays(), left * (FAR >> 8) + cost, 1 << 60)
        end = int(ranks.argmin())
        moves, memory = divmod(int(cost[end]), MOVE)
        route = self._route(turns, end)
        return Best(undone=int(left[end]), moves=moves, memory=memory, route=route)

    def _route(self, turns: list[_Turn], end: int) -> Route:
        """The moves of a cheapest way to a state."""
        route: Route = []
        here = end
        for turn in reversed(turns):
            while turn.begin[here] > turn.found[here]:
                mover, before = self._step_before(turn, here)
                route.append((mover, int(self.places[here, mover])))
                here = before
        return route[::-1]

    def _step_before(self, turn: _Turn, here: int) -> tuple[int, int]:
        for (mover, target), lawful in self.edges.items():
            if self.places[here, mover] == target and target not in turn.closed:
                price = MOVE + self.case.vms[mover].size
                for before in np.flatnonzero(lawful & (self.ends[mover, target] == here)):
                    if turn.found[before] + price == turn.found[here]:
                        return mover, int(before)
        raise AssertionError((self.case, self.places[here]))

    # the goal

    def undone(self) -> Counts:
        """What is left of the goal in every state: VMs, nodes, or amounts of breaches."""
        case, places = self.case, self.places
        left = np.zeros(len(places), np.int64)
        if case.kind == "heal":
            left = self._amounts(case.rules[0], self._members(case.rules[0]), self.held).sum(axis=1)
        elif case.kind in ("empty", "leave"):
            free = [
                number
                for number, item in enumerate(case.vms)
                if item.migratable or case.kind == "empty"
            ]
            for host in case.goal_nodes:
                left += self.held[:, free, host].any(axis=1)
        else:
            for place, number in enumerate(case.goal_vms):
                left += ~np.array(
                    [self.content(place, number, node) for node in range(len(case.nodes))]
                )[places[:, number]]
        return left

    def _stays(self) -> Flags:
        """The states in which each VM that a request asks for, and has already, is still there."""
        kept: Flags = np.ones(len(self.places), np.bool_)
        if self.case.kind in ("node", "zone", "two"):
            for place, number in enumerate(self.case.goal_vms):
                if self.content(place, number, self.case.vms[number].on):
                    nodes = range(len(self.case.nodes))
                    good = np.array([self.content(place, number, node) for node in nodes])
                    kept &= good[self.places[:, number]]
        return kept

    def content(self, place: int, number: int, node: int) -> bool:
        case = self.case
        match case.kind:
            case "zone":
                return case.nodes[node].zone == case.zone
            case "anywhere":
                return node != case.vms[number].on
            case "home":
                return node == case.goal_nodes[place]
            case "two":
                return node == case.goal_nodes[0 if place < (len(case.goal_vms) + 1) // 2 else 1]
            case _:
                return node == case.goal_nodes[0]


@lru_cache(maxsize=1)
def space_of(case: Tiny) -> Space:
    """The states of a case. Kept until the next case: they are large."""
    return Space(case)
