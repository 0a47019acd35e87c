"""Instances from a seed, and from the files of public benchmarks."""

import gzip
import json
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gitbot.model.cluster.columns import Numbers
from tests.bench.instance import GIB, Groups, Instance

MAINTENANCE = "btrplace/maint-rules.json.gz"
SHARE = 20  # one node of so many is emptied
_SIZES = (4, 8, 8, 16, 16, 16, 32, 64)  # GiB of a VM in a full cluster
_CPU, _MIB = 100, 64  # milli and MiB of one unit of BtrPlace's


def recorded(folder: Path) -> Instance:
    """BtrPlace's own instance: 5,000 nodes, 30,000 VMs, 250 nodes sent to maintenance."""
    with gzip.open(folder / MAINTENANCE, "rt") as file:
        document = json.load(file)
    views = {view.get("rcId", ""): view for view in document["model"]["views"]}
    online = document["model"]["mapping"]["onlineNodes"]
    host = {vm: int(node) for node, held in online.items() for vm in held["runningVMs"]}
    constraints: Mapping[str, list[Any]] = {"spread": [], "among": [], "offline": []}
    for item in document["constraints"]:
        constraints.get(item["id"], []).append(item)
    zone = np.zeros(len(online), np.int64)
    for number, part in enumerate(constraints["among"][0]["parts"]):
        zone[part] = number
    return Instance(
        cpu=_column(views["uCpu"]["nodes"]) * _CPU,
        memory=_column(views["memory"]["nodes"]) * _MIB,
        zone=zone,
        vm_cpu=_column(views["uCpu"]["vms"]) * _CPU,
        vm_memory=_column(views["memory"]["vms"]) * _MIB,
        host=np.array([host[number] for number in range(len(host))]),
        apart_hosts=tuple(tuple(item["vms"]) for item in constraints["spread"]),
        together=tuple(tuple(item["vms"]) for item in constraints["among"]),
        drained=tuple(sorted(item["node"] for item in constraints["offline"])),
    )


def _column(amounts: Mapping[str, int]) -> Numbers:
    return np.array([amounts[str(number)] for number in range(len(amounts))])


def maintenance(nodes: int, *, vms_a_node: int = 6, fill: float = 0.75, seed: int = 3) -> Instance:
    """The same shape from a seed: up to 20 zones, 5 % of the nodes emptied.

    An application has tiers in one zone, with VMs on nodes of their own; every third tier stays in
    its zone.
    """
    draw = np.random.default_rng(seed)
    vms = nodes * vms_a_node
    zone = np.arange(nodes) * min(20, max(1, nodes // 25)) // nodes
    host = np.sort(draw.permutation(np.arange(vms) % nodes))
    vm_cpu = draw.integers(12, 27, vms) * _CPU
    vm_memory = draw.choice([100, 200, 300], vms, p=[0.37, 0.36, 0.27]) * _MIB
    tiers = _tiers(zone[host], host, random.Random(seed))
    return Instance(
        cpu=_room(host, vm_cpu, nodes, fill),
        memory=_room(host, vm_memory, nodes, fill),
        zone=zone,
        vm_cpu=vm_cpu,
        vm_memory=vm_memory,
        host=host,
        apart_hosts=tiers,
        together=tuple(tier for tier in tiers[::3] if len(tier) > 1),
        drained=tuple(sorted(draw.choice(nodes, max(1, nodes // SHARE), replace=False).tolist())),
    )


def _room(host: Numbers, amounts: Numbers, nodes: int, fill: float) -> Numbers:
    """Equal nodes that are filled so far in all, and hold what they hold."""
    most = np.bincount(host, weights=amounts, minlength=nodes).max()
    return np.full(nodes, int(max(most, amounts.sum() / fill / nodes)))


def _tiers(zone: Numbers, host: Numbers, draw: random.Random) -> Groups:
    """VMs of each zone in groups of 2 to 11, no two of a group on one node."""
    found: list[tuple[int, ...]] = []
    for number in range(int(zone.max()) + 1):
        rest = np.flatnonzero(zone == number).tolist()
        draw.shuffle(rest)
        while rest:
            tier: list[int] = []
            taken: set[int] = set()
            wanted = draw.choice((2, 3, 3, 4, 5, 6, 8, 11))
            for vm in rest[: 2 * wanted]:
                if len(tier) < wanted and host[vm] not in taken:
                    tier.append(vm)
                    taken.add(int(host[vm]))
            rest = [vm for vm in rest if vm not in set(tier)]
            found.append(tuple(tier))
    return tuple(found)


def full(nodes: int, *, fill: float, drained: int, seed: int = 1, breaches: int = 0) -> Instance:
    """20 VMs of 4 to 64 GiB a node, three zones; 60 % in groups of three, one in each zone.

    Nodes are so large that `fill` of all memory is used. `breaches` groups have two VMs in a zone.
    """
    draw = random.Random(seed)
    vms = nodes * 20
    memory = [draw.choice(_SIZES) * GIB for _ in range(vms)]
    room = int(sum(memory) / fill / nodes)
    zone = [number % 3 for number in range(nodes)]
    grouped = vms * 6 // 10 // 3 * 3
    groups = [tuple(range(first, first + 3)) for first in range(0, grouped, 3)]
    host = filled(memory, room, zone, groups, draw)
    host = _broken(host, memory, zone, groups, breaches)
    return Instance(
        cpu=np.full(nodes, 64_000),
        memory=np.full(nodes, room),
        zone=np.array(zone),
        vm_cpu=np.array([100 * amount // GIB for amount in memory]) // 4,
        vm_memory=np.array(memory),
        host=np.array(host),
        apart_zones=tuple(groups),
        drained=tuple(sorted(draw.sample(range(nodes), drained))),
    )


def filled(
    memory: Sequence[int],
    room: int,
    zone: Sequence[int],
    groups: Sequence[tuple[int, ...]],
    draw: random.Random,
) -> list[int]:
    """Largest first, each on the emptiest of eight nodes drawn from its zone that has room."""
    zones = {vm: place for group in groups for place, vm in enumerate(group)}
    by_zone = [[n for n, found in enumerate(zone) if found == number] for number in range(3)]
    free = [room] * len(zone)
    host = [0] * len(memory)
    for vm in sorted(range(len(memory)), key=lambda vm: (-memory[vm], vm)):
        nodes = by_zone[zones[vm]] if vm in zones else range(len(zone))
        some = draw.sample(nodes, min(8, len(nodes)))
        best = max(some, key=lambda n: free[n])
        if free[best] < memory[vm]:
            best = max(nodes, key=lambda n: free[n])
        assert free[best] >= memory[vm], "a cluster that full cannot be drawn: take another seed"
        free[best] -= memory[vm]
        host[vm] = best
    return host


def _broken(
    host: list[int],
    memory: Sequence[int],
    zone: Sequence[int],
    groups: Sequence[tuple[int, ...]],
    breaches: int,
) -> list[int]:
    """Two VMs of equal size change their places, so that the first one's group is broken."""
    host = list(host)
    singles = set(range(3 * len(groups), len(memory)))
    for mover, beside, _ in groups:
        others = [
            vm
            for vm in sorted(singles)
            if memory[vm] == memory[mover] and zone[host[vm]] == zone[host[beside]]
        ]
        if breaches and others:
            host[mover], host[others[0]] = host[others[0]], host[mover]
            singles.discard(others[0])
            breaches -= 1
    assert breaches == 0, "so many groups cannot be broken: take another seed"
    return host
