"""Peer of the planner: CP-SAT of ortools, over end states only; it knows of no order of moves."""

import random
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.bench.instance import Instance, Move

CANDIDATES = 24
WORKERS = 2
MOVE = 100_000 * 1024  # MiB: one move less is worth more than any memory


@dataclass(frozen=True, slots=True, kw_only=True)
class Solved:
    """Moves to an end state; `proven`: no end state of this model is better."""

    moves: tuple[Move, ...]
    proven: bool


MISSING = "CP-SAT is not installed: `make bench` installs it"


def installed() -> bool:
    try:
        import ortools  # noqa: F401, PLC0415
    except ImportError:
        return False
    return True


def pruned(case: Instance, *, seconds: float = 60, seed: int = 1) -> Solved | None:
    """Only displaced VMs move, each to one of some candidates that would take it alone."""
    draw = random.Random(seed)
    cpu = case.cpu - case.used(case.vm_cpu)
    memory = case.memory - case.used(case.vm_memory)
    cpu[list(case.drained)] = -1
    near = {vm for group in case.together for vm in group}
    allowed = {}
    for vm in case.displaced.tolist():
        good = (cpu >= case.vm_cpu[vm]) & (memory >= case.vm_memory[vm])
        if vm in near:
            good &= case.zone == case.zone[case.host[vm]]
        found = np.flatnonzero(good).tolist()
        allowed[vm] = sorted(draw.sample(found, min(CANDIDATES, len(found))))
    return _Model(case, allowed).solve(seconds)


def whole(case: Instance, *, seconds: float) -> Solved | None:
    """Every VM may move to every open node."""
    open_nodes = sorted(set(range(len(case.cpu))) - set(case.drained))
    return _Model(case, dict.fromkeys(range(len(case.host)), open_nodes)).solve(seconds)


class _Model:
    """A variable for each VM and node that it may go to; its own node is one of them if open."""

    def __init__(self, case: Instance, allowed: dict[int, list[int]]) -> None:
        from ortools.sat.python import cp_model  # noqa: PLC0415

        self.cp: Any = cp_model
        self.case = case
        self.model: Any = cp_model.CpModel()
        self.goes: dict[int, dict[int, Any]] = {
            vm: {node: self.model.new_bool_var("") for node in nodes}
            for vm, nodes in allowed.items()
        }
        for places in self.goes.values():
            self.model.add_exactly_one(places.values())
        self._capacity(case.vm_cpu, case.cpu)
        self._capacity(case.vm_memory, case.memory)
        for group in case.apart_hosts:
            self._apart(group, np.arange(len(case.cpu)))
        for group in case.apart_zones:
            self._apart(group, case.zone)
        for group in case.together:
            self._together(group)
        self.model.minimize(self._effort())

    def _capacity(self, columns: Any, capacity: Any) -> None:
        stay = np.ones(len(self.case.host), bool)
        stay[list(self.goes)] = False
        standing = np.bincount(
            self.case.host[stay], weights=columns[stay], minlength=len(capacity)
        ).astype(int)
        coming: dict[int, list[Any]] = {}
        amounts: dict[int, list[int]] = {}
        for vm, places in self.goes.items():
            for node, variable in places.items():
                coming.setdefault(node, []).append(variable)
                amounts.setdefault(node, []).append(int(columns[vm]))
        for node, variables in coming.items():
            total = self.cp.LinearExpr.weighted_sum(variables, amounts[node])
            self.model.add(total <= int(capacity[node] - standing[node]))

    def _apart(self, group: Iterable[int], domain: Any) -> None:
        """At most one of the group in a domain; who does not move is there already."""
        taken = {int(domain[self.case.host[vm]]) for vm in group if vm not in self.goes}
        coming: dict[int, list[Any]] = {}
        for vm in group:
            for node, variable in self.goes.get(vm, {}).items():
                coming.setdefault(int(domain[node]), []).append(variable)
        for number, variables in coming.items():
            self.model.add(sum(variables) <= (0 if number in taken else 1))

    def _together(self, group: Iterable[int]) -> None:
        """Who moves stays in its zone: the group has company there in every state."""
        for vm in group:
            for node, variable in self.goes.get(vm, {}).items():
                if self.case.zone[node] != self.case.zone[self.case.host[vm]]:
                    self.model.add(variable == 0)

    def _effort(self) -> Any:
        """Moves, then MiB moved."""
        return self.cp.LinearExpr.weighted_sum(
            [
                variable
                for vm, places in self.goes.items()
                for node, variable in places.items()
                if node != self.case.host[vm]
            ],
            [
                MOVE + int(self.case.vm_memory[vm])
                for vm, places in self.goes.items()
                for node in places
                if node != self.case.host[vm]
            ],
        )

    def solve(self, seconds: float) -> Solved | None:
        solver = self.cp.CpSolver()
        solver.parameters.max_time_in_seconds = seconds
        solver.parameters.num_workers = WORKERS
        status = solver.solve(self.model)
        if status not in (self.cp.OPTIMAL, self.cp.FEASIBLE):
            return None
        moves = tuple(
            (vm, node)
            for vm, places in self.goes.items()
            for node, variable in places.items()
            if node != self.case.host[vm] and solver.boolean_value(variable)
        )
        return Solved(moves=moves, proven=status == self.cp.OPTIMAL)
