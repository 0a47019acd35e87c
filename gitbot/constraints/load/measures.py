"""Measured load for load-aware scorers and for checks of targets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from gitbot.kubernetes.objects import KubernetesObject, at
from gitbot.kubernetes.quantities import milli
from gitbot.model.cluster.load import PERCENT, PRESSURES, ClusterLoad, LoadValue

_CONDITIONS = ("DiskPressure", "MemoryPressure", "PIDPressure")


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadMeasure:
    """The load of one resource in percent: mean, deviation, and `current` (the last value)."""

    average: float = 0.0
    deviation: float = 0.0
    current: float | None = None


NodeLoad = Mapping[str, LoadMeasure]
"""`cpu` and `memory` to their load; a resource that was not measured is absent."""


def loads_of(load: ClusterLoad) -> Mapping[str, NodeLoad]:
    """Node name to its load. The value that was read stands for mean and last value."""
    return {
        node: {
            metric: LoadMeasure(
                average=value.amount / PERCENT,
                deviation=value.deviation / PERCENT,
                current=value.amount / PERCENT,
            )
            for metric, value in values.items()
            if metric in ("cpu", "memory")
        }
        for node, values in load.by_node.items()
    }


def strained(
    node: KubernetesObject, values: Mapping[str, LoadValue], *, now: int, limit: int
) -> Iterator[str]:
    """Reasons against a node as a target that the scheduler does not check.

    Its pressure conditions, PSI above `limit` (hundredths of a percent), and CPU used outside pods
    above the reserve (capacity - allocatable): then requests are not guaranteed.
    """
    for condition in at(node, "status", "conditions", default=()):
        if condition.get("type") in _CONDITIONS and condition.get("status") == "True":
            yield f"has {condition['type']}"
    for metric in PRESSURES:
        if metric in values and values[metric].amount > limit:
            yield f"{values[metric].words(now)} is above {limit / PERCENT:g} %"
    system = values.get("system")
    capacity = milli(at(node, "status", "capacity", "cpu") or 0)
    if system is not None and capacity:
        used = capacity * system.amount // (100 * PERCENT)
        kept = capacity - milli(at(node, "status", "allocatable", "cpu") or 0)
        if used > kept:
            where = system.words(now)
            yield f"uses {used}m CPU outside pods, {kept}m is reserved for that: {where}"
