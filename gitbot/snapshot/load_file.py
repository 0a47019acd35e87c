"""Measured load as JSON: our own kind ClusterLoad, load-watcher's report, or NodeMetrics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from gitbot.errors import SnapshotError
from gitbot.kubernetes.names import NamespacedName
from gitbot.kubernetes.objects import KubernetesObject, at, name_of
from gitbot.kubernetes.quantities import nanos
from gitbot.model.cluster.load import (
    METRICS,
    METRICS_SERVER,
    PERCENT,
    ClusterLoad,
    DirtyRate,
    LoadValue,
    bytes_in_a_second,
    hundredths,
    seconds,
)
from gitbot.model.text.instants import parse_instant
from gitbot.model.text.wording import first_of, nearest, one_of, shortened
from gitbot.snapshot.decode import plain_json

KIND = "ClusterLoad"
_WATCHED = {"CPU": "cpu", "Memory": "memory"}
_OPERATORS = ("", "Latest", "AVG")  # later ones win


def read_load(file: str, data: bytes, nodes: Iterable[KubernetesObject] = ()) -> ClusterLoad:
    """The load in a file. Raises SnapshotError that says where, what was found and expected.

    `nodes` are those of the cluster: NodeMetrics have amounts, and not shares.
    """
    try:
        document = plain_json(data)
    except SnapshotError as error:
        raise SnapshotError(f"{file}: {error.message}") from error
    items = document.get("items") if isinstance(document, Mapping) else None
    if not isinstance(items, list) or document.get("kind") not in ("NodeMetricsList", "List"):
        return load_of(file, document)
    try:
        return ClusterLoad(values=tuple(sorted(node_metrics(items, nodes))))
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise SnapshotError(f"{file}: found other items than NodeMetrics: {error!r}") from error


def load_of(file: str, document: Any) -> ClusterLoad:
    if isinstance(document, Mapping) and "NodeMetricsMap" in (document.get("data") or {}):
        return ClusterLoad(values=tuple(sorted(_watched(file, document))))
    if not isinstance(document, Mapping) or document.get("kind") != KIND:
        found = document.get("kind") if isinstance(document, Mapping) else document
        raise SnapshotError(
            f"{file}: kind: found {shortened(str(found), 40)!r}, expected {KIND}",
            hint=f"`gitbot schema {KIND}`, what load-watcher serves, or NodeMetrics: kubectl get "
            "nodes.metrics.k8s.io -o json",
        )
    items = document.get("values")
    if not isinstance(items, list):
        raise SnapshotError(f"{file}: values: found {shortened(str(items), 40)!r}, expected a list")
    values = [_value(f"{file}: values[{number}]", item) for number, item in enumerate(items)]
    seen: set[tuple[str, str]] = set()
    for value in values:
        if (value.node, value.metric) in seen:
            raise SnapshotError(
                f"{file}: found {value.metric} of {value.node} twice, expected once"
            )
        seen.add((value.node, value.metric))
    missing = document.get("missing") or ()
    rates = document.get("dirtyRates") or ()
    if not isinstance(rates, list | tuple):
        raise SnapshotError(
            f"{file}: dirtyRates: found {shortened(str(rates), 40)!r}, expected a list"
        )
    dirty = [_writes(f"{file}: dirtyRates[{number}]", item) for number, item in enumerate(rates)]
    if twice := [str(vm) for vm, each in Counter(item.vm for item in dirty).items() if each > 1]:
        raise SnapshotError(f"{file}: dirtyRates: found {first_of(twice, 3)} twice, expected once")
    return ClusterLoad(
        values=tuple(sorted(values)),
        missing=tuple(map(str, missing)),
        dirty=tuple(sorted(dirty)),
    )


def _value(where: str, item: Any) -> LoadValue:
    item = _mapping(where, item)
    metric, node = item.get("metric"), item.get("node")
    if metric not in METRICS:
        near = nearest(str(metric), METRICS)
        hint = f"did you mean {near}?" if near else ""
        raise SnapshotError(
            f"{where}.metric: found {metric!r}, expected {one_of(METRICS)}", hint=hint
        )
    if not isinstance(node, str) or not node:
        raise SnapshotError(f"{where}.node: found {node!r}, expected the name of a node")
    return LoadValue(
        node=node,
        metric=str(metric),
        amount=_hundredths(f"{where}.percent", item.get("percent")),
        deviation=_hundredths(f"{where}.deviation", item.get("deviation") or 0),
        time=_time(where, item),
        source=str(item.get("source") or "a file"),
        query=str(item.get("query") or ""),
    )


def _writes(where: str, item: Any) -> DirtyRate:
    item = _mapping(where, item)
    for key in ("namespace", "name"):
        if not isinstance(item.get(key), str) or not item[key]:
            found = repr(item.get(key))
            raise SnapshotError(f"{where}.{key}: found {found}, expected that of a VM")
    text = str(item.get("bytesPerSecond")).lower()
    try:
        rate = bytes_in_a_second(text)
    except ValueError as error:
        raise SnapshotError(f"{where}.bytesPerSecond: {error}") from None
    vm = NamespacedName(namespace=item["namespace"], name=item["name"])
    return DirtyRate(vm=vm, rate=rate, time=_time(where, item))


def _mapping(where: str, item: Any) -> Mapping[str, Any]:
    if not isinstance(item, Mapping):
        raise SnapshotError(f"{where}: found {shortened(str(item), 40)!r}, expected an object")
    return item


def _time(where: str, item: Mapping[str, Any]) -> int:
    try:
        return parse_instant(str(item.get("time")))
    except ValueError as error:
        expected = "a time such as 2026-12-06T21:00:00Z"
        raise SnapshotError(
            f"{where}.time: found {item.get('time')!r}, expected {expected}"
        ) from error


def _hundredths(where: str, value: Any) -> int:
    text = str(value).lower()  # true and false are not numbers
    try:
        return hundredths(text)
    except ValueError:
        found = shortened(text, 40)
        message = f"{where}: found {found!r}, expected a number of percent such as 71.2"
        raise SnapshotError(message) from None


def _watched(file: str, document: Mapping[str, Any]) -> Iterator[LoadValue]:
    """load-watcher's WatcherMetrics at `window.end`. An average wins over the latest value."""
    try:
        ended = (document.get("window") or {}).get("end") or document.get("timestamp") or 0
        time = seconds(str(ended))
        for node, entry in document["data"]["NodeMetricsMap"].items():
            for kind, metric in _WATCHED.items():
                listed = [m for m in entry.get("metrics") or () if m.get("type") == kind]
                found = {str(m.get("operator") or ""): m["value"] for m in listed}
                means = [found[operator] for operator in _OPERATORS if operator in found]
                if means:
                    where = f"{file}: data.NodeMetricsMap.{node}.{kind}"
                    yield LoadValue(
                        node=str(node),
                        metric=metric,
                        amount=_hundredths(where, means[-1]),
                        deviation=_hundredths(where, found.get("STD", 0)),
                        time=time,
                        source="load-watcher",
                        query=kind,
                    )
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise SnapshotError(
            f"{file}: no metrics: {error!r}",
            hint="expected what load-watcher serves at /watcher: data.NodeMetricsMap.NODE.metrics",
        ) from error


def node_metrics(
    items: Iterable[Mapping[str, Any]], nodes: Iterable[KubernetesObject]
) -> Iterator[LoadValue]:
    """NodeMetrics as shares of what the nodes can allocate, as `kubectl top nodes` shows them.

    Raises KeyError, TypeError, AttributeError or ValueError for items of another form.
    """
    size = {name_of(node).name: at(node, "status", "allocatable") for node in nodes}
    for item in items:
        yield from _used(item, size)


def _used(item: Mapping[str, Any], size: Mapping[str, Any]) -> Iterator[LoadValue]:
    """`window` is the span that CPU was averaged over; it ends at `timestamp`."""
    node = item["metadata"]["name"]
    for metric in ("cpu", "memory"):
        room = nanos((size.get(node) or {}).get(metric) or 0)
        if room > 0 and metric in item["usage"]:
            yield LoadValue(
                node=node,
                metric=metric,
                amount=max(0, nanos(item["usage"][metric])) * 100 * PERCENT // room,
                time=_seconds(item["timestamp"]),
                source=METRICS_SERVER,
                query=f"NodeMetrics.usage.{metric} over {item.get('window') or 'an unnamed time'}",
            )


def _seconds(text: str) -> int:
    """RFC 3339 in UTC; fractions of a second are cut off."""
    return parse_instant(text.partition(".")[0].rstrip("Z") + "Z")
