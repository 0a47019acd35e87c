"""Peer of the planner: best fit on numpy, in the order of size, without looking back."""

import numpy as np

from tests.bench.instance import Instance, Move


def greedy(case: Instance) -> list[Move]:
    """Each displaced VM goes to the fullest node that takes it; one that finds none stays."""
    open_nodes = np.ones(len(case.cpu), bool)
    open_nodes[list(case.drained)] = False
    cpu = case.cpu - case.used(case.vm_cpu)
    memory = case.memory - case.used(case.vm_memory)
    host = case.host.copy()
    groups = [
        {vm: group for group in groups for vm in group}
        for groups in (case.apart_hosts, case.apart_zones, case.together)
    ]
    displaced = case.displaced
    moves: list[Move] = []
    for vm in displaced[np.argsort(-case.vm_memory[displaced], kind="stable")].tolist():
        mask = open_nodes & (cpu >= case.vm_cpu[vm]) & (memory >= case.vm_memory[vm])
        hosts, zones, near = (list(group.get(vm, ())) for group in groups)
        others = [other for other in hosts if other != vm]
        mask[host[others]] = False
        others = [other for other in zones if other != vm]
        mask &= ~np.isin(case.zone, case.zone[host[others]])
        if near:
            mask &= case.zone == case.zone[host[vm]]
        if mask.any():
            target = int(np.where(mask, memory, np.iinfo(np.int64).max).argmin())
            cpu[target] -= case.vm_cpu[vm]
            memory[target] -= case.vm_memory[vm]
            host[vm] = target
            moves.append((vm, target))
    return moves
