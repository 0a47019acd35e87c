"""Measured load of nodes: each value with its source, its query, and its time.

Load is optional. Without it nothing else changes; a missing or stale value is never replaced by a
guess.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal, DecimalException
from functools import cached_property

from gitbot.kubernetes.names import NamespacedName
from gitbot.model.text.instants import FOREVER
from gitbot.model.text.wording import counted, first_of, shortened

METRICS_SERVER = "metrics.k8s.io"
"""The source of values that metrics-server serves."""
PERCENT = 100  # one percent, in the unit of values
METRICS: Mapping[str, str] = {
    "cpu": "CPU used",
    "memory": "memory used",
    "system": "CPU used outside pods",
    "cpuPressure": "time in which tasks waited for CPU (PSI)",
    "memoryPressure": "time in which tasks waited for memory (PSI)",
    "ioPressure": "time in which tasks waited for I/O (PSI)",
    "combined": "the descheduler's own query",
}
PRESSURES = ("cpuPressure", "memoryPressure", "ioPressure")
MAX_AGE = 300  # seconds
DIRTY_MAX_AGE = 1800
"""Seconds. A dirty rate is an average already, and snapshots are published half as often."""
_MOST = 1_000_000  # percent
_FASTEST = 10**15  # bytes a second
PRESSURE_LIMIT = 10 * PERCENT


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class LoadValue:
    """One metric of one node, in hundredths of a percent of the node's capacity or of time.

    `deviation` is the standard deviation, 0 if it was not measured. `time` is in seconds UTC.
    """

    node: str
    metric: str
    amount: int
    deviation: int = 0
    time: int
    source: str
    query: str = ""

    def words(self, now: int) -> str:
        """`cpu 71.2 % (Prometheus, 40 s old)`."""
        age = max(0, now - self.time)
        return f"{self.metric} {percent(self.amount)} ({self.source}, {age} s old)"


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class DirtyRate:
    """The bytes of memory that a VM's guest writes in a second. `time` is in seconds UTC."""

    vm: NamespacedName
    rate: int
    time: int


@dataclass(frozen=True, kw_only=True)
class ClusterLoad:
    """The values of one reading, sorted, and sentences about values that could not be read."""

    values: tuple[LoadValue, ...] = ()
    missing: tuple[str, ...] = ()
    dirty: tuple[DirtyRate, ...] = ()

    @cached_property
    def by_node(self) -> Mapping[str, Mapping[str, LoadValue]]:
        found: dict[str, dict[str, LoadValue]] = {}
        for value in self.values:
            found.setdefault(value.node, {})[value.metric] = value
        return found

    def of(self, node: str) -> Mapping[str, LoadValue]:
        """The values of one node by metric."""
        return self.by_node.get(node, {})


NO_LOAD = ClusterLoad()


def hundredths(text: str, *, of: int = 1) -> int:
    """A number of percent, from 0 to a million, in hundredths; `of=100` for a share of 1."""
    return round(_number(text, _MOST // of) * of * PERCENT)


def seconds(text: str) -> int:
    return int(_number(text, FOREVER))


def bytes_in_a_second(text: str) -> int:
    return int(_number(text, _FASTEST))


def _number(text: str, most: int) -> Decimal:
    """From 0 to `most`, compared as a Decimal: the integer 1e999999999 would exhaust the memory."""
    try:
        found = Decimal(text)
        if 0 <= found <= most:
            return found
    except DecimalException:  # not a number, or NaN, which has no order
        pass
    raise ValueError(f"found {shortened(text, 40)!r}, expected a number from 0 to {most}")


def percent(amount: int) -> str:
    """`71.25 %`."""
    return f"{amount / PERCENT:g} %"


def fresh(
    load: ClusterLoad, *, now: int, nodes: Iterable[str], max_age: int = MAX_AGE
) -> ClusterLoad:
    """The values of these nodes that are at most `max_age` seconds old, and what is missing.

    Stale is missing. Each metric is named once with the nodes that lack it.
    """
    names = sorted(nodes)
    known = {value for value in load.values if abs(now - value.time) <= max_age}
    kept = tuple(sorted(value for value in known if value.node in set(names)))
    have = {(value.metric, value.node) for value in kept}
    given = {(value.metric, value.node) for value in load.values}
    said = list(load.missing)
    for metric in sorted({metric for metric, _ in given}):
        absent = [node for node in names if (metric, node) not in given]
        stale = [node for node in names if (metric, node) in given and (metric, node) not in have]
        if stale:
            where = first_of(stale, 3)
            said.append(f"{metric} of {where} is older than {counted(max_age, 'second')}")
        if absent:
            said.append(f"{metric} of {first_of(absent, 3)} was not measured")
    if given and not any(metric in PRESSURES for metric, _ in given):
        said.append("no PSI (cpuPressure, memoryPressure, ioPressure) was measured")
    longest = max(max_age, DIRTY_MAX_AGE)
    dirty = tuple(item for item in load.dirty if abs(now - item.time) <= longest)
    if load.dirty and not dirty:
        said.append(f"what the guests write is older than {counted(longest, 'second')}")
    return ClusterLoad(values=kept, missing=tuple(dict.fromkeys(said)), dirty=dirty)
