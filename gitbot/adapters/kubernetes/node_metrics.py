"""Load of nodes from metrics.k8s.io, which metrics-server and other programs serve."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from gitbot.adapters.kubernetes.transport import Transport
from gitbot.errors import ClusterError, SnapshotError
from gitbot.kubernetes.objects import at, name_of
from gitbot.kubernetes.quantities import nanos
from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.model.cluster.load import PERCENT, ClusterLoad, LoadValue
from gitbot.model.text.instants import parse_instant
from gitbot.snapshot import plain_json

PATH = "/apis/metrics.k8s.io/v1beta1/nodes"
SOURCE = "metrics.k8s.io"


class MetricsApi:
    """Implements ports.load.LoadSource: used CPU and memory, as a share of the allocatable amount.

    `kubectl top nodes` shows the same share. The API has no deviation and no PSI.
    """

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def read(self, snapshot: ClusterSnapshot) -> ClusterLoad:
        try:
            answer = self._transport.read(PATH)
            if answer.status != 200:
                return _nothing(f"answer {answer.status} of {PATH}")
            items = plain_json(answer.body)["items"]
            size = {
                name_of(node).name: at(node, "status", "allocatable")
                for node in snapshot.of("Node")
            }
            values = [value for item in items for value in _values(item, size)]
        except (ClusterError, SnapshotError) as error:
            return _nothing(error.message)
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            return _nothing(f"an answer other than a NodeMetricsList: {error!r}")
        return ClusterLoad(values=tuple(sorted(values)))


def _nothing(why: str) -> ClusterLoad:
    return ClusterLoad(missing=(f"{SOURCE} gave no load: {why}",))


def _values(item: Mapping[str, Any], size: Mapping[str, Any]) -> Iterator[LoadValue]:
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
                source=SOURCE,
                query=f"NodeMetrics.usage.{metric} over {item.get('window') or 'an unnamed time'}",
            )


def _seconds(text: str) -> int:
    """RFC 3339 in UTC; fractions of a second are cut off."""
    return parse_instant(text.partition(".")[0].rstrip("Z") + "Z")
