"""The schedule: when each move starts and ends, by list scheduling over an event clock.

A move starts as soon as its room is free, the limits leave a slot, and its time has come; other
moves may still run. A board with all moves in flight follows the clock, so both pods of each move
count, no matter in which order moves end or whether one fails.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from heapq import heappop, heappush

from gitbot.kubernetes.names import NamespacedName
from gitbot.model.plan.problem import Pin
from gitbot.planner.plan_types import Draft, Planned, in_any_order
from gitbot.planner.schedule.in_flight import MovesInFlight, selectors
from gitbot.planner.schedule.timing import allowed_times, first_chance
from gitbot.planner.state.plan_state import PlanState


@dataclass(frozen=True, slots=True, kw_only=True)
class Timed:
    """A move with its estimated start and end (seconds UTC)."""

    planned: Planned
    starts: int
    ends: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Timetable:
    """All moves in the order of their starts, and those that found none: (request id, VM).

    `late` moves do not end in their allowed time. `unordered` moves wait for each other.
    """

    timed: tuple[Timed, ...]
    late: frozenset[tuple[str, NamespacedName]] = frozenset()
    unordered: frozenset[tuple[str, NamespacedName]] = frozenset()


def schedule(board: PlanState, drafts: Sequence[Draft], *, eager: bool = True) -> Timetable:
    """Give times to the steps of all drafts. Each step is lawful after the ones before it.

    If `eager`, moves may overtake those before them: then they may wait for each other. In the
    order of the drafts they may still fly together, and a move without a pin may then land where
    its draft did not know of, which a later move may not bear. `narrow` moves land where the drafts
    say. None of these waits for another, unless a draft and the clock disagree about a state: then
    these moves are `unordered`.
    """
    found = Timetable(timed=())
    for quick, narrow in (*(((True, False),) if eager else ()), (False, False), (False, True)):
        found = _Clock(board, drafts, eager=quick, narrow=narrow).run()
        if not found.unordered:
            break
    return found


@dataclass(slots=True, kw_only=True)
class _Waiting:
    """A move that has not started.

    `spans` are the first and last instants at which it may start. `social`: moves of others can
    refuse it, not only missing room on its target. `refused` is the state that refused it.
    """

    planned: Planned
    spans: tuple[tuple[int, int], ...]
    seconds: int
    social: bool
    refused: tuple[int, ...] = ()

    def open(self, now: int) -> bool:
        return any(first <= now <= last for first, last in self.spans)


class _Clock:
    """One attempt. Eager: a move may start before moves that precede it in the order."""

    def __init__(
        self, board: PlanState, drafts: Sequence[Draft], *, eager: bool, narrow: bool
    ) -> None:
        self.flight = MovesInFlight(board, any_order=in_any_order(drafts), narrow=narrow)
        self.eager = eager
        self.facts = board.facts
        items = [item for draft in drafts for item in draft.planned]
        self.free_pins = any(item.step.wish.pin is not Pin.NODE for item in items)
        self.rest = [self._waiting(item) for item in items]
        self.lanes = {
            item.request.id: draft.lanes
            for draft in drafts
            if draft.lanes
            for item in draft.planned
        }
        self.cordons = {
            item.request.id: draft.at_once
            for draft in drafts
            if draft.cordon
            for item in draft.planned
        }
        self.left = Counter((item.request.id, item.group) for item in items)
        self.away = {
            item.request.id: draft.away
            for draft in drafts
            if draft.away is not None
            for item in draft.planned
        }
        self.over: dict[str, set[str]] = defaultdict(set)  # groups whose nodes are back
        self.returns: list[tuple[int, str, str, str]] = []  # time, request, group, node
        self.returned: set[tuple[str, str]] = set()  # request and node: another may empty it too
        self.needs: dict[str, set[tuple[str, str]]] = {}  # by group: what is back before it begins
        self._look_for_returns(board, items)
        self.begun: dict[str, set[str]] = {}
        self.now = board.facts.problem.now
        self.openings = sorted({first for item in self.rest for first, _ in item.spans})
        self.ends: list[tuple[int, int]] = []  # of moves in flight, with their place in `timed`
        self.timed: list[Timed] = []
        self.inbound: Counter[str] = Counter()  # moves in flight, by target
        self.freed: Counter[str] = Counter()  # how often a place became free, by node
        self.landed = 0
        self.social_landed = 0
        self.social = {item.planned.step.vm for item in self.rest if item.social}

    def _look_for_returns(self, board: PlanState, items: Sequence[Planned]) -> None:
        """Which nodes each group needs back. Nodes that no VM has to leave go away at once."""
        emptied = {(item.request.id, item.leaves) for item in items}
        for item in items:
            if item.returned:
                node, request = item.step.node, item.request
                self.needs.setdefault(item.group, set()).add((request.id, node))
                if (request.id, node) not in emptied:
                    emptied.add((request.id, node))
                    begin = first_chance(request, board.facts.problem.now)
                    back = begin + self.away.get(request.id, 0)
                    heappush(self.returns, (back, request.id, node, node))

    def _waiting(self, item: Planned) -> _Waiting:
        vm, transit = item.step.vm, self.flight.air.transit
        seconds = self.facts.copy(vm).seconds
        times = allowed_times(self.facts.problem, item.request, vm)
        terms = selectors(transit.target_pod(vm))
        quotas = vm.namespace in transit.instances.quotas
        return _Waiting(
            planned=item,
            spans=tuple((t.start, t.end - seconds) for t in times if t.start + seconds <= t.end),
            seconds=seconds,
            social=bool(terms or quotas or self.free_pins or self.facts.rules_over(vm)),
        )

    def run(self) -> Timetable:
        """The times of all moves, or of those before the first that finds none.

        Each round passes an opening, lands a move or takes a node back. A move opens, starts and
        lands once, and a node is back once for each group that empties it.
        """
        while self.rest:
            self._start_all()
            if not self._advance():
                timed = tuple(self.timed)
                late = [
                    item for item in self.rest if all(last < self.now for _, last in item.spans)
                ]
                if late:
                    return Timetable(timed=timed, late=frozenset(map(_name, late)))
                # The first one blocks those behind it in the order, which may be lawful.
                return Timetable(timed=timed, unordered=frozenset({_name(self.rest[0])}))
        while self.ends:  # no move starts any more, and each landing takes one out
            self._land()
        return Timetable(timed=tuple(self.timed))

    def _advance(self) -> bool:
        """Go to the next instant at which something may start. False if there is none."""
        later = bisect_right(self.openings, self.now)
        times = [*self.openings[later : later + 1], *(end for end, _ in self.ends[:1])]
        times += [time for time, *_ in self.returns[:1]]
        times += self.flight.next_release
        if self.rest and not times:
            return False
        self.now = min(times, default=self.now)
        self.flight.release(self.now)
        while self.ends and self.ends[0][0] <= self.now:
            self._land()
        while self.returns and self.returns[0][0] <= self.now:
            self._return(*heappop(self.returns)[1:])
        return True

    def _return(self, request: str, group: str, node: str) -> None:
        """An emptied node is back, so its group has ended."""
        self.over[request].add(group)
        if request in self.away:
            self.returned.add((request, node))
            self.freed[node] += 1
            self.flight.air.uncordon([node])

    def _land(self) -> None:
        _, place = heappop(self.ends)
        timed = self.timed[place]
        item = timed.planned
        step = self.flight.land(item.step.vm)
        self.timed[place] = replace(timed, planned=replace(item, step=step))
        key = (item.request.id, item.group)
        self.left[key] -= 1
        if not self.left[key]:
            heappush(self.returns, (self.now + self.away.get(key[0], 0), *key, item.leaves))
        self.inbound[step.node] -= 1
        self.freed[step.source] += 1
        self.landed += 1
        self.social_landed += item.step.vm in self.social

    def _start_all(self) -> None:
        passed: set[NamespacedName] = set()
        ahead: set[str] = set()  # nodes that earlier moves, not yet started, go to
        started: list[int] = []
        for place, item in enumerate(self.rest):
            if self.flight.full:
                break
            step = item.planned.step
            if step.vm not in passed and item.planned.leaves not in ahead and self._starts(item):
                started.append(place)
            elif not self.eager:
                break
            else:
                ahead.add(step.node)
            passed.add(step.vm)
        for place in reversed(started):
            del self.rest[place]

    def _starts(self, item: _Waiting) -> bool:
        """Start a move now if that is possible."""
        planned, step = item.planned, item.planned.step
        state = (self.freed[step.node], self.social_landed, self.landed if item.social else 0)
        if item.refused == state or step.vm in self.flight.steps or not item.open(self.now):
            return False
        if self.inbound[planned.leaves] or not self._lane_free(planned):
            return False
        if self.flight.crowded(step):
            return False
        if not self.flight.admit(step):
            item.refused = state
            return False
        self._begin(item)
        return True

    def _lane_free(self, item: Planned) -> bool:
        lanes = self.lanes.get(item.request.id, 0)
        groups = self.begun.get(item.request.id, set())
        if item.group in groups:
            return True
        if not self.returned.issuperset(self.needs.get(item.group, ())):
            return False
        if not lanes:
            return True
        return len(groups - self.over[item.request.id]) < lanes

    def _begin(self, item: _Waiting) -> None:
        planned = item.planned
        groups = self.begun.setdefault(planned.request.id, set())
        if planned.group not in groups and planned.request.id in self.cordons:
            self.flight.air.cordon(self.cordons[planned.request.id] or [planned.leaves])
        groups.add(planned.group)
        self.inbound[planned.step.node] += 1
        ends = self.now + item.seconds
        heappush(self.ends, (ends, len(self.timed)))
        self.timed.append(Timed(planned=planned, starts=self.now, ends=ends))


def _name(item: _Waiting) -> tuple[str, NamespacedName]:
    return item.planned.request.id, item.planned.step.vm
