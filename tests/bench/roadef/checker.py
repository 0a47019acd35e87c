"""What an assignment costs and which hard constraints it breaks, by the challenge's statement.

Whole numbers only. It shares nothing with the search and knows nothing of gitbot's constraints.
"""

from collections import Counter
from collections.abc import Iterator

import numpy as np

from gitbot.model.cluster.columns import Numbers
from tests.bench.roadef.model import Model


def broken(model: Model, host: Numbers) -> list[str]:
    """The hard constraints that do not hold, as words; empty if the assignment is lawful."""
    return [*_capacity(model, host), *_services(model, host)]


def _capacity(model: Model, host: Numbers) -> Iterator[str]:
    used, moved = _used(model, host), host != model.home
    leaving = np.zeros_like(used)
    np.add.at(leaving, model.home[moved], model.requirement[moved])
    for machine, resource in np.argwhere(used > model.capacity):
        yield f"capacity: machine {machine}, resource {resource}"
    during = used + leaving * model.transient
    for machine, resource in np.argwhere((during > model.capacity) & (used <= model.capacity)):
        yield f"transient: machine {machine}, resource {resource}"


def _services(model: Model, host: Numbers) -> Iterator[str]:
    members: dict[int, list[int]] = {}
    for service, machine in zip(model.service.tolist(), host.tolist(), strict=True):
        members.setdefault(service, []).append(machine)
    near = {
        service: {int(model.neighbourhood[machine]) for machine in machines}
        for service, machines in members.items()
    }
    for service, machines in sorted(members.items()):
        if len(set(machines)) < len(machines):
            yield f"conflict: service {service}"
        if len({int(model.location[machine]) for machine in machines}) < model.spread[service]:
            yield f"spread: service {service}"
        for other in model.depends[service]:
            if not near[service] <= near.get(other, set()):
                yield f"dependency: service {service} on {other}"


def costs(model: Model, host: Numbers) -> dict[str, int]:
    """The weighted cost of each term; the objective is their sum."""
    used, moved = _used(model, host), host != model.home
    free = model.capacity - used
    over = np.maximum(used - model.safety, 0).sum(axis=0)
    missing = (
        item.weight * np.maximum(item.target * free[:, item.first] - free[:, item.second], 0).sum()
        for item in model.balances
    )
    of_processes, of_services, of_machines = model.weights
    per_service = Counter(model.service[moved].tolist())
    return {
        "load": int((model.load_weight * over).sum()),
        "balance": int(sum(missing)),
        "processes": of_processes * int(model.process_move[moved].sum()),
        "services": of_services * max(per_service.values(), default=0),
        "machines": of_machines * int(model.machine_move[model.home, host].sum()),
    }


def objective(model: Model, host: Numbers) -> int:
    return sum(costs(model, host).values())


def lower_bound(model: Model) -> int:
    """Load and balance of one machine with all that the machines have together."""
    used, capacity = model.requirement.sum(axis=0), model.capacity.sum(axis=0)
    free = capacity - used
    over = np.maximum(used - model.safety.sum(axis=0), 0)
    missing = (
        item.weight * max(int(item.target * free[item.first] - free[item.second]), 0)
        for item in model.balances
    )
    return int((model.load_weight * over).sum()) + sum(missing)


def _used(model: Model, host: Numbers) -> Numbers:
    used = np.zeros_like(model.capacity)
    np.add.at(used, host, model.requirement)
    return used
