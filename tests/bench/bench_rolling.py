"""Rolling maintenance: every node of a cluster once, 600 s away each, in time and in moves.

The bound is the largest of three: the seconds of all VMs' first
moves over the slots, and one reboot; the memory that nodes away and VMs in flight take, over what
is free; and the reboots, with so many nodes away as there is room for. The goals are for 100 nodes;
smaller clusters are told.
"""

import argparse
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from gitbot.constraints.replay.replay import replay
from gitbot.model.ledger.request_id import RequestId
from gitbot.model.plan.problem import EmptyNodes, Limits, PlacementProblem, Request
from gitbot.model.text.names import IntentRef
from gitbot.planner import make_plan
from gitbot.snapshot import from_objects
from tests.bench.table import Figure, show
from tests.doubles.problems import ZONE, node, vm

NOW = 1_764_547_200
GIB = 1024**3
ROOM = 512  # GiB of a node
SIZES = (4, 8, 8, 16, 16, 32, 64)  # GiB of VMs
OVERHEAD = 20  # seconds of a migration beside its memory, at 1 GiB/s
AWAY = 600
SLOTS = 5
TIME, MOVES = 1.25, 1.05
WANTED = 100  # from so many nodes on


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """VMs by number: host and GiB. `locked`: they stay in their zone, one of three.

    `packed`: placed by the profile that fills the fullest nodes first.
    """

    nodes: int
    host: tuple[int, ...]
    size: tuple[int, ...]
    locked: bool = False
    packed: bool = False

    @property
    def bound(self) -> int:
        """No plan ends sooner, in seconds: neither by its slots nor by its room."""
        slots = sum(size + OVERHEAD for size in self.size) // SLOTS + AWAY
        return max(slots, self._by_room)

    @property
    def _by_room(self) -> int:
        """Nodes that are away and VMs that hold memory twice share what is free all the time."""
        spare = self.nodes * ROOM - sum(self.size)
        twice = sum(size * (size + OVERHEAD) for size in self.size)
        at_once = max(1, spare // ROOM)
        shared = (self.nodes * AWAY * ROOM + twice) // spare
        return max(shared, -(-self.nodes // at_once) * AWAY)

    @property
    def least(self) -> int:
        """The VMs of the nodes with the fewest, one in each part that VMs do not leave: twice."""
        counts = [self.host.count(number) for number in range(self.nodes)]
        parts = 3 if self.locked else 1
        return sum(min(counts[part::parts]) for part in range(parts))


def pool(nodes: int, fill: float, *, uneven: bool = False, packed: bool = False) -> Pool:
    """A seeded cluster, filled to a share of its memory; `packed`: the fullest nodes first."""
    draw = random.Random(nodes)
    free = [ROOM] * nodes
    host: list[int] = []
    size: list[int] = []
    while sum(size) < nodes * ROOM * fill:
        wanted = draw.choice(SIZES)
        able = [number for number in range(nodes) if free[number] >= wanted]
        few = draw.sample(able, min(len(able), 1 if uneven else 3))
        host.append(_chosen(able, free, packed=True) if packed else _chosen(few, free))
        size.append(wanted)
        free[host[-1]] -= wanted
    return Pool(nodes=nodes, host=tuple(host), size=tuple(size), packed=packed)


def _chosen(nodes: Sequence[int], free: Sequence[int], *, packed: bool = False) -> int:
    """The node with the most free memory, or with the least: what the profiles prefer."""
    return (min if packed else max)(nodes, key=lambda number: free[number])


def problem(case: Pool, *, outbound: int, lanes: int) -> PlacementProblem:
    """The window over all nodes as gitbot reads it."""
    names = tuple(f"n{number:03}" for number in range(case.nodes))
    nodes = [
        node(name, zone=f"z{number % 3}", cpu="640", memory=f"{ROOM}Gi")
        for number, name in enumerate(names)
    ]
    vms = [
        vm(
            f"v{number:05}",
            on=names[host],
            memory=f"{size}Gi",
            node_selector={ZONE: f"z{host % 3}"} if case.locked else None,
        )
        for number, (host, size) in enumerate(zip(case.host, case.size, strict=True))
    ]
    objects = [*nodes, *(each for pair in vms for each in pair)]
    intent = IntentRef(kind="MaintenanceWindow", namespace="", name="all")
    goal = EmptyNodes(
        request=Request(id=RequestId.read("drain/all/20251201T000000Z"), intent=intent),
        nodes=names,
        max_nodes_at_once=lanes,
        cordoned_by_gitbot=True,
        away=AWAY,
    )
    limits = Limits(
        parallel=SLOTS, reserve=0, per_source_node=outbound, per_target_node=SLOTS, per_zone=SLOTS
    )
    return PlacementProblem(
        cluster="rolling",
        now=NOW,
        snapshot=from_objects("rolling", objects, NOW),
        goals=(goal,),
        limits=limits,
        bandwidth=GIB,
    )


def figures(sizes: tuple[int, ...] = (WANTED,)) -> Iterator[Figure]:
    """Time and moves beside the bound."""
    clusters = [(nodes, fill) for nodes in sizes for fill in (0.5, 0.7, 0.85)]
    for nodes, fill in clusters:
        for case, start in starts(nodes, fill):
            for outbound in (2, 1):
                what = f"{nodes} nodes, {fill:.0%} full{start}, caps ({SLOTS},{outbound})"
                yield from compared(case, what, outbound)
    for nodes, fill in clusters:
        for case, start in starts(nodes, fill):
            yield excess(case, f"{nodes} nodes, {fill:.0%} full{start}, one at a time")


def starts(nodes: int, fill: float) -> Iterator[tuple[Pool, str]]:
    """The ways in which VMs are placed before, each with its words."""
    even = pool(nodes, fill)
    yield even, ""
    yield pool(nodes, fill, uneven=True), ", uneven"
    yield pool(nodes, fill, packed=True), ", packed"
    if nodes >= 50:  # a zone of three nodes has no room for one node less
        yield replace(even, locked=True), ", VMs in their zones"


def compared(case: Pool, what: str, outbound: int) -> Iterator[Figure]:
    """The figures of one cluster, any number of nodes at once."""
    ends, moves = planned(case, outbound=outbound, lanes=case.nodes)
    wanted = case.nodes >= WANTED
    yield Figure(
        what=f"{what}: seconds, {moves / len(case.size):.3f} moves a VM",
        gitbot=f"{ends}",
        peer=f"{case.bound} (bound)",
        ratio=case.bound / ends,
        goal=1 / TIME if wanted else None,
    )
    if wanted:
        yield Figure(
            what=f"{what}: moves a VM",
            gitbot=f"{moves / len(case.size):.3f}",
            peer=f"{MOVES} wanted",
            ratio=MOVES * len(case.size) / moves,
            goal=1,
        )


def excess(case: Pool, what: str) -> Figure:
    """The moves beyond one a VM, beside the least: those of the first node of each part."""
    _, moves = planned(case, outbound=2, lanes=1)
    made = moves - len(case.size)
    return Figure(
        what=f"{what}: moves beyond one a VM",
        gitbot=f"{made}",
        peer=f"{case.least} (bound)",
        ratio=case.least / made if made else 1,
        goal=1 / 1.1,
    )


def planned(case: Pool, *, outbound: int, lanes: int) -> tuple[int, int]:
    """Seconds until the last node is back, and moves, of a plan without a finding."""
    asked = problem(case, outbound=outbound, lanes=lanes)
    plan = make_plan(asked)
    assert replay(asked, plan) == ()
    assert not plan.holds, plan.holds[0]
    return max(move.starts + move.estimated_seconds for move in plan.moves) - NOW + AWAY, len(
        plan.moves
    )


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, nargs="*", default=[WANTED])
    show(figures(tuple(parser.parse_args().nodes)))


if __name__ == "__main__":
    main()
