"""Measured load of nodes, as load-watcher reports it: the input of load-aware scorers.

Source: paypal/load-watcher, pkg/watcher (WatcherMetrics). Values are percent of a node's capacity.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gitbot.errors import SnapshotError

_RESOURCES = {"CPU": "cpu", "Memory": "memory"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """The load of one resource in percent: mean, deviation, and `current` (the last value)."""

    average: float = 0.0
    deviation: float = 0.0
    current: float | None = None


NodeLoad = Mapping[str, Measure]
"""`cpu` and `memory` to their load; a resource that was not measured is absent."""


def read_loads(document: Any, file: str) -> Mapping[str, NodeLoad]:
    """Node name to its load. Raises SnapshotError for anything but a load-watcher report."""
    try:
        nodes = document["data"]["NodeMetricsMap"]
        return {str(name): _node(entry.get("metrics") or ()) for name, entry in nodes.items()}
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise SnapshotError(
            f"{file}: no metrics: {error!r}",
            hint="expected what load-watcher serves at /watcher: data.NodeMetricsMap.NODE.metrics",
        ) from error


def _node(metrics: Any) -> NodeLoad:
    found: dict[str, Measure] = {}
    for kind, resource in _RESOURCES.items():
        entries = [
            (str(item.get("operator") or ""), float(item["value"]))
            for item in metrics
            if item.get("type") == kind
        ]
        if entries:
            found[resource] = _measure(entries)
    return found


def _measure(entries: list[tuple[str, float]]) -> Measure:
    """An average wins over a value without operator or with Latest, in any order."""
    averages = [value for operator, value in entries if operator == "AVG"]
    others = [value for operator, value in entries if operator in ("", "Latest")]
    deviations = [value for operator, value in entries if operator == "STD"]
    current = [value for operator, value in entries if operator in ("AVG", "Latest")]
    return Measure(
        average=(averages or others or [0.0])[-1],
        deviation=(deviations or [0.0])[-1],
        current=current[-1] if current else None,
    )
