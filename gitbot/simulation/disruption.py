"""PodDisruptionBudgets: whether one more pod may be evicted.

Source: k8s.io/kubernetes pkg/registry/core/pod/storage/eviction.go and
pkg/controller/disruption. Percentages round up, as there; a budget over pods whose controller has
no scale (a VMI has none) allows nothing unless it is an integer `minAvailable`.
"""

from __future__ import annotations

from typing import Any

from gitbot.kubernetes.objects import KubernetesObject, at, condition_of, controller_of, labels_of
from gitbot.kubernetes.phases import is_final, phase_of
from gitbot.kubernetes.selectors import LabelMatcher
from gitbot.simulation.status_errors import ApiError
from gitbot.simulation.store import Store

_SCALED = ("ReplicaSet", "StatefulSet", "ReplicationController")


def check_budgets(store: Store, pod: KubernetesObject) -> None:
    """Raise 429 if a budget forbids the eviction, 500 if more than one covers the pod."""
    if is_final(pod) or phase_of(pod) == "Pending":
        return
    namespace = pod["metadata"]["namespace"]
    covering = [
        budget for budget in store.all("PodDisruptionBudget", namespace) if _covers(budget, pod)
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
            raise _violated(store, budget)


def _violated(store: Store, budget: KubernetesObject) -> ApiError:
    pods = _covered(store, budget)
    healthy, desired = _healthy(pods), _desired(store, budget, pods)
    text = f"The disruption budget {budget['metadata']['name']} needs {desired or 0} healthy pods "
    cause = {"reason": "DisruptionBudget", "message": f"{text}and has {healthy} currently"}
    return ApiError(
        "Cannot evict pod as it would violate the pod's disruption budget.",
        code=429,
        reason="TooManyRequests",
        details={"causes": [cause]},
    )


def allowed_disruptions(store: Store, budget: KubernetesObject) -> int:
    pods = _covered(store, budget)
    desired = _desired(store, budget, pods)
    return 0 if desired is None else max(_healthy(pods) - desired, 0)


def _covered(store: Store, budget: KubernetesObject) -> list[KubernetesObject]:
    return [
        pod
        for pod in store.all("Pod", budget["metadata"]["namespace"])
        if _covers(budget, pod) and not is_final(pod)
    ]


def _covers(budget: KubernetesObject, pod: KubernetesObject) -> bool:
    return LabelMatcher.of(at(budget, "spec", "selector")).matches(labels_of(pod))


def _desired(store: Store, budget: KubernetesObject, pods: list[KubernetesObject]) -> int | None:
    """How many pods must be healthy; None if that cannot be computed."""
    minimum, maximum = at(budget, "spec", "minAvailable"), at(budget, "spec", "maxUnavailable")
    if isinstance(minimum, int):
        return minimum
    expected = _expected(store, pods)
    if expected is None:
        return None
    if maximum is not None:
        return expected - _amount(maximum, expected)
    return _amount(minimum or 1, expected)


def _healthy(pods: list[KubernetesObject]) -> int:
    return sum(1 for pod in pods if _is_healthy(pod))


def _is_healthy(pod: KubernetesObject) -> bool:
    ready = (condition_of(pod, "Ready") or {}).get("status") == "True"
    return ready and "deletionTimestamp" not in pod["metadata"]


def _expected(store: Store, pods: list[KubernetesObject]) -> int | None:
    """The sum of the controllers' replicas; None if a controller has no scale."""
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
