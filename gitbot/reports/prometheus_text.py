"""Metrics in the text format of Prometheus.

https://prometheus.io/docs/instrumenting/exposition_formats/
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import accumulate

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.registry import Collector

from gitbot.reports.metrics import CATALOGUE, MetricKind, MetricValues

CLUSTER = "cluster"
SECONDS = (5, 10, 20, 40, 60, 120, 300, 600, 1200, 1800, 3600)
"""Upper bounds of the buckets of a duration; the last bucket is +Inf."""


def metrics_text(cluster: str, metrics: Iterable[MetricValues]) -> bytes:
    given = {item.name: item for item in metrics}
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Collected([_family(cluster, given[n]) for n in CATALOGUE if n in given]))
    return generate_latest(registry)


def text_samples(text: str) -> Iterator[tuple[str, Mapping[str, str], float]]:
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            yield sample.name, sample.labels, sample.value


class _Collected(Collector):
    """The form in which prometheus_client takes values that somebody else counted."""

    def __init__(self, families: list[Metric]) -> None:
        self._families = families

    def collect(self) -> Iterable[Metric]:
        return self._families


def _family(cluster: str, item: MetricValues) -> Metric:
    known = CATALOGUE[item.name]
    if known.kind is MetricKind.HISTOGRAM:
        found = HistogramMetricFamily(item.name, known.help, labels=[CLUSTER])
        found.add_metric([cluster], _buckets(item.observed), sum(item.observed))
        return found
    family = CounterMetricFamily if known.kind is MetricKind.COUNTER else GaugeMetricFamily
    labels = [CLUSTER, known.label] if known.label else [CLUSTER]
    made: CounterMetricFamily | GaugeMetricFamily = family(item.name, known.help, labels=labels)
    for label, value in sorted(item.values.items()):
        made.add_metric([cluster, label] if known.label else [cluster], value)
    return made


def _buckets(observed: tuple[int, ...]) -> list[tuple[str, float]]:
    """Cumulative counts by upper bound."""
    counts = [0] * (len(SECONDS) + 1)
    for seconds in observed:
        counts[next((i for i, most in enumerate(SECONDS) if seconds <= most), len(SECONDS))] += 1
    return list(zip((*map(str, SECONDS), "+Inf"), accumulate(counts), strict=True))
