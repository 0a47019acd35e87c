"""The sum of a pod's requests, computed as kube-scheduler does.

Source: component-helpers resource/helpers.go (PodRequests) and kube-scheduler
framework/types.go (calculateResource). cpu is in milli, rounded up for each container; everything
else is in nanos while it is added and in whole units, rounded up, at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from gitbot.kubernetes.objects import KubernetesObject, at, condition_of
from gitbot.kubernetes.quantities import NANO, held_in_int64, milli, nanos, not_negative
from gitbot.model.caches import ContentCache, IdentityCache

DEFAULT_CPU = 100  # milli, for a container without a cpu request, in scoring only
DEFAULT_MEMORY = 200 * 1024 * 1024

_Amounts = dict[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Requests:
    """A pod's requests in each of the four ways in which the scheduler sums them.

    `filtered`: of a pod to be placed; `held`: of a placed pod (with resize status); `scored_*`: of
    a pod to be placed, as LeastAllocated counts; `held_*`: of a placed one. `later`: the same as
    1.37 and newer sum them, of a pod with resize status.
    """

    filtered: Mapping[str, int] = field(default_factory=dict)
    held: Mapping[str, int] = field(default_factory=dict)
    scored_cpu: int = 0
    scored_memory: int = 0
    held_cpu: int = 0
    held_memory: int = 0
    later: Requests | None = None


def requests_of(pod: KubernetesObject) -> Requests:
    """Add up the requests of a v1 Pod. Raises ValueError if a quantity is unreadable."""
    spec = pod.get("spec") or {}
    statuses = _statuses(pod)
    if not statuses:
        return _unresized(*map(spec.get, _ASKING))
    asking = {key: spec[key] for key in _ASKING if key in spec}
    return _requests(asking, statuses, _resize_infeasible(pod))


_ASKING = ("containers", "initContainers", "overhead", "resources")


def _made(
    spec: Mapping[str, Any], statuses: Mapping[str, Mapping[str, Any]], infeasible: bool
) -> Requests:
    found = _summed(spec, statuses, infeasible, _containers)
    if not (infeasible or _resized(spec, statuses)):
        return found  # as of nearly all pods
    later = _summed(spec, statuses, infeasible, _largest)
    return found if later == found else replace(found, later=later)


def _resized(spec: Mapping[str, Any], statuses: Mapping[str, Mapping[str, Any]]) -> bool:
    every = (*(spec.get("containers") or ()), *(spec.get("initContainers") or ()))
    asked = {container.get("name"): at(container, "resources", "requests") for container in every}
    return any(
        given is not None and given != asked.get(name)
        for name, status in statuses.items()
        for given in (at(status, "resources", "requests"), at(status, "allocatedResources"))
    )


def _summed(
    spec: Mapping[str, Any],
    statuses: Mapping[str, Mapping[str, Any]],
    infeasible: bool,
    of_containers: Callable[..., _Amounts],
) -> Requests:
    plain = _containers(spec, {}, infeasible=False, defaults={})
    filtered = _whole(_with_pod_level(spec, plain))
    held_raw = (
        of_containers(spec, statuses, infeasible=infeasible, defaults={}) if statuses else plain
    )
    held = _whole(_with_pod_level(spec, held_raw)) if statuses else filtered
    every: _Amounts = {"cpu": DEFAULT_CPU, "memory": DEFAULT_MEMORY * NANO}
    if not statuses and _complete(spec):
        every = {}
    scored_raw = _containers(spec, {}, infeasible=False, defaults=every) if every else plain
    scored = _whole(_with_overhead(spec, scored_raw))
    missing = (
        {name: amount for name, amount in every.items() if name not in held}
        if _pod_level(spec)
        else every
    )
    non_zero = held
    if missing:
        raw = of_containers(spec, statuses, infeasible=infeasible, defaults=missing)
        non_zero = _whole(_with_pod_level(spec, raw))
    return Requests(
        filtered=filtered,
        held=held,
        scored_cpu=scored.get("cpu", 0),
        scored_memory=scored.get("memory", 0),
        held_cpu=non_zero.get("cpu", 0),
        held_memory=non_zero.get("memory", 0),
    )


_requests = ContentCache(_made)
_unresized = IdentityCache(
    lambda *asked: _requests(dict(zip(_ASKING, asked, strict=True)), {}, False)
)


def _complete(spec: Mapping[str, Any]) -> bool:
    """Whether every container has cpu and memory requests, so that no default applies."""
    for key in ("containers", "initContainers"):
        for container in spec.get(key) or ():
            resources = container.get("resources") or {}
            named = {*(resources.get("requests") or ()), *(resources.get("limits") or ())}
            if not {"cpu", "memory"} <= named:
                return False
    return True


def limits_of(pod: KubernetesObject) -> Mapping[str, int]:
    """The limits of a v1 Pod, added up like its requests; resource quotas count them."""
    spec = pod.get("spec") or {}

    def only_limits(container: Mapping[str, Any]) -> Mapping[str, Any]:
        limits = at(container, "resources", "limits", default={})
        return {**container, "resources": {"requests": limits}}

    listed = {
        key: [only_limits(container) for container in spec.get(key) or ()]
        for key in ("containers", "initContainers")
    }
    total = _containers(listed, {}, infeasible=False, defaults={})
    return _whole(_with_overhead(spec, total) if total else total)


def _amount(name: str, value: Any) -> int:
    return not_negative(name, value, milli(value) if name == "cpu" else nanos(value))


def _whole(amounts: _Amounts) -> dict[str, int]:
    return {
        name: held_in_int64(amount if name == "cpu" else -(-amount // NANO))
        for name, amount in amounts.items()
    }


def _add(total: _Amounts, amounts: _Amounts) -> None:
    for name, amount in amounts.items():
        total[name] = total.get(name, 0) + amount


def _max(total: _Amounts, amounts: _Amounts) -> None:
    for name, amount in amounts.items():
        total[name] = max(total.get(name, amount), amount)


def _list(resources: Mapping[str, Any] | None) -> _Amounts:
    return {str(name): _amount(name, value) for name, value in (resources or {}).items()}


def _requested(container: Mapping[str, Any]) -> _Amounts:
    """The container's requests; a limit without a request is the request (API default)."""
    resources = container.get("resources") or {}
    amounts = _list(resources.get("requests"))
    for name, value in (resources.get("limits") or {}).items():
        if name not in amounts:
            amounts[name] = _amount(name, value)
    return amounts


def _one(
    container: Mapping[str, Any],
    status: Mapping[str, Any] | None,
    *,
    infeasible: bool,
    defaults: _Amounts,
) -> _Amounts:
    amounts = _requested(container)
    if status is not None and status.get("resources") is not None:
        merged: _Amounts = {} if infeasible else dict(amounts)
        _max(merged, _list(at(status, "resources", "requests")))
        _max(merged, _list(status.get("allocatedResources")))
        amounts = merged
    for name, amount in defaults.items():
        amounts.setdefault(name, amount)
    return amounts


def _containers(
    spec: Mapping[str, Any],
    statuses: Mapping[str, Mapping[str, Any]],
    *,
    infeasible: bool,
    defaults: _Amounts,
) -> _Amounts:
    initial = spec.get("initContainers") or ()
    ending = {item.get("name") for item in initial if item.get("restartPolicy") != "Always"}

    def one(container: Mapping[str, Any]) -> _Amounts:
        name = container.get("name", "")
        status = None if name in ending else statuses.get(name)
        return _one(container, status, infeasible=infeasible, defaults=defaults)

    return _aggregated(spec, one)


def _largest(
    spec: Mapping[str, Any],
    statuses: Mapping[str, Mapping[str, Any]],
    *,
    infeasible: bool,
    defaults: _Amounts,
) -> _Amounts:
    """The largest of three sums: as asked, as allocated and as actuated (1.37)."""

    def summed(*fields: str) -> _Amounts:
        def one(container: Mapping[str, Any]) -> _Amounts:
            status = statuses.get(container.get("name", "")) or {}
            given = (at(status, *field.split(".")) for field in fields)
            known = next((_list(value) for value in given if value is not None), None)
            if known is None:
                known = {} if infeasible and fields else _requested(container)
            return {**defaults, **known}

        return _aggregated(spec, one)

    total = summed("resources.requests", "allocatedResources")
    _max(total, summed("allocatedResources"))
    if not infeasible:
        _max(total, summed())
    return total


def _aggregated(spec: Mapping[str, Any], one: Callable[[Mapping[str, Any]], _Amounts]) -> _Amounts:
    total: _Amounts = {}
    for container in spec.get("containers") or ():
        _add(total, one(container))
    initial: _Amounts = {}
    sidecars: _Amounts = {}
    for container in spec.get("initContainers") or ():
        sidecar = container.get("restartPolicy") == "Always"
        amounts = one(container)
        if sidecar:
            _add(total, amounts)
            _add(sidecars, amounts)
            _max(initial, sidecars)
        else:
            _add(amounts, sidecars)
            _max(initial, amounts)
    _max(total, initial)
    return total


def _pod_level(spec: Mapping[str, Any]) -> _Amounts:
    """Pod-level requests (PodLevelResources): only cpu, memory and hugepages count."""
    return {
        name: amount
        for name, amount in _list(at(spec, "resources", "requests")).items()
        if name in {"cpu", "memory"} or name.startswith("hugepages-")
    }


def _with_overhead(spec: Mapping[str, Any], amounts: _Amounts) -> _Amounts:
    total = dict(amounts)
    _add(total, _list(spec.get("overhead")))
    return total


def _with_pod_level(spec: Mapping[str, Any], amounts: _Amounts) -> _Amounts:
    return _with_overhead(spec, {**amounts, **_pod_level(spec)})


def _statuses(pod: KubernetesObject) -> dict[str, Mapping[str, Any]]:
    status = pod.get("status") or {}
    lists: Iterable[Iterable[Mapping[str, Any]]] = (
        status.get("containerStatuses") or (),
        status.get("initContainerStatuses") or (),
    )
    return {
        item.get("name", ""): item
        for items in lists
        for item in items
        if item.get("resources") is not None or item.get("allocatedResources") is not None
    }


def _resize_infeasible(pod: KubernetesObject) -> bool:
    condition = condition_of(pod, "PodResizePending")
    return condition is not None and condition.get("reason") == "Infeasible"
