"""The metrics of a pass: names, types and labels, and their text for Prometheus.

Names and units follow https://prometheus.io/docs/practices/naming/. Labels are bounded: no VM,
node, request or reason is one, so the number of series does not grow with the cluster.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import accumulate
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prometheus_client.core import Metric

CLUSTER = "cluster"
SECONDS = (5, 10, 20, 40, 60, 120, 300, 600, 1200, 1800, 3600)
"""Upper bounds of the buckets of a duration; the last bucket is +Inf."""
RATIOS = (0.25, 0.5, 0.75, 1, 1.25, 1.5, 2, 3, 5, 10)
"""Those of a ratio: 0.5 and 2 are bounds, so that nothing is guessed about twice and half."""


class MetricKind(StrEnum):
    """The types of Prometheus that gitbot uses."""

    GAUGE = "gauge"
    COUNTER = "counter"
    HISTOGRAM = "histogram"


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricName:
    """One documented metric. `label` is "" if it has no label but `cluster`.

    Only a histogram has `buckets`: their upper bounds.
    """

    kind: MetricKind
    help: str
    label: str = ""
    buckets: tuple[float, ...] = ()


_GAUGE, _COUNTER = MetricKind.GAUGE, MetricKind.COUNTER

CATALOGUE: Mapping[str, MetricName] = {
    "gitbot_build_info": MetricName(
        kind=_GAUGE, help="Always 1. The label is gitbot's version.", label="version"
    ),
    "gitbot_healthy": MetricName(
        kind=_GAUGE,
        help="1 if gitbot can do its work, also while a person holds it; 0 if it cannot.",
    ),
    "gitbot_stopped": MetricName(kind=_GAUGE, help="1 if no migration may start, else 0."),
    "gitbot_hold_timestamp_seconds": MetricName(
        kind=_GAUGE, help="When the hold in the ledger was set; 0 if there is none."
    ),
    "gitbot_breaker_open": MetricName(
        kind=_GAUGE, help="1 if the circuit breaker set the hold in the ledger, else 0."
    ),
    "gitbot_ledger_doubted": MetricName(
        kind=_GAUGE,
        help="1 if the ledger is not the one whose anchor the cluster keeps, else 0.",
    ),
    "gitbot_last_pass_timestamp_seconds": MetricName(kind=_GAUGE, help="When the last pass ended."),
    "gitbot_last_success_timestamp_seconds": MetricName(
        kind=_GAUGE, help="When the last pass ended that left gitbot healthy; 0 if none did yet."
    ),
    "gitbot_last_pass_duration_seconds": MetricName(
        kind=_GAUGE, help="How long the last pass took."
    ),
    "gitbot_last_pass_stage_duration_seconds": MetricName(
        kind=_GAUGE,
        help="How long each stage of it took; together they took as long as the pass.",
        label="stage",
    ),
    "gitbot_last_look_timestamp_seconds": MetricName(
        kind=_GAUGE, help="When the newest snapshot of the cluster was taken, by its clock."
    ),
    "gitbot_cluster_requests_total": MetricName(
        kind=_COUNTER, help="Requests to the API server since the connection was opened."
    ),
    "gitbot_cluster_received_bytes_total": MetricName(
        kind=_COUNTER, help="Bytes of its answers, those of watches included."
    ),
    "gitbot_passes_total": MetricName(
        kind=_COUNTER,
        help="Passes that this file or process counted: ok, or failing.",
        label="result",
    ),
    "gitbot_internal_errors": MetricName(
        kind=_GAUGE, help="Findings plan/internal in the last pass: faults of gitbot. Report them."
    ),
    "gitbot_waiting_moves": MetricName(
        kind=_GAUGE,
        help="Approved moves that wait: for a time, for the cluster, or for a person.",
        label="for",
    ),
    "gitbot_next_opening_timestamp_seconds": MetricName(
        kind=_GAUGE, help="When the next approved move may start; 0 if none waits for a time."
    ),
    "gitbot_next_window_timestamp_seconds": MetricName(
        kind=_GAUGE,
        help="Start of the maintenance window that is open or opens next; 0 if there is none.",
    ),
    "gitbot_windows_at_risk": MetricName(
        kind=_GAUGE,
        help="Requests that will miss their window: for want of a merge, or of time.",
        label="reason",
    ),
    "gitbot_moves": MetricName(
        kind=_GAUGE, help="Approved moves that have not ended, by state.", label="state"
    ),
    "gitbot_requests": MetricName(
        kind=_GAUGE, help="Requests that have not ended, by state.", label="state"
    ),
    "gitbot_nodes_in_maintenance": MetricName(
        kind=_GAUGE, help="Nodes that drain or are ready for work, by state.", label="state"
    ),
    "gitbot_vms_away": MetricName(
        kind=_GAUGE, help="VMs that a maintenance moved away and that are not home."
    ),
    "gitbot_open_proposals": MetricName(
        kind=_GAUGE, help="Pull requests of gitbot that are neither merged nor closed."
    ),
    "gitbot_refused_merges": MetricName(
        kind=_GAUGE, help="Merges that approved nothing, in the last pass."
    ),
    "gitbot_not_allowed": MetricName(
        kind=_GAUGE, help="Writes that the cluster refused in the last pass."
    ),
    "gitbot_last_pass_forge_requests": MetricName(
        kind=_GAUGE, help="Requests to the forge in the last pass, free ones included."
    ),
    "gitbot_forge_requests_remaining": MetricName(
        kind=_GAUGE, help="Requests that the forge still takes until it resets its limit."
    ),
    "gitbot_migrations_created_total": MetricName(
        kind=_COUNTER, help="Migrations that gitbot created, from the ledger."
    ),
    "gitbot_moves_ended_total": MetricName(
        kind=_COUNTER, help="Ends of moves and of attempts, from the ledger.", label="state"
    ),
    "gitbot_foreign_migrations_total": MetricName(
        kind=_COUNTER, help="Ended migrations of other movers, from the ledger."
    ),
    "gitbot_migration_duration_seconds": MetricName(
        kind=MetricKind.HISTOGRAM,
        help="How long migrations that succeeded took, from the ledger.",
        buckets=SECONDS,
    ),
    "gitbot_migration_estimate_ratio": MetricName(
        kind=MetricKind.HISTOGRAM,
        help="How many times their estimate in the plan they took, from the ledger.",
        buckets=RATIOS,
    ),
    "gitbot_audit_findings": MetricName(
        kind=_GAUGE, help="Findings of the last recorded audit.", label="severity"
    ),
    "gitbot_broken_rules": MetricName(
        kind=_GAUGE,
        help="Rules that the last recorded audit found broken.",
        label="enforcement",
    ),
    "gitbot_broken_rules_since_timestamp_seconds": MetricName(
        kind=_GAUGE,
        help="Since when the oldest of them has been broken without a pause; 0 if none is.",
        label="enforcement",
    ),
    "gitbot_ledger_lines": MetricName(kind=_GAUGE, help="Lines of the ledger, of all clusters."),
    "gitbot_ledger_plans_bytes": MetricName(
        kind=_GAUGE, help="Bytes of the plans that the ledger keeps."
    ),
    "gitbot_ledger_appends_total": MetricName(
        kind=_COUNTER, help="Commits to the ledger since the connection was opened."
    ),
    "gitbot_ledger_lost_races_total": MetricName(
        kind=_COUNTER, help="Commits that another process forestalled; gitbot decided again."
    ),
}
"""Every metric by its name, in the order in which they are written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricValues:
    """The values of one metric.

    `values` are by the value of its label, "" without one; a histogram has `observed` instead.
    """

    name: str
    values: Mapping[str, float] = field(default_factory=dict)
    observed: tuple[float, ...] = ()


def exposition(cluster: str, metrics: Iterable[MetricValues]) -> bytes:
    """The text of the given metrics. An unknown value is absent, never 0."""
    from prometheus_client import CollectorRegistry, generate_latest  # noqa: PLC0415 - quick --help
    from prometheus_client.registry import Collector  # noqa: PLC0415

    given = {item.name: item for item in metrics}
    families = [_family(cluster, given[name]) for name in CATALOGUE if name in given]

    class Given(Collector):
        """The form in which prometheus_client takes values that somebody else counted."""

        def collect(self) -> Iterable[Metric]:
            return families

    registry = CollectorRegistry(auto_describe=False)
    registry.register(Given())
    return generate_latest(registry)


def exposition_type() -> str:
    """The media type of what `exposition` writes."""
    from prometheus_client import CONTENT_TYPE_LATEST  # noqa: PLC0415 - quick --help

    return CONTENT_TYPE_LATEST


def samples(text: str) -> Iterator[tuple[str, Mapping[str, str], float]]:
    """Name, labels and value of each sample. Raises ValueError if the text has another form."""
    from prometheus_client.parser import text_string_to_metric_families  # noqa: PLC0415

    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            yield sample.name, sample.labels, sample.value


def _family(cluster: str, item: MetricValues) -> Metric:
    from prometheus_client import core  # noqa: PLC0415 - quick --help

    known = CATALOGUE[item.name]
    if known.kind is MetricKind.HISTOGRAM:
        found = core.HistogramMetricFamily(item.name, known.help, labels=[CLUSTER])
        found.add_metric([cluster], _buckets(known.buckets, item.observed), sum(item.observed))
        return found
    is_counter = known.kind is MetricKind.COUNTER
    family = core.CounterMetricFamily if is_counter else core.GaugeMetricFamily
    labels = [CLUSTER, known.label] if known.label else [CLUSTER]
    made: core.CounterMetricFamily | core.GaugeMetricFamily = family(
        item.name, known.help, labels=labels
    )
    for label, value in sorted(item.values.items()):
        made.add_metric([cluster, label] if known.label else [cluster], value)
    return made


def _buckets(bounds: tuple[float, ...], observed: tuple[float, ...]) -> list[tuple[str, float]]:
    """Cumulative counts by upper bound."""
    counts = [0] * (len(bounds) + 1)
    for value in observed:
        counts[bisect_left(bounds, value)] += 1
    return list(zip((*map(str, bounds), "+Inf"), accumulate(counts), strict=True))
