"""Simulated annealing over pairs of machines: all exchanges and single moves of a pair at once.

Where moved processes keep holding room at home, that room is what is scarce. So it has a price,
high at first and falling: what gains the most for what it holds moves first.
"""

import random
import time

import numpy as np

from gitbot.model.cluster.columns import Numbers
from tests.bench.roadef.checker import lower_bound, objective
from tests.bench.roadef.model import Model
from tests.bench.roadef.state import Amounts, State

MOST = 30  # processes of a machine that are looked at together
_FIRST = 2 / 3  # of the time: the first cooling
_AGAIN = 8  # coolings from the best state, in the rest of the time
_HEAT = (500.0, 1700.0, 1700.0, 400.0)  # of the first cooling, then of the others in turn
_COLD = 0.01  # heat at the end of a cooling, as a share
_PRICE = ((0.6, 0.002), (0.05, 0.001))  # of all that can be held: first cooling, and others
_ROUND = 50  # steps between two looks at the clock
_TINY = 1e-30


class Search:
    """One search from the given assignment; equal seeds and heats take equal steps."""

    def __init__(self, model: Model, seed: int) -> None:
        self.state, self.draw = State(model), random.Random(seed)
        self.noise = np.random.default_rng(seed)
        self.best, self.least = self.state.host[:-1].copy(), self.state.total
        self.heat = 0.0

    def step(self) -> None:
        """Look at one pair of machines, and take one of its exchanges, the cheaper the likelier."""
        one, two = self.draw.sample(range(len(self.state.on)), 2)
        left, right = self._some(one, two), self._some(two, one)
        rows, columns = self._with_room(one, two, left, right)
        left, right = left[rows], right[columns]
        delta = self._added(one, two, left, right)
        delta += self.heat * np.log(self.noise.standard_exponential(len(delta)) + _TINY)
        best = int(delta.argmin())
        self._take(int(left[best]), int(right[best]), one, two)

    def _some(self, machine: int, other: int) -> Numbers:
        """Processes that may go to the other machine, and nobody at the end."""
        here = self.state.on[machine]
        some = here if len(here) <= MOST else self.draw.sample(here, MOST)
        processes = np.array([*some, self.state.nobody])
        return processes[self.state.may(processes, machine, other)]

    def _with_room(
        self, one: int, two: int, left: Numbers, right: Numbers
    ) -> tuple[Numbers, Numbers]:
        """The exchanges that both machines have room for, as positions on both sides.

        The scarcest resource of each is asked first. The last one is that nobody goes.
        """
        room = self.state.room
        in_one, in_two = self._asks(right, one), self._asks(right, two)
        mine_one, mine_two = self._asks(left, one), self._asks(left, two)
        first, second = self._scarce(one), self._scarce(two)
        ok = in_one[:, first] - mine_one[:, first, None] <= room[one, first]
        ok &= mine_two[:, second, None] - in_two[:, second] <= room[two, second]
        rows, columns = np.divmod(np.flatnonzero(ok), len(right))
        fits = (in_one[columns] - mine_one[rows] <= room[one]).all(axis=1)
        fits &= (mine_two[rows] - in_two[columns] <= room[two]).all(axis=1)
        return rows[fits], columns[fits]

    def _scarce(self, machine: int) -> int:
        return int((self.state.room[machine] / self.state.capacity[machine]).argmin())

    def _asks(self, processes: Numbers, machine: int) -> Amounts:
        """The room that processes take or give back on a machine: none that they hold at home."""
        state = self.state
        found: Amounts = state.adds[processes, : state.width]
        at_home = state.home[processes] == machine
        if state.steady < state.width and at_home.any():
            found[at_home, state.steady :] = 0
        return found

    def _added(self, one: int, two: int, left: Numbers, right: Numbers) -> Amounts:
        """What each exchange adds to the costs."""
        state = self.state
        gain = state.adds[right] - state.adds[left]
        delta: Amounts = np.maximum(state.level[one] + gain, 0) @ state.weights
        delta += np.maximum(state.level[two] - gain, 0) @ state.weights
        delta += state.moves(left, one, two) + state.moves(right, two, one)
        delta -= state.cost[one] + state.cost[two]
        return delta

    def _take(self, left: int, right: int, one: int, two: int) -> None:
        """Carry the exchange out, one move after the other, unless a service's rule forbids it."""
        state = self.state
        done: list[tuple[int, int]] = []
        for process, source, target in ((left, one, two), (right, two, one)):
            if process == state.nobody:
                continue
            if not state.may(np.array([process]), source, target)[0]:
                for moved, back in done:
                    state.shift(moved, back)
                return
            state.shift(process, target)
            done.append((process, source))

    def keep(self) -> None:
        """Remember the state if it is the best."""
        if self.state.total < self.least:
            self.best, self.least = self.state.host[:-1].copy(), self.state.total

    def restore(self) -> None:
        """Go back to the best state."""
        for process in np.flatnonzero(self.state.host[:-1] != self.best).tolist():
            self.state.shift(process, int(self.best[process]))


def improved(model: Model, *, seed: int, seconds: float) -> Numbers:
    """The best assignment found within so many seconds of the processor.

    Price is in units of what there is to gain. So is heat, shared by all pairs of processes.
    """
    began = time.process_time()
    search = Search(model, seed)
    gain = max(objective(model, model.home) - lower_bound(model), 1)
    unit = gain / len(model.home) ** 2
    ends = [seconds * (_FIRST + (1 - _FIRST) * turn / _AGAIN) for turn in range(_AGAIN + 1)]
    start = 0.0
    for turn, end in enumerate(ends):
        hot = unit * _HEAT[0 if turn == 0 else 1 + turn % (len(_HEAT) - 1)]
        dear, cheap = _PRICE[turn > 0]
        while (share := (time.process_time() - began - start) / (end - start)) < 1:
            search.heat = hot * _COLD**share
            search.state.charge(gain * dear * (cheap / dear) ** share)
            for _ in range(_ROUND):
                search.step()
            search.keep()
        search.restore()
        start = end
    return search.best
