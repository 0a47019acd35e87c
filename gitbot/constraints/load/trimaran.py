"""Trimaran's three formulas: optional scores based on measured load.

Source: kubernetes-sigs/scheduler-plugins, pkg/trimaran (TargetLoadPacking,
LoadVariationRiskBalancing, LowRiskOverCommitment) with the default arguments. A node without
metrics scores 0 and is never excluded. Pods bound after the measurement are not added: a snapshot
does not record when they were bound.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import floor, inf, sqrt
from typing import Any

from gitbot.constraints.load.beta_distribution import largest_deviation, probability_of_moments
from gitbot.constraints.load.measures import LoadMeasure, NodeLoad
from gitbot.kubernetes.objects import KubernetesObject, at
from gitbot.kubernetes.quantities import milli, units_of

TARGET_PERCENT = 40
DEFAULT_MILLI = 1000  # of a container without a cpu request
MARGIN, SENSITIVITY = 1.0, 1.0
WINDOW, LIMIT_WEIGHT, LARGEST_SHARE = 5, 0.5, 0.99

_Amounts = dict[str, int]  # cpu in milli, memory in bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A node for these scorers: the object, its load, and the pods that run on it."""

    node: KubernetesObject
    load: NodeLoad
    pods: tuple[KubernetesObject, ...] = ()


def target_load_packing(pod: KubernetesObject, place: Place) -> int:
    """Fills nodes up to 40 % of their CPU, then prefers the emptier ones; 0 above 100 %."""
    measure = place.load.get("cpu")
    if measure is None or measure.current is None:
        return 0
    status = place.node.get("status") or {}
    capacity = milli(at(status, "capacity", "cpu") or at(status, "allocatable", "cpu") or 0)
    spec = pod.get("spec") or {}
    asked = sum(_predicted(item) for item in spec.get("containers") or ())
    asked += milli(at(spec, "overhead", "cpu") or 0)
    percent = 100 * (measure.current / 100 * capacity + asked) / capacity if capacity else 0.0
    return packed(percent)


def packed(percent: float) -> int:
    """The score of a predicted CPU utilisation in percent."""
    if percent > 100:
        return 0
    if percent > TARGET_PERCENT:
        return _rounded(TARGET_PERCENT * (100 - percent) / (100 - TARGET_PERCENT))
    return _rounded((100 - TARGET_PERCENT) * percent / TARGET_PERCENT + TARGET_PERCENT)


def load_variation_risk_balancing(pod: KubernetesObject, place: Place) -> int:
    """Prefers nodes with low and steady load. The worse of cpu and memory counts."""
    requests = effective(pod, "requests")
    scores = [
        balanced(
            capacity=_allocatable(place.node, resource),
            used=measure.average * _allocatable(place.node, resource) / 100,
            deviation=measure.deviation * _allocatable(place.node, resource) / 100,
            asked=requests.get(resource, 0),
        )
        for resource, measure in place.load.items()
    ]
    return _rounded(min(scores, default=0.0))


def balanced(
    *,
    capacity: float,
    used: float,
    deviation: float,
    asked: float,
    margin: float = MARGIN,
    sensitivity: float = SENSITIVITY,
) -> float:
    """100 minus the mean of expected load and its spread, for one resource in any unit."""
    if capacity <= 0:
        return 0.0
    mean = _clamped((_clamped(used, capacity) + max(asked, 0)) / capacity)
    spread = _clamped(deviation, capacity) / capacity
    if sensitivity >= 0:
        spread **= 1 / sensitivity if sensitivity else inf
    return (1 - (mean + _clamped(spread * margin)) / 2) * 100


def low_risk_over_commitment(pod: KubernetesObject, place: Place) -> int:
    """Prefers nodes where limits and load leave little risk of use above the allocation."""
    mine = _bounds(pod)
    if not any(any(amounts.values()) for amounts in mine) or not place.load:
        return 0
    others = [_bounds(item) for item in place.pods]
    risks = [
        _risk(
            capacity=_allocatable(place.node, resource),
            before=tuple(sum(item[part].get(resource, 0) for item in others) for part in (0, 1)),
            mine=tuple(item.get(resource, 0) for item in mine),
            measure=place.load.get(resource),
        )
        for resource in ("cpu", "memory")
    ]
    return _rounded((1 - max(risks)) * 100)


def _risk(
    *,
    capacity: int,
    before: tuple[int, ...],
    mine: tuple[int, ...],
    measure: LoadMeasure | None,
) -> float:
    """Half the share of limits beyond the node, half the chance of use beyond requests."""
    requests, limits = before
    asked, limit = min(requests + mine[0], capacity), limits + mine[1]
    beyond = (limit - capacity) / (limit - asked) if limit > capacity else 0.0
    overuse = 0.0
    if measure is not None:
        overuse = 1 - _kept(measure, min(requests, capacity), limits, capacity)
    return _clamped(LIMIT_WEIGHT * beyond + (1 - LIMIT_WEIGHT) * overuse)


def _kept(measure: LoadMeasure, requests: int, limits: int, capacity: int) -> float:
    """The probability that the load stays within the requests, given the limits."""
    if capacity <= 0:
        return 1.0
    mean, spread = _clamped(measure.average / 100), _clamped(measure.deviation / 100)
    spread = min(spread * sqrt(WINDOW), largest_deviation(mean) * sqrt(LARGEST_SHARE))
    limited = limits < capacity and requests <= limits
    if limited and limits == 0:
        return 1.0
    share = requests / capacity
    if mean == 0 or spread == 0:
        return 1.0 if mean == 0 or mean <= share else 0.0
    within = probability_of_moments(mean, spread, share)
    if within is None:
        return 0.0
    possible = probability_of_moments(mean, spread, limits / capacity) if limited else None
    return _clamped(within / possible) if possible else within


def effective(pod: KubernetesObject, kind: str) -> _Amounts:
    """A pod's `requests` or `limits` of cpu and memory, by Trimaran's rule without sidecars.

    Containers added up, or the largest init container if that is more, plus overhead.
    """
    spec = pod.get("spec") or {}
    total: _Amounts = {"cpu": 0, "memory": 0}
    for container in spec.get("containers") or ():
        for resource in total:
            total[resource] += _amount(container, kind, resource)
    for container in spec.get("initContainers") or ():
        for resource in total:
            total[resource] = max(total[resource], _amount(container, kind, resource))
    for resource in total:
        total[resource] += units_of(resource, at(spec, "overhead", resource) or 0)
    return total


def _bounds(pod: KubernetesObject) -> tuple[_Amounts, _Amounts]:
    """Requests, and limits that are at least as high."""
    requests, limits = effective(pod, "requests"), effective(pod, "limits")
    return requests, {key: max(limits[key], requests[key]) for key in requests}


def _amount(container: Mapping[str, Any], kind: str, resource: str) -> int:
    found = at(container, "resources", kind, resource)
    if found is None and kind == "requests":
        found = at(container, "resources", "limits", resource)
    return units_of(resource, found or 0)


def _predicted(container: Mapping[str, Any]) -> int:
    limit = at(container, "resources", "limits", "cpu")
    if limit is not None:
        return milli(limit)
    request = at(container, "resources", "requests", "cpu")
    return DEFAULT_MILLI if request is None else _rounded(milli(request) * 1.5)


def _allocatable(node: KubernetesObject, resource: str) -> int:
    return units_of(resource, at(node, "status", "allocatable", resource) or 0)


def _clamped(value: float, most: float = 1.0) -> float:
    return max(min(value, most), 0.0)


def _rounded(value: float) -> int:
    return floor(value + 0.5)


LoadScore = Callable[[KubernetesObject, Place], int]
LOAD_SCORERS: Mapping[str, LoadScore] = {
    "LoadVariationRiskBalancing": load_variation_risk_balancing,
    "LowRiskOverCommitment": low_risk_over_commitment,
    "TargetLoadPacking": target_load_packing,
}
