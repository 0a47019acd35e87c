"""PodDisruptionBudgets: whether one more pod may be evicted.

Source: k8s.io/kubernetes pkg/registry/core/pod/storage/eviction.go and
pkg/controller/disruption. Percentages round up, as there; a budget over pods whose controller has
no scale (a VMI has none) allows nothing unless it is an integer `minAvailable`.
"""

from __future__ import annotations

from typing import Any

from gitbot.model.objects import KubernetesObject, at, condition_of, labels_of
from gitbot.simulation.selectors import selector_match
from gitbot.simulation.status import ApiError, too_many_requests
from gitbot.simulation.store import Store, controller_of

_SCALED = ("ReplicaSet", "StatefulSet", "ReplicationController")


def check_budgets(store: Store, pod: KubernetesObject) -> None:
    """Raise 429 where a budget forbids the eviction, 500 where more than one covers the pod."""
    if at(pod, "status", "phase") in ("Succeeded", "Failed", "Pending"):
        return
    namespace = pod["metadata"]["namespace"]
    covering = [
        budget
        for budget in store.all("PodDisruptionBudget", namespace)
        if selector_match(at(budget, "spec", "selector"), labels_of(pod))
    ]
    if len(covering) > 1:
        raise ApiError(
            "This pod has more than one PodDisruptionBudget, which the eviction subresource does "
            "not support.",
            code=500,
            reason="InternalError",
        )
    for budget in covering:
        if allowed_disruptions(store, budget) <= 0:
            raise too_many_requests(
                "Cannot evict pod as it would violate the pod's disruption budget."
            )


def allowed_disruptions(store: Store, budget: KubernetesObject) -> int:
    """How many more pods of a budget may go now."""
    namespace = budget["metadata"]["namespace"]
    pods = [
        pod
        for pod in store.all("Pod", namespace)
        if selector_match(at(budget, "spec", "selector"), labels_of(pod))
        and at(pod, "status", "phase") not in ("Succeeded", "Failed")
    ]
    healthy = sum(1 for pod in pods if _is_healthy(pod))
    minimum, maximum = at(budget, "spec", "minAvailable"), at(budget, "spec", "maxUnavailable")
    if isinstance(minimum, int):
        return max(healthy - minimum, 0)
    expected = _expected(store, pods)
    if expected is None:
        return 0
    if maximum is not None:
        return max(healthy - (expected - _amount(maximum, expected)), 0)
    return max(healthy - _amount(minimum or 1, expected), 0)


def _is_healthy(pod: KubernetesObject) -> bool:
    ready = (condition_of(pod, "Ready") or {}).get("status") == "True"
    return ready and "deletionTimestamp" not in pod["metadata"]


def _expected(store: Store, pods: list[KubernetesObject]) -> int | None:
    """The sum of the controllers' replicas; None where a controller has no scale."""
    wanted: dict[str, int] = {}
    for pod in pods:
        owner = controller_of(pod)
        if owner is None or owner["kind"] not in _SCALED:
            return None
        found = store.find(owner["kind"], (pod["metadata"]["namespace"], owner["name"]))
        wanted[owner["uid"]] = int(at(found, "spec", "replicas", default=1))
    return sum(wanted.values())


def _amount(value: Any, total: int) -> int:
    """A count, or a percentage of `total`, rounded up."""
    if isinstance(value, str) and value.endswith("%"):
        return -(-int(value[:-1]) * total // 100)
    return int(value)
