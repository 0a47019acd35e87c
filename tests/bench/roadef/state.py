"""An assignment as columns that a move changes in place, with the rules of services as counts."""

from typing import Any

import numpy as np

from gitbot.model.cluster.columns import Mask, Numbers
from tests.bench.roadef.model import Model

Amounts = np.ndarray[tuple[int, ...], np.dtype[np.floating[Any]]]


class State:
    """Where processes are. Process number `nobody` asks for nothing and may go anywhere.

    A load above safety and a lack of balance are both max(0, level): a process adds its row of
    `adds` to the levels of its machine. Resources are sorted, the transient ones last. `room`
    counts what moved processes hold at home, and each of them pays `price` times its share of all
    that can be held; the price is no part of the objective.
    """

    def __init__(self, model: Model) -> None:
        self.model, self.nobody = model, len(model.home)
        order = np.argsort(model.transient, kind="stable")
        self.width, self.steady = len(order), int((~model.transient).sum())
        nothing = np.zeros((1, self.width), dtype=np.int64)
        asks = np.concatenate([model.requirement, nothing])
        free = [(item.target, item.first, item.second) for item in model.balances]
        lacks = [asks[:, two] - target * asks[:, one] for target, one, two in free]
        capacity = model.capacity
        least = [target * capacity[:, one] - capacity[:, two] for target, one, two in free]
        weights = [*model.load_weight[order].tolist(), *(item.weight for item in model.balances)]
        self.adds: Amounts = np.column_stack([asks[:, order], *lacks]).astype(float)
        self.level: Amounts = np.column_stack([-model.safety[:, order], *least]).astype(float)
        self.capacity: Amounts = np.maximum(capacity[:, order], 1).astype(float)
        self.room: Amounts = capacity[:, order].astype(float)
        self.weights: Amounts = np.array(weights, dtype=float)
        self.service = np.append(model.service, len(model.spread))
        self.home = np.append(model.home, -1)
        of_processes, _, of_machines = model.weights
        self.process_move = np.append(model.process_move, 0) * float(of_processes)
        self.machine_move = np.pad(model.machine_move, ((0, 1), (0, 0))) * float(of_machines)
        spare = capacity.sum(axis=0) - model.requirement.sum(axis=0)
        self.hold = (asks / np.maximum(spare, 1))[:, model.transient].sum(axis=1)
        self.pays = self.process_move
        self._count_services()
        self.host = np.full(len(self.home), -1, dtype=np.int64)
        self.on: list[list[int]] = [[] for _ in model.location]
        for process, machine in enumerate(model.home.tolist()):
            self._enter(process, machine)
        np.subtract.at(self.room, model.home, self.adds[:-1, : self.width])
        self.cost = np.maximum(self.level, 0) @ self.weights
        self.moving = 0.0

    def _count_services(self) -> None:
        model = self.model
        services = len(model.spread) + 1
        self.spread = np.append(model.spread, 0)
        self.at = np.zeros((services, len(model.location)), dtype=np.int8)
        self.in_location = np.zeros((services, int(model.location.max()) + 1), dtype=np.int16)
        near = (services, int(model.neighbourhood.max()) + 1)
        self.near = np.zeros(near, dtype=np.int16)
        self.locations = np.zeros(services, dtype=np.int64)
        self.depends = [np.array(sorted(set(others)), dtype=np.int64) for others in model.depends]
        back: list[list[int]] = [[] for _ in model.depends]
        for service, others in enumerate(self.depends):
            for other in others.tolist():
                back[other].append(service)
        self.needed_by = [np.array(others, dtype=np.int64) for others in back]
        self.missing = np.zeros(near, dtype=np.int64)  # services that it lacks there
        self.missing[:-1] = np.array([len(others) for others in self.depends])[:, None]
        self.needed = np.zeros(near, dtype=np.int64)  # services there that depend on it

    @property
    def total(self) -> float:
        """The objective without the moves of services."""
        return float(self.cost.sum()) + self.moving

    def charge(self, price: float) -> None:
        """From now on what is held at home costs so much."""
        self.pays = self.process_move + price * self.hold

    def moves(self, processes: Numbers, source: int, target: int) -> Amounts:
        """What going to another machine adds to each process's own costs, the price included."""
        home = self.home[processes]
        away = (home == source) * 1.0 - (home == target)
        paid = self.machine_move[:, target] - self.machine_move[:, source]
        found: Amounts = away * self.pays[processes] + paid[home]
        return found

    def may(self, processes: Numbers, source: int, target: int) -> Mask:
        """Whether the rules of services let each process go from one machine to another."""
        model, services = self.model, self.service[processes]
        ok: Mask = self.at[services, target] == 0
        here, there = model.location[source], model.location[target]
        if here != there:
            change = self.in_location[services, there] == 0
            left = self.locations[services] - (self.in_location[services, here] == 1)
            ok &= left + change >= self.spread[services]
        here, there = model.neighbourhood[source], model.neighbourhood[target]
        if here != there:
            ok &= self.missing[services, there] == 0
            ok &= (self.near[services, here] > 1) | (self.needed[services, here] == 0)
        ok |= processes == self.nobody
        return ok

    def shift(self, process: int, target: int) -> None:
        """Move a process. Nothing is checked."""
        source, home = int(self.host[process]), int(self.home[process])
        away = int(target != home) - int(source != home)
        paid = self.machine_move[home, target] - self.machine_move[home, source]
        self.moving += away * float(self.process_move[process]) + float(paid)
        self._leave(process, source)
        self._enter(process, target)
        for machine, sign in ((source, 1), (target, -1)):
            freed = self.steady if machine == home else self.width
            self.room[machine, :freed] += sign * self.adds[process, :freed]
            self.cost[machine] = np.maximum(self.level[machine], 0) @ self.weights

    def _enter(self, process: int, machine: int) -> None:
        service = self.service[process]
        self.host[process] = machine
        self.on[machine].append(process)
        self.level[machine] += self.adds[process]
        self.at[service, machine] += 1
        location, near = self.model.location[machine], self.model.neighbourhood[machine]
        self.in_location[service, location] += 1
        self.locations[service] += self.in_location[service, location] == 1
        self.near[service, near] += 1
        if self.near[service, near] == 1:
            self.missing[self.needed_by[service], near] -= 1
            self.needed[self.depends[service], near] += 1

    def _leave(self, process: int, machine: int) -> None:
        service = self.service[process]
        self.on[machine].remove(process)
        self.level[machine] -= self.adds[process]
        self.at[service, machine] -= 1
        location, near = self.model.location[machine], self.model.neighbourhood[machine]
        self.in_location[service, location] -= 1
        self.locations[service] -= self.in_location[service, location] == 0
        self.near[service, near] -= 1
        if self.near[service, near] == 0:
            self.missing[self.needed_by[service], near] += 1
            self.needed[self.depends[service], near] -= 1
