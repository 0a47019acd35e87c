"""Requests against allocatable."""

from __future__ import annotations

from collections.abc import Mapping

from gitbot.constraints.scheduler.fit_masks import PODS, Asked
from gitbot.constraints.scheduler.node_state import State
from gitbot.constraints.scheduler.scorer import Filter
from gitbot.constraints.scheduler.verdicts import Rejection
from gitbot.model.caches import IdentityCache
from gitbot.model.cluster.columns import Mask
from gitbot.model.cluster.pod import Pod
from gitbot.model.cluster.resource_requests import Requests

_NATIVE = frozenset({"cpu", "memory", "ephemeral-storage"})


def filtered(resource: str) -> bool:
    """Whether the scheduler checks a resource. It ignores unknown names without a slash."""
    if resource in _NATIVE or resource.startswith(("hugepages-", "attachable-volumes-")):
        return True
    return "/" in resource and not resource.startswith("requests.")


def _asked_of(requests: Requests) -> Asked:
    amounts = sorted(requests.filtered.items())
    return tuple((name, amount) for name, amount in amounts if amount > 0 and filtered(name))


asked_of = IdentityCache(_asked_of, most=50_000)


def asks(requests: Requests) -> Mapping[str, int]:
    """The use of a node by a pod with these requests; `pods` is 1."""
    return {PODS: 1, **dict(asked_of(requests))}


class Resources(Filter):
    """Rejects if request > allocatable - requested, for the resources that the pod requests.

    `pods`: how many pods the requests are the sum of. The others are placed before this one.
    """

    def __init__(self, state: State, pod: Pod, *, pods: int = 1) -> None:
        self._state, self._pods = state, pods
        self._asked: Asked = asked_of(pod.requests)

    def mask(self) -> Mask:
        state = self._state
        asked = self._asked if self._pods == 1 else (*self._asked, (PODS, self._pods))
        return state.fits.mask(asked, state.columns, state.column)

    def reject(self, node: int) -> Rejection | None:
        allocatable = self._state.nodes[node].allocatable
        reasons: list[str] = []
        details: list[str] = []
        resolvable = True
        pods = int(self._state.column(PODS)[node]) + self._pods - 1
        limit = allocatable.get(PODS, 0)
        if pods >= limit:
            reasons.append("Too many pods")
            details.append(f"the node holds {pods} pods and allows {limit}")
        for name, amount in self._asked:
            capacity = allocatable.get(name, 0)
            free = capacity - int(self._state.column(name)[node])
            if amount > free:
                reasons.append(f"Insufficient {name}")
                details.append(_shortage(name, amount, free, capacity))
                resolvable = resolvable and amount <= capacity
        if not reasons:
            return None
        return Rejection(
            plugin="NodeResourcesFit",
            reasons=tuple(sorted(reasons)),
            resolvable=resolvable,
            details=tuple(details),
        )


def prepare(state: State, pod: Pod) -> Resources:
    """Always prepared: the number of pods counts even without requests."""
    return Resources(state, pod)


def _shortage(name: str, asked: int, free: int, capacity: int) -> str:
    missing = amount_words(name, asked - free)
    return (
        f"{name}: asks {amount_words(name, asked)}, {amount_words(name, max(free, 0))} of "
        f"{amount_words(name, capacity)} free, {missing} missing"
    )


def amount_words(resource: str, amount: int) -> str:
    """An amount in people's units: 2500m, 3Gi, 17."""
    if resource == "cpu":
        return str(amount // 1000) if amount % 1000 == 0 else f"{amount}m"
    if resource in {"memory", "ephemeral-storage"} or resource.startswith("hugepages-"):
        for power, unit in ((3, "Gi"), (2, "Mi"), (1, "Ki")):
            if amount and amount % 1024**power == 0:
                return f"{amount // 1024**power}{unit}"
    return str(amount)
