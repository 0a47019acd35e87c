"""Who is on a node: VMs that run there, and not those with nothing but an old launcher pod."""

from __future__ import annotations

from gitbot.kubernetes.names import NamespacedName
from gitbot.planner.state.plan_state import PlanState


def residents(board: PlanState, node: str) -> tuple[NamespacedName, ...]:
    """The VMs that run on a node, move there, or will by a reservation; sorted."""
    return tuple(vm for vm in board.on(node) if not lingers(board, vm, node))


def lingers(board: PlanState, vm: NamespacedName, node: str) -> bool:
    """Whether the VM has nothing but an old launcher pod on the node."""
    return node in board.facts.lingering.get(vm, ()) and node != board.place(vm)


def beside(board: PlanState, vm: NamespacedName) -> frozenset[str]:
    """The places that a VM holds and does not run in; none of its moves gives them up."""
    return board.occupancy.get(vm, frozenset()) - {board.place(vm)}
