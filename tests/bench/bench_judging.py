"""How fast one VM is judged against every node, and one whole state against every rule.

The peer of judging is a plain loop over nodes with the same filters and the same answers
(`peers/plain_loop.py`; tests/laws/test_fast_forms.py holds both equal). A verdict row is one VM
judged against all nodes by all filters; a pod comes between any two judgements, and its coming is
counted in.
"""

import random
import time
from collections.abc import Callable, Iterator

import numpy as np

from gitbot.constraints.moves.instances import Instances
from gitbot.constraints.rules.counts.rule_matrix import RuleMatrix
from gitbot.constraints.rules.zone_anti_affinity import ZoneAntiAffinity
from gitbot.constraints.scheduler.world import World
from gitbot.kubernetes.names import NamespacedName
from gitbot.model.cluster.pod import Pod
from gitbot.model.text.names import IntentRef
from gitbot.snapshot import from_objects
from tests.bench.overfull import overfull
from tests.bench.table import Figure, ms, show
from tests.bench.virtual_cluster import HOST, cluster, node, pending, plain_loop

GOAL_LOOP, GOAL_ROWS, GOAL_STATE = 300, 12_000, 0.005


def best(work: Callable[[], object], rounds: int) -> float:
    """Processor seconds of the quickest round."""
    least = float("inf")
    for _ in range(rounds):
        began = time.process_time()
        work()
        least = min(least, time.process_time() - began)
    return least


def _against_the_loop() -> Iterator[Figure]:
    found = cluster(10_000, 10_000, waiting=100)
    world, loop, pods = World.of(found), plain_loop(found), pending(found)
    for pod in pods[:5]:
        assert list(world.feasible(pod)) == loop.feasible(pod)
    slow = best(lambda: loop.feasible(pods[0]), 3)
    pods = pods[5:]
    quick = best(lambda: [world.mask(pod) for pod in pods], 5) / len(pods)
    yield Figure(
        what="one VM against 10,000 nodes, all filters (10,000 pods there)",
        gitbot=ms(quick),
        peer=f"{ms(slow)} (plain loop)",
        ratio=slow / quick,
        goal=GOAL_LOOP,
    )


def _rows() -> Iterator[Figure]:
    found = cluster(5_000, 10_000, waiting=2_000, claims=False)
    world, pods = World.of(found), pending(found)
    rows = len(pods) / min(_coming(world, pods) for _ in range(3))
    yield Figure(
        what="verdict rows a second, 5,000 nodes, apart by zone, host: a pod comes between any two",
        gitbot=f"{rows:,.0f}",
        peer=f"{GOAL_ROWS:,} wanted",
        ratio=rows / GOAL_ROWS,
        goal=1,
    )


def _coming(world: World, pods: list[Pod]) -> float:
    """Processor seconds of judging each pod and placing it; then all are taken away again."""
    names = world.state.columns.names
    began = time.process_time()
    for number, pod in enumerate(pods):
        world.mask(pod)
        world.add(pod, names[number % len(names)])
    seconds = time.process_time() - began
    for pod in pods:
        world.remove(pod)
    return seconds


def _whole_state() -> Iterator[Figure]:
    count, size = 5_166, 5
    nodes = [node(number, random.Random(number)) for number in range(5_000)]
    objects = [{"apiVersion": "v1", **obj} for obj in nodes]
    instances = Instances(from_objects("bench", objects, 0))
    vms = [NamespacedName(namespace="a", name=f"vm-{number:05}") for number in range(30_000)]
    names = list(instances.domains.nodes)
    occupancy = {vm: frozenset({names[n % len(names)]}) for n, vm in enumerate(vms)}
    rules = [
        ZoneAntiAffinity(
            ref=IntentRef(kind="ZoneAntiAffinity", namespace="a", name=f"spread-{number:04}"),
            members=frozenset(vms[number * size : number * size + size]),
            domains=instances.domains,
            topology_key=HOST,
        )
        for number in range(count)
    ]
    whole = RuleMatrix(instances.domains, rules, occupancy)
    amounts = {"cpu": np.full(len(vms), 400), "memory": np.full(len(vms), 2**33)}
    standing = {name: np.zeros(len(names), dtype=np.int64) for name in amounts}
    room = {"cpu": np.full(len(names), 32_000), "memory": np.full(len(names), 2**37)}

    def check() -> None:
        assert not whole.breaches(occupancy)
        assert not overfull(whole, amounts, standing, room)

    quick = best(check, 20)
    slow = best(lambda: [rule.breaches(occupancy) for rule in rules], 3)
    yield Figure(
        what="whole state: 30,000 VMs, 5,166 spread rules, all capacities",
        gitbot=ms(quick),
        peer=f"{ms(slow)} (rule by rule)",
        ratio=slow / quick,
    )
    yield Figure(
        what="the same, after the first, against the wanted time",
        gitbot=ms(quick),
        peer=f"{ms(GOAL_STATE)} wanted",
        ratio=GOAL_STATE / quick,
        goal=1,
    )


def figures() -> Iterator[Figure]:
    """All of them."""
    yield from _against_the_loop()
    yield from _rows()
    yield from _whole_state()


def main() -> None:
    """Print the figures."""
    show(figures())


if __name__ == "__main__":
    main()
