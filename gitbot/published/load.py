"""Measured load as a file, and as the part `load` of a snapshot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from msgspec import Meta

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


class PublishedLoad(Document, frozen=True, kw_only=True):
    """What was measured of the nodes of a cluster, and what could not be read."""

    kind: Literal["ClusterLoad"] = "ClusterLoad"
    values: Sequence[MeasuredValue]
    missing: Annotated[Sequence[str], Meta(description="Sentences, each said once.")] = ()


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
    )
