"""What brute force knows of a tiny problem.

It shares no code with the planner or with `constraints`: it counts memory, labels, pods and rules
by itself, in every state of every move, and walks all states there are.
"""

import heapq
from collections.abc import Iterator, Mapping, Sequence

from gitbot.model.plan.plan import PlacementPlan
from tests.laws.tiny import State, Tiny, TinyRule

Cost = tuple[int, int]
"""Moves, then GiB moved."""


class Brute:
    """All that can be known of a tiny problem by trying everything."""

    def __init__(self, case: Tiny, *, own: bool = False) -> None:
        """`own`: what VMs' own podAffinity asks for is law as well while they run."""
        self.case = case
        self.law = [(rule, self._members(rule)) for rule in case.rules if rule.required]
        if own:
            self.law += [
                (TinyRule(shape="near", app=item.app, domain=item.beside, required=True), [number])
                for number, item in enumerate(case.vms)
                if item.beside
            ]
        self.closed = frozenset(case.goal_nodes if case.kind in ("empty", "leave") else ())
        self.begun = self.closed  # nodes that cannot be a target now

    # what is lawful

    def _members(self, rule: TinyRule) -> list[int]:
        return [number for number, item in enumerate(self.case.vms) if item.app == rule.app]

    def breaches(
        self, rule: TinyRule, places: Sequence[frozenset[int]], members: Sequence[int] | None = None
    ) -> dict[object, int]:
        """Amount by domain (or VM) of one rule; `places` are the nodes that each VM holds."""
        vms = self._members(rule) if members is None else members
        match rule.shape:
            case "most":
                counts = self._counts(vms, rule.domain, places)
                return {
                    key: count - rule.most for key, count in counts.items() if count > rule.most
                }
            case "fast":
                slow = {number for number, node in enumerate(self.case.nodes) if not node.fast}
                return {number: 1 for number in vms if places[number] & slow}
            case "even":
                counts = self._counts(vms, rule.domain, places)
                skew = max(counts.values()) - min(counts.values()) - 1
                return {"skew": skew} if skew > 0 else {}
            case "near":
                return {number: 1 for number in vms if self._alone(number, rule, places)}
            case "apart":
                return self._pairs(vms, rule, places)

    def _counts(
        self, vms: Sequence[int], domain: str, places: Sequence[frozenset[int]]
    ) -> dict[object, int]:
        counts: dict[object, int] = {
            self._domain(number, domain): 0 for number in range(len(self.case.nodes))
        }
        for number in vms:
            for key in {self._domain(place, domain) for place in places[number]}:
                counts[key] += 1
        return counts

    def _alone(self, number: int, rule: TinyRule, places: Sequence[frozenset[int]]) -> bool:
        """Whether one of its places has no other "y" near; one "y" without others may be alone."""
        others = [
            {self._domain(place, rule.domain) for place in places[other]}
            for other, item in enumerate(self.case.vms)
            if item.app == "y" and other != number
        ]
        if not others and rule.app == "y":
            return False
        here = {self._domain(place, rule.domain) for place in places[number]}
        return not here <= set().union(*others)

    def _pairs(
        self, vms: Sequence[int], rule: TinyRule, places: Sequence[frozenset[int]]
    ) -> dict[object, int]:
        """Pairs of a VM and another "y" in each domain."""
        pairs: dict[object, set[frozenset[int]]] = {}
        for number in vms:
            here = {self._domain(place, rule.domain) for place in places[number]}
            for other, item in enumerate(self.case.vms):
                if item.app == "y" and other != number:
                    there = {self._domain(place, rule.domain) for place in places[other]}
                    for key in here & there:
                        pairs.setdefault(key, set()).add(frozenset({number, other}))
        return {key: len(found) for key, found in pairs.items()}

    def _domain(self, place: int, domain: str) -> object:
        return self.case.nodes[place].zone if domain == "zone" else place

    def worse(
        self,
        before: Sequence[frozenset[int]],
        after: Sequence[frozenset[int]],
        group: frozenset[int] = frozenset(),
    ) -> bool:
        """Whether a required rule has a new or a larger breach.

        VMs of the `group` move as one, so what keeps them together may be broken for them.
        """
        for rule, members in self.law:
            old = self.breaches(rule, before, members)
            new = self.breaches(rule, after, members)
            spared = group if rule.shape == "near" else frozenset[int]()
            if any(amount > old.get(key, 0) for key, amount in new.items() if key not in spared):
                return True
        return False

    def fits(self, places: Sequence[frozenset[int]], mover: int, target: int) -> bool:
        """Whether the scheduler takes the target pod, all held places counted."""
        case, item = self.case, self.case.vms[mover]
        used = sum(other.size for number, other in enumerate(case.vms) if target in places[number])
        if used + item.size > case.nodes[target].room:
            return False
        if item.fast and not case.nodes[target].fast:
            return False
        return self._apart(places, mover, target) and self._beside(places, mover, target)

    def _apart(self, places: Sequence[frozenset[int]], mover: int, target: int) -> bool:
        item = self.case.vms[mover]
        for number, other in enumerate(self.case.vms):
            if other.app != item.app:
                continue
            for domain in {item.apart, other.apart} - {""}:
                here = self._domain(target, domain)
                if any(self._domain(place, domain) == here for place in places[number]):
                    return False
        return True

    def _beside(self, places: Sequence[frozenset[int]], mover: int, target: int) -> bool:
        item = self.case.vms[mover]
        if not item.beside:
            return True
        friends = [
            place
            for number, other in enumerate(self.case.vms)
            if other.app == "y"
            for place in places[number]
        ]
        here = self._domain(target, item.beside)
        return any(self._domain(place, item.beside) == here for place in friends)

    def lawful(self, state: State, mover: int, target: int) -> bool:
        """Whether one move alone keeps the law from here."""
        if state[mover] == target or target in self.begun:
            return False
        if not self.case.vms[mover].migratable:
            return False
        before = held(state)
        if not self.fits(before, mover, target):
            return False
        during, after = list(before), list(before)
        during[mover] = frozenset({state[mover], target})
        after[mover] = frozenset({target})
        return not self.worse(before, during) and not self.worse(before, after)

    # what can be reached

    def reach(self, begin: Mapping[State, Cost], movers: Sequence[int]) -> dict[State, Cost]:
        """Every state that lawful moves of the movers lead to, each with its least cost."""
        found = dict(begin)
        queue = [(cost, state) for state, cost in begin.items()]
        heapq.heapify(queue)
        while queue:
            cost, state = heapq.heappop(queue)
            if found[state] < cost:
                continue
            for mover in movers:
                onward = (cost[0] + 1, cost[1] + self.case.vms[mover].size)
                for target in range(len(self.case.nodes)):
                    there = (*state[:mover], target, *state[mover + 1 :])
                    if there in found and found[there] <= onward:
                        continue
                    if self.lawful(state, mover, target):
                        found[there] = onward
                        heapq.heappush(queue, (onward, there))
        return found

    def best(self) -> tuple[int, Cost]:
        """What stays undone at least, and the least cost of that."""
        start: dict[State, Cost] = {self.case.start: (0, 0)}
        if self.closed:
            for number, host in enumerate(self.case.goal_nodes):
                self.begun = frozenset(self.case.goal_nodes[: number + 1])
                start = self._emptied(start, host)
            return min((self.undone(state), cost) for state, cost in start.items())
        found = self.reach(start, self.movers())
        return min((self.undone(state), cost) for state, cost in found.items())

    def _emptied(self, begin: Mapping[State, Cost], host: int) -> dict[State, Cost]:
        """All states after one node's turn: left as it was, or (with `leave`: partly) emptied."""
        result = dict(begin)
        groups: dict[tuple[int, ...], dict[State, Cost]] = {}
        for state, cost in begin.items():
            there = tuple(number for number, place in enumerate(state) if place == host)
            groups.setdefault(there, {})[state] = cost
        for there, states in groups.items():
            for state, cost in self.reach(states, there).items():
                if self.case.kind == "leave" or host not in state:
                    result[state] = min(cost, result.get(state, cost))
        return result

    def movers(self) -> tuple[int, ...]:
        """The VMs that a plan may move."""
        case = self.case
        if case.kind == "heal":
            rule = case.rules[0]
            apps = {rule.app, "y"} if rule.shape in ("near", "apart") else {rule.app}
            return tuple(number for number, item in enumerate(case.vms) if item.app in apps)
        if self.closed:
            return tuple(number for number, place in enumerate(case.start) if place in self.closed)
        return tuple(
            number for number in case.goal_vms if not self.content(number, case.start[number])
        )

    def content(self, number: int, place: int) -> bool:
        """Whether a VM of the goal is where it was asked to go."""
        case = self.case
        match case.kind:
            case "node":
                return place == case.goal_nodes[0]
            case "two":
                first = case.goal_vms.index(number) < (len(case.goal_vms) + 1) // 2
                return place == case.goal_nodes[0 if first else 1]
            case "zone":
                return case.nodes[place].zone == case.zone
            case "anywhere":
                return place != case.start[number]
            case "home":
                return place == case.goal_nodes[case.goal_vms.index(number)]
            case _:
                return place not in self.closed

    def undone(self, state: State) -> int:
        """What is left of the goal: VMs, nodes, or amounts of breaches."""
        case = self.case
        if case.kind == "heal":
            return sum(self.breaches(case.rules[0], held(state)).values())
        if case.kind == "empty":
            return sum(1 for host in case.goal_nodes if host in state)
        if case.kind == "leave":
            there = [
                [number for number, place in enumerate(state) if place == host]
                for host in case.goal_nodes
            ]
            free = [[number for number in vms if case.vms[number].migratable] for vms in there]
            return 10 * sum(1 for vms in free if vms) + sum(map(len, free))
        return sum(1 for number in case.goal_vms if not self.content(number, state[number]))

    # what a plan does

    def walk(self, plan: PlacementPlan) -> State:
        """Carry a plan out, wave by wave, in every order and with every failure; AssertionError.

        A group that a rule keeps together is together again when its last VM has landed.
        """
        state = self.case.start
        hosts = {item.name: number for number, item in enumerate(self.case.nodes)}
        numbers = {item.name: number for number, item in enumerate(self.case.vms)}
        group = frozenset(numbers[move.vm.name] for move in plan.moves if move.as_one)
        last = max((move.wave for move in plan.moves if move.as_one), default=0)
        first_state: State | None = None
        for wave in plan.waves:
            moves = {
                numbers[move.vm.name]: hosts[move.to.node]
                for move in plan.moves
                if move.wave == wave.index
            }
            assert moves, "a wave without moves"
            spared = group if wave.index <= last else frozenset[int]()
            if first_state is None and group & moves.keys():
                first_state = state
            self._check_wave(state, moves, spared)
            state = tuple(moves.get(number, place) for number, place in enumerate(state))
            if wave.index == last and first_state is not None:  # the group has landed
                whole = not self.worse(held(first_state), held(state))
                assert whole, ("group", self.case, first_state, state)
        return state

    def _check_wave(
        self, state: State, moves: Mapping[int, int], spared: frozenset[int] = frozenset()
    ) -> None:
        ground = held(state)
        for places in stages(state, moves):
            assert not self.worse(ground, places, spared), ("rule", self.case, state, moves, places)
        for mover, target in moves.items():
            others = {number: to for number, to in moves.items() if number != mover}
            for places in stages(state, others):
                assert self.fits(places, mover, target), ("room", self.case, state, moves, places)


def held(state: State) -> list[frozenset[int]]:
    """The places held when nothing moves."""
    return [frozenset({place}) for place in state]


def stages(state: State, moves: Mapping[int, int]) -> Iterator[list[frozenset[int]]]:
    """Every state of some moves: each not started, in flight, or done."""
    if not moves:
        yield held(state)
        return
    mover, target = next(iter(moves.items()))
    rest = {number: to for number, to in moves.items() if number != mover}
    for places in stages(state, rest):
        source = state[mover]
        for own in (frozenset({source}), frozenset({source, target}), frozenset({target})):
            yield [own if number == mover else held for number, held in enumerate(places)]
