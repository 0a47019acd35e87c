"""ResourceQuota admission for pods. Quotas with scopes are ignored.

Source: k8s.io/apiserver admission plugin ResourceQuota, pkg/quota/v1/evaluator/core/pods.go.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from gitbot.kubernetes.objects import Json, KubernetesObject, at
from gitbot.kubernetes.phases import is_final
from gitbot.kubernetes.quantities import units_of
from gitbot.simulation.pod_checks import containers_of, forbidden
from gitbot.simulation.store import Store

_COUNTS = ("pods", "count/pods")
_SHORT = {"cpu": "requests.cpu", "memory": "requests.memory"}


def check_quota(store: Store, pod: KubernetesObject) -> None:
    """Raise 403 if the pod would exceed a quota of its namespace."""
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
        others = [other for other in store.all("Pod", namespace) if not is_final(other)]
        _check_amounts(quota, hard, pod, others)


def _check_named(quota: KubernetesObject, hard: Json, pod: KubernetesObject) -> None:
    """A quota on requests or limits requires every container to name them."""
    missing = sorted(
        name
        for name in hard
        if name not in _COUNTS
        and not all(_amount(container, name) is not None for _, container in containers_of(pod))
    )
    if missing:
        listed = []
        for name in missing:
            lacking = [
                item["name"] for _, item in containers_of(pod) if _amount(item, name) is None
            ]
            listed.append(f"{name} for: {','.join(sorted(lacking))}")
        text = f"failed quota: {quota['metadata']['name']}: must specify {'; '.join(listed)}"
        raise forbidden(pod, text)


def _check_amounts(
    quota: KubernetesObject, hard: Json, pod: KubernetesObject, others: Iterable[KubernetesObject]
) -> None:
    listed = list(others)
    counted: Json = at(quota, "status", "used", default={})
    exceeded = []
    for name in sorted(hard):
        asked = _usage(pod, name)
        used = sum(_usage(other, name) for other in listed)
        shown = _text(name, used, listed)
        if name in counted:
            used, shown = units_of(_unit(name), counted[name]), str(counted[name])
        if used + asked > units_of(_unit(name), hard[name]):
            exceeded.append((name, _text(name, asked, [pod]), shown, str(hard[name])))
    if not exceeded:
        return
    requested, used_text, limited = (
        ",".join(f"{item[0]}={item[place]}" for item in exceeded) for place in (1, 2, 3)
    )
    name = quota["metadata"]["name"]
    raise forbidden(
        pod,
        f"exceeded quota: {name}, requested: {requested}, used: {used_text}, limited: {limited}",
    )


def _unit(name: str) -> str:
    return name.rpartition(".")[2] if name.endswith((".cpu", ".memory")) else name


def _amount(container: Json, name: str) -> int | None:
    """One container's share of a quota's resource, in milli cpu or whole units."""
    value = _given(container, name)
    return None if value is None else units_of(_unit(_SHORT.get(name, name)), value)


def _given(container: Json, name: str) -> Any:
    side, _, resource = _SHORT.get(name, name).partition(".")
    value = at(container, "resources", side, resource)
    if value is None and side == "requests":
        value = at(container, "resources", "limits", resource)
    return value


def _usage(pod: KubernetesObject, name: str) -> int:
    if name in _COUNTS:
        return 1  # units of pods
    running, starting = 0, 0
    for path, container in containers_of(pod):
        amount = _amount(container, name) or 0
        if "initContainers" not in path or container.get("restartPolicy") == "Always":
            running += amount
        else:
            starting = max(starting, running + amount)
    return max(running, starting)


def _text(name: str, amount: int, pods: Iterable[KubernetesObject]) -> str:
    """An amount as the API server prints a sum: in the notation of its first part."""
    if name in _COUNTS:
        return str(amount)
    if _unit(name) == "cpu":
        return f"{amount}m" if amount % 1000 else str(amount // 1000)
    parts = (_given(item, name) for pod in pods for _, item in containers_of(pod))
    first = next((str(part) for part in parts if part is not None), "")
    step, units = (1024, "KMGTPE") if first.endswith("i") else (1000, "kMGTPE")
    unit = ""
    for letter in units:
        if not amount or amount % step:
            break
        amount, unit = amount // step, letter
    return f"{amount}{unit}{'i' if unit and step == 1024 else ''}"
