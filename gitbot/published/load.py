"""Measured load as a file, and as the part `load` of a snapshot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from msgspec import UNSET, Meta, UnsetType

from gitbot.model.cluster.load import METRICS, PERCENT, ClusterLoad
from gitbot.published.document import Document, Instant, Part

Percent = Annotated[str, Meta(pattern=r"^\d+(\.\d{1,2})?$", description="Percent, as text.")]


class MeasuredValue(Part, frozen=True):
    """One metric of one node with its source, query and time."""

    node: str
    metric: Annotated[str, Meta(extra_json_schema={"enum": list(METRICS)})]
    percent: Percent
    deviation: Annotated[Percent, Meta(description="Standard deviation; 0 if not measured.")]
    time: Instant
    source: str
    query: str


class MeasuredWrites(Part, frozen=True):
    """How fast the guest of one VM writes its memory."""

    namespace: str
    name: str
    bytes_per_second: int
    time: Instant


class PublishedLoad(Document, frozen=True, kw_only=True):
    """What was measured of the nodes and VMs of a cluster, and what could not be read."""

    kind: Literal["ClusterLoad"] = "ClusterLoad"
    values: Sequence[MeasuredValue]
    missing: Annotated[Sequence[str], Meta(description="Sentences, each said once.")] = ()
    dirty_rates: Annotated[
        Sequence[MeasuredWrites] | UnsetType,
        Meta(description="kubevirt_vmi_dirty_rate_bytes_per_second of VMs, from Prometheus."),
    ] = UNSET


def load_file(load: ClusterLoad) -> PublishedLoad:
    return PublishedLoad(
        values=[
            MeasuredValue(
                node=value.node,
                metric=value.metric,
                percent=f"{value.amount / PERCENT:g}",
                deviation=f"{value.deviation / PERCENT:g}",
                time=Instant(value.time),
                source=value.source,
                query=value.query,
            )
            for value in load.values
        ],
        missing=load.missing,
        dirty_rates=[
            MeasuredWrites(
                namespace=item.vm.namespace,
                name=item.vm.name,
                bytes_per_second=item.rate,
                time=Instant(item.time),
            )
            for item in load.dirty
        ]
        or UNSET,
    )
