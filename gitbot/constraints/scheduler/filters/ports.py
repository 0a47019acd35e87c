"""Host ports."""

from __future__ import annotations

from gitbot.constraints.scheduler.node_state import State
from gitbot.constraints.scheduler.scorer import Filter
from gitbot.constraints.scheduler.verdicts import Rejection
from gitbot.kubernetes.names import NamespacedName
from gitbot.model.cluster.columns import Mask
from gitbot.model.cluster.pod import Pod
from gitbot.model.cluster.scheduling import HostPort


class Ports(Filter):
    """Each node can give a host port to one pod; 0.0.0.0 takes it on every address."""

    def __init__(self, state: State, pod: Pod) -> None:
        self._state, self._pod = state, pod

    def mask(self) -> Mask:
        """Nodes where all ports are free. Only nodes with any port in use are checked."""
        mask = self._state.columns.everywhere()
        for number in self._state.ports:
            mask[number] = not self._clash(number)
        return mask

    def reject(self, node: int) -> Rejection | None:
        clash = self._clash(node)
        if not clash:
            return None
        return Rejection(
            plugin="NodePorts",
            reasons=("node(s) didn't have free ports for the requested pod ports",),
            resolvable=True,
            details=tuple(
                f"host port {port.protocol} {port.ip}:{port.port} is taken by "
                f"{self._holder(node, port)}"
                for port in clash
            ),
        )

    def _holder(self, number: int, port: HostPort) -> NamespacedName:
        return min(
            pod.name
            for pod in self._state.pods_on(number)
            if any(port.clashes(other) for other in pod.ports)
        )

    def _clash(self, number: int) -> list[HostPort]:
        taken = self._state.ports.get(number)
        return [port for port in self._pod.ports if any(port.clashes(other) for other in taken)]


def prepare(state: State, pod: Pod) -> Ports | None:
    return Ports(state, pod) if pod.ports else None
