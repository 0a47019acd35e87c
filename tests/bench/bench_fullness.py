"""Nearly full clusters: 5 % of the nodes emptied at 90 and 93 %, and 32 rules healed at 92 %.

20 VMs of 4 to 64 GiB a node, three zones, 60 % of the VMs apart in threes. The peer is CP-SAT with
every VM movable, for `--patience` seconds of two workers. It looks at end states only, so it may
find what no order of moves leads to. Times count from the parsed state, as in `bench_maintenance`.
The twins cannot be solved: half of what must leave has no
room.
"""

import argparse
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from gitbot.constraints.replay.replay import replay
from gitbot.planner import make_plan
from tests.bench.bench_maintenance import parsed, timed
from tests.bench.instance import GIB, Instance, Outcome, moved_to, moves_of, problem
from tests.bench.instances import full
from tests.bench.peers import cp_sat
from tests.bench.peers.greedy import greedy
from tests.bench.table import Figure, ms, show

GOAL_SECONDS, GOAL_PROOF = 2.0, 1.0
PATIENCE = 20
LARGE = 1_000
"""So many nodes have too many VMs for the peer, which then only moves what must leave."""


def figures(patience: int = PATIENCE) -> Iterator[Figure]:
    """All of them."""
    for nodes, fill in ((100, 0.90), (100, 0.93), (LARGE, 0.90)):
        case = full(nodes, fill=fill, drained=nodes // 20)
        yield from drained(case, f"{100 * fill:.0f} % full, {case.size}", patience)
        if nodes < LARGE:
            yield from _proven(_twin(case), f"{100 * fill:.0f} % full, no room for half of it")
    case = full(15, fill=0.92, drained=0, breaches=32)
    yield from _healed(case, f"92 % full, {case.size}, {len(case.broken)} broken", patience)


def _planned(case: Instance) -> tuple[Outcome, float]:
    """What a plan does, and the processor seconds of plan and replay, from the parsed state."""
    asked = problem(case)
    parsed(asked)
    plan, planned = timed(lambda: make_plan(asked))
    findings, replayed = timed(lambda: replay(asked, plan))
    assert not findings, findings[0]
    return Outcome.of(case, moves_of(plan)), planned + replayed


def drained(case: Instance, what: str, patience: int) -> Iterator[Figure]:
    """VMs that find a place, memory moved and time, beside CP-SAT."""
    outcome, seconds = _planned(case)
    quick = Outcome.of(case, [[move] for move in greedy(case)])
    asked = len(case.displaced)
    yield Figure(
        what=f"{what}: of {asked} VMs placed",
        gitbot=f"{asked - outcome.left}",
        peer=f"{asked - quick.left} (best fit on numpy)",
        ratio=(asked - outcome.left) / asked,
        goal=1,
    )
    yield Figure(
        what="the same, against the wanted time",
        gitbot=ms(seconds),
        peer=f"{ms(GOAL_SECONDS)} wanted",
        ratio=GOAL_SECONDS / seconds,
        goal=1,
    )
    told = f"the same: GiB moved in {outcome.moves} moves"
    least = int(case.vm_memory[case.displaced].sum()) // GIB
    bound = f"{least:,} (must leave)"
    yield Figure(what=told, gitbot=f"{outcome.memory:,}", peer=bound)
    if len(case.cpu) < LARGE and not cp_sat.installed():
        yield Figure(what="the same, CP-SAT", gitbot=f"{outcome.memory:,}", peer=cp_sat.MISSING)
    elif len(case.cpu) < LARGE:
        solved = cp_sat.whole(case, seconds=patience)
        found = int(case.vm_memory[[vm for vm, _ in solved.moves]].sum()) // GIB if solved else 0
        yield Figure(
            what=f"the same, {len(solved.moves) if solved else 'no'} moves of CP-SAT",
            gitbot=f"{outcome.memory:,}",
            peer=f"{found:,} (CP-SAT, {patience} s)",
            ratio=found / outcome.memory if outcome.memory and not outcome.left else 0,
            goal=1 if solved else None,
        )


def _twin(case: Instance) -> Instance:
    """The same cluster, where the open nodes together lack half of the room that is needed."""
    stays = ~np.isin(np.arange(len(case.cpu)), case.drained)
    leaving = int(case.vm_memory[case.displaced].sum())
    free = case.memory - case.used(case.vm_memory)
    surplus = int(free[stays].sum()) - leaving // 2
    memory = case.memory.copy()
    for number in np.flatnonzero(stays).tolist():
        taken = min(int(free[number]), max(0, surplus))
        memory[number] -= taken
        surplus -= taken
    return replace(case, memory=memory)


def _proven(case: Instance, what: str) -> Iterator[Figure]:
    """How long it takes to say that there is no plan."""
    asked = problem(case)
    parsed(asked)
    plan, seconds = timed(lambda: make_plan(asked))
    outcome = Outcome.of(case, moves_of(plan))
    yield Figure(
        what=f"{what}: held in ({outcome.left} of {len(case.displaced)} VMs left)",
        gitbot=ms(seconds),
        peer=f"{ms(GOAL_PROOF)} wanted",
        ratio=GOAL_PROOF / seconds,
        goal=1,
    )


def _healed(case: Instance, what: str, patience: int) -> Iterator[Figure]:
    outcome, seconds = _planned(case)
    peer, moves = "" if cp_sat.installed() else cp_sat.MISSING, 0
    if cp_sat.installed() and (solved := cp_sat.whole(case, seconds=patience)):
        host = case.host.copy()
        for vm, target in solved.moves:
            host[vm] = target
        moves = len(solved.moves)
        healed = len(case.broken) - len(moved_to(case, host).broken)
        peer = f"{healed} (CP-SAT, {moves} moves)"
    yield Figure(
        what=f"{what}: healed in {outcome.moves} moves",
        gitbot=f"{len(case.broken) - outcome.broken}",
        peer=peer,
        ratio=(len(case.broken) - outcome.broken) / len(case.broken),
        goal=1,
    )
    yield Figure(
        what="the same, against the wanted time",
        gitbot=ms(seconds),
        peer=f"{ms(GOAL_SECONDS)} wanted",
        ratio=GOAL_SECONDS / seconds,
        goal=1,
    )


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--patience", type=int, default=PATIENCE, help="seconds of CP-SAT (20)")
    show(figures(patience=parser.parse_args().patience))


if __name__ == "__main__":
    main()
