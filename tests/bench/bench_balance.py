"""Evening out: a cluster of 70 % whose nodes are 20 to 99 % full, when a request asks for it.

20 VMs of 4 to 64 GiB a node, three zones, 60 % of the VMs apart in threes; the others were drawn to
nodes with low numbers. The peer is the plan's own bound: from each node that is fuller than the
fullest in the end, the largest VMs go first.
"""

import random
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from gitbot.constraints.replay.replay import replay
from gitbot.model.plan.problem import Balance, MoveVms, Pin, Target
from gitbot.planner import make_plan
from tests.bench.bench_maintenance import parsed, timed
from tests.bench.instance import Instance, Outcome, moved_to, moves_of, problem, vm_name
from tests.bench.instances import full
from tests.bench.table import Figure, ms, show
from tests.doubles.problems import request

SIZES = (100, 300)
FILL = 0.7


def uneven(nodes: int, *, seed: int = 5) -> Instance:
    """A cluster whose VMs without rules have gathered on some nodes."""
    case, draw = full(nodes, fill=FILL, drained=0), random.Random(seed)
    free = (case.memory - case.used(case.vm_memory)).tolist()
    host = case.host.tolist()
    ruled = {vm for group in case.apart_zones for vm in group}
    for vm in sorted(set(range(len(host))) - ruled):
        node = min(draw.randrange(nodes) for _ in range(3))
        size = int(case.vm_memory[vm])
        if free[node] >= size:
            free[host[vm]] += size
            free[node] -= size
            host[vm] = node
    return replace(case, host=np.array(host))


def figures() -> Iterator[Figure]:
    """Moves beside their bound, the spread before and after, and the time."""
    for nodes in SIZES:
        case = uneven(nodes)
        goal = MoveVms(
            request=request("even-out"),
            vms=tuple(map(vm_name, range(len(case.host)))),
            target=Target(),
            pin=Pin.NODE,
            balance=Balance(),
        )
        asked = replace(problem(case), goals=(goal,))
        parsed(asked)
        plan, seconds = timed(lambda asked=asked: make_plan(asked))  # type: ignore[misc]
        findings, more = timed(lambda asked=asked, plan=plan: replay(asked, plan))  # type: ignore[misc]
        assert not findings, findings[0]
        after = moved_to(case, Outcome.of(case, moves_of(plan)).host)
        full_from = f"{_spread(case)} full before, {_spread(after)} after"
        yield Figure(
            what=f"evening out {case.size}: {full_from}: moves",
            gitbot=f"{len(plan.moves)}",
            peer=f"{plan.bound.moves} (bound)",
            ratio=plan.bound.moves / len(plan.moves),
        )
        yield Figure(what="the same: plan and replay", gitbot=ms(seconds + more), peer="")


def _spread(case: Instance) -> str:
    shares = case.used(case.vm_memory) * 100 // case.memory
    return f"{shares.min()} to {shares.max()} %"


if __name__ == "__main__":
    show(figures())
