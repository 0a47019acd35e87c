"""What the pages of the site show beside status, listings and calendar."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, field

from gitbot.published.document import Count, Document, Instant, Part

Bytes = Annotated[int, Meta(description="In bytes.")]


class PlaceLine(Part, frozen=True):
    """One node with the VMs on it."""

    node: str
    zone: Annotated[str, Meta(description='"" if the node has no zone.')]
    state: Annotated[str, Meta(description="As kubectl prints it: Ready, SchedulingDisabled.")]
    maintenance: Annotated[str, Meta(description='What gitbot does with it; "" for nothing.')]
    vms: Annotated[list[str], Meta(description="namespace/name, sorted.")]
    allocatable: Bytes
    requested: Annotated[int, Meta(description="Bytes that its pods hold, VMs included.")]


class PublishedMap(Document, frozen=True, kw_only=True):
    """Where the VMs run: each node of a cluster, sorted by zone and name."""

    kind: Literal["ClusterMap"] = "ClusterMap"
    cluster: str
    now: Instant = field(name="time")
    not_read: Annotated[str, Meta(description="Why the cluster could not be read.")]
    nodes: list[PlaceLine]


class PastMove(Part, frozen=True):
    """One move as of its last entry in the ledger; "" and 0 for what is unknown."""

    time: Instant
    vm: str
    source: str = field(name="from")
    to: Annotated[str, Meta(description="Where it landed, else its target.")]
    seconds: Annotated[Count, Meta(description="How long its migration took.")]
    state: str
    reason: Annotated[str, Meta(description="Why it is in that state.")]
    by: Annotated[str, Meta(description="Who merged the plan, else who asked for the move.")]
    pull_request: Count
    why: Annotated[str, Meta(description="Why it moves, with the note of the person who asked.")]
    request: str


class PublishedMoves(Document, frozen=True, kw_only=True):
    """Who moved what and why: the moves of a span of time, the last one first."""

    kind: Literal["MoveHistory"] = "MoveHistory"
    cluster: str
    now: Instant = field(name="time")
    after: Instant = field(name="from")
    items: list[PastMove]
