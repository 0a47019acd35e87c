"""ResourceQuota admission for pods. Quotas with scopes are not looked at.

Source: k8s.io/apiserver admission plugin ResourceQuota, pkg/quota/v1/evaluator/core/pods.go.
"""

from __future__ import annotations

from collections.abc import Iterable

from gitbot.model.objects import Json, KubernetesObject, at
from gitbot.model.quantities import units_of
from gitbot.simulation.status import ApiError
from gitbot.simulation.store import Store

_COUNTS = ("pods", "count/pods")
_SHORT = {"cpu": "requests.cpu", "memory": "requests.memory"}


def check_quota(store: Store, pod: KubernetesObject) -> None:
    """Raise 403 where the pod would exceed a quota of its namespace."""
    namespace = pod["metadata"]["namespace"]
    for quota in store.all("ResourceQuota", namespace):
        if at(quota, "spec", "scopes") or at(quota, "spec", "scopeSelector"):
            continue
        hard = {
            name: amount
            for name, amount in at(quota, "spec", "hard", default={}).items()
            if name in (*_COUNTS, *_SHORT) or name.startswith(("requests.", "limits."))
        }
        _check_named(quota, hard, pod)
        others = [other for other in store.all("Pod", namespace) if not _ended(other)]
        _check_amounts(quota, hard, pod, others)


def _check_named(quota: KubernetesObject, hard: Json, pod: KubernetesObject) -> None:
    """A quota on requests or limits wants every container to name them."""
    missing = sorted(
        name
        for name in hard
        if name not in _COUNTS
        and not all(_amount(container, name) is not None for container in _containers(pod))
    )
    if missing:
        containers = ",".join(str(container["name"]) for container in _containers(pod))
        text = f"failed quota: {quota['metadata']['name']}: must specify {','.join(missing)}"
        raise _forbidden(pod, f"{text} for: {containers}")


def _check_amounts(
    quota: KubernetesObject, hard: Json, pod: KubernetesObject, others: Iterable[KubernetesObject]
) -> None:
    listed = list(others)
    exceeded = []
    for name in sorted(hard):
        asked = _usage(pod, name)
        used = sum(_usage(other, name) for other in listed)
        if used + asked > units_of(_unit(name), hard[name]):
            exceeded.append((name, _text(name, asked), _text(name, used), str(hard[name])))
    if not exceeded:
        return
    requested, used_text, limited = (
        ",".join(f"{item[0]}={item[place]}" for item in exceeded) for place in (1, 2, 3)
    )
    name = quota["metadata"]["name"]
    raise _forbidden(
        pod,
        f"exceeded quota: {name}, requested: {requested}, used: {used_text}, limited: {limited}",
    )


def _forbidden(pod: KubernetesObject, why: str) -> ApiError:
    metadata = pod["metadata"]
    name = metadata.get("name") or metadata.get("generateName", "")
    return ApiError(f'pods "{name}" is forbidden: {why}', code=403, reason="Forbidden")


def _ended(pod: KubernetesObject) -> bool:
    return at(pod, "status", "phase") in ("Succeeded", "Failed")


def _containers(pod: KubernetesObject) -> list[Json]:
    containers: list[Json] = at(pod, "spec", "containers", default=[])
    return containers


def _unit(name: str) -> str:
    return name.rpartition(".")[2] if name.endswith((".cpu", ".memory")) else name


def _amount(container: Json, name: str) -> int | None:
    """What one container asks of a quota's resource, in milli cpu or whole units."""
    side, _, resource = _SHORT.get(name, name).partition(".")
    value = at(container, "resources", side, resource)
    if value is None and side == "requests":
        value = at(container, "resources", "limits", resource)
    return None if value is None else units_of(resource, value)


def _usage(pod: KubernetesObject, name: str) -> int:
    if name in _COUNTS:
        return 1  # units of pods
    return sum(_amount(container, name) or 0 for container in _containers(pod))


def _text(name: str, amount: int) -> str:
    return f"{amount}m" if _unit(name) == "cpu" else str(amount)
