"""The challenge's statement by hand, and gitbot's constraints beside our own checker."""

import random

import numpy as np
import pytest

from tests.bench.roadef import checker
from tests.bench.roadef.model import Model, read
from tests.bench.roadef.search import Search
from tests.bench.roadef.translation import Translated

# Two resources, the second one transient. Machines 0 and 1 share a location, 1 and 2 a
# neighbourhood. Service 0 covers two locations, service 1 needs service 0 in its neighbourhood.
TINY = """
2  0 10  1 5
3
0 0  10 10  6 9   0 1 2
1 0  10 10  8 10  1 0 3
1 1  10 6   5 6   2 3 0
2
2 0
1 1 0
3
0  4 3  7
0  3 4  5
1  5 2  9
1
0 1 2
20
3 2 4
"""


def test_the_costs_by_hand() -> None:
    model = read(TINY, "0 2 0")
    # Machine 0 uses (9, 5) and machine 2 uses (3, 4); machine 1 is empty. Twice what is free of the
    # first shall be free of the second: 2*10 - 10 are missing on machine 1, 2*7 - 2 on machine 2.
    assert checker.costs(model, model.home) == {
        "load": 10 * 3,
        "balance": 20 * (10 + 12),
        "processes": 0,
        "services": 0,
        "machines": 0,
    }
    after = np.array([1, 2, 1])  # machines 0 and 1 have changed their roles
    assert checker.costs(model, after) == {
        "load": 10 * 1,
        "balance": 20 * (10 + 12),
        "processes": 3 * (7 + 9),
        "services": 2 * 1,
        "machines": 4 * (1 + 1),
    }
    assert checker.objective(model, after) == 10 + 440 + 48 + 2 + 8
    # All together: 12 of 19 are used of the first, 9 of 25 of the second: 2*18 - 17 = 19.
    assert checker.lower_bound(model) == 20 * 19


@pytest.mark.parametrize(
    ("host", "told"),
    [
        ([0, 2, 0], []),
        ([1, 2, 1], []),
        (
            [0, 0, 0],
            ["capacity: machine 0, resource 0", "conflict: service 0", "spread: service 0"],
        ),
        ([0, 1, 0], ["spread: service 0"]),
        ([2, 0, 0], ["transient: machine 2, resource 1"]),
        ([0, 1, 2], ["spread: service 0"]),
        ([1, 2, 0], ["dependency: service 1 on 0"]),
    ],
)
def test_the_hard_constraints_by_hand(host: list[int], told: list[str]) -> None:
    assert checker.broken(read(TINY, "0 2 0"), np.array(host)) == told


def test_a_file_of_another_length_is_refused() -> None:
    with pytest.raises(ValueError, match="one machine a process"):
        read(TINY, "0 2")
    with pytest.raises(ValueError, match="nothing more"):
        read(TINY + " 1", "0 2 0")


def drawn(seed: int) -> Model:
    """A tiny instance whose given assignment is lawful."""
    draw = random.Random(seed)
    machines, services, processes = 6, 4, 9
    lines = ["2 0 10 1 5", str(machines)]
    for machine in range(machines):
        place = [draw.randrange(2), draw.randrange(3)]
        sizes = [draw.randint(9, 14), draw.randint(9, 14), 8, 8]
        moves = [draw.randrange(1, 4) * (other != machine) for other in range(machines)]
        lines.append(" ".join(map(str, [*place, *sizes, *moves])))
    lines.append(str(services))
    for service in range(services):
        others = draw.sample([other for other in range(services) if other != service], 1)
        depends = others if draw.random() < 0.7 else []
        lines.append(" ".join(map(str, [draw.randint(1, 2), len(depends), *depends])))
    lines.append(str(processes))
    for process in range(processes):
        size = [draw.randint(1, 5), draw.randint(1, 5)]
        lines.append(" ".join(map(str, [process % services, *size, draw.randrange(9)])))
    lines.append("1 0 1 1 10 1 10 100")
    for _ in range(5_000):
        home = " ".join(str(draw.randrange(machines)) for _ in range(processes))
        model = read("\n".join(lines), home)
        if not checker.broken(model, model.home):
            return model
    return drawn(seed + 1_000)


@pytest.mark.parametrize("seed", range(12))
def test_gitbot_allows_what_the_statement_allows(seed: int) -> None:
    """Every process against every machine, in each state of a walk of lawful moves."""
    model, draw = drawn(seed), random.Random(seed)
    cluster = Translated(model)
    for _ in range(8):
        choices = []
        for process in range(len(model.home)):
            allowed = cluster.lawful(process)
            for machine in range(len(model.location)):
                if machine == cluster.host[process]:
                    continue
                after = cluster.host.copy()
                after[process] = machine
                told = checker.broken(model, after)
                assert allowed[machine] == (not told), (process, machine, told)
                choices += [(process, machine)] * (not told)
        assert cluster.broken() == []
        if choices:
            cluster.move(*draw.choice(choices))


def test_gitbot_refuses_a_state_that_the_statement_refuses() -> None:
    cluster = Translated(read(TINY, "0 2 0"))
    for process, machine in enumerate([0, 0, 0]):
        if machine != cluster.host[process]:
            cluster.move(process, machine)
    assert len(cluster.broken()) == 3  # capacity, conflict and spread


def test_the_search_counts_as_the_checker_does() -> None:
    moved = 0
    for seed in range(6):
        model = drawn(seed)
        search = Search(model, seed)
        search.heat = 2000.0
        for _ in range(100):
            search.step()
            host = search.state.host[:-1]
            assert checker.broken(model, host) == []
            terms = checker.costs(model, host)
            assert search.state.total == sum(terms.values()) - terms["services"]
            moved += bool((host != model.home).any())
            search.keep()
        assert search.least <= checker.objective(model, model.home)
    assert moved > 100


def test_bounds_are_no_higher_than_costs() -> None:
    for seed in range(5):
        model = drawn(seed)
        assert checker.lower_bound(model) <= checker.objective(model, model.home)
