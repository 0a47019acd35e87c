"""What the pages of the site show beside status, listings and calendar."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, field

from gitbot.model.ledger.request_id import RequestId
from gitbot.published.document import Count, Digest, Document, Instant, KnownInstant, Part

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


class StayLine(Part, frozen=True):
    """A VM that a drain leaves on its node for now."""

    vm: str
    why: str


class BoardNode(Part, frozen=True):
    """One node of a maintenance; an instant is "" for what has not happened."""

    node: str
    state: Annotated[str, Meta(description="waiting, draining, ready, returned or closed.")]
    began: Annotated[KnownInstant, Meta(description="When its drain began.")]
    empty: Annotated[KnownInstant, Meta(description="When it was ready for the work on it.")]
    back: Annotated[KnownInstant, Meta(description="When it returned.")]
    cordon: Annotated[str, Meta(description='Who cordoned it; "" if that is unknown.')]
    planned: Annotated[
        Count, Meta(description="VMs that leave it by plan; before a plan, its VMs.")
    ]
    moved: Annotated[Count, Meta(description="Those of them that have left it.")]
    stays: Annotated[list[StayLine], Meta(description="What is still on it, and why.")]
    next_command: Annotated[str, Meta(description='What a person types; "" for nothing.')] = field(
        name="next"
    )


class BoardWindow(Part, frozen=True):
    """One occurrence of a maintenance window; `request` is its drain."""

    window: str
    occurrence: str
    request: RequestId
    starts: KnownInstant
    ends: Annotated[KnownInstant, Meta(description='"" if it has no end.')]
    words: Annotated[str, Meta(description="When, in words and in local time.")]
    nodes: list[BoardNode]


class PublishedBoard(Document, frozen=True, kw_only=True):
    """Maintenance as planned and as it went: what runs or ended within a day, then what opens."""

    kind: Literal["MaintenanceBoard"] = "MaintenanceBoard"
    cluster: str
    now: Instant = field(name="time")
    not_read: Annotated[str, Meta(description="Why the cluster could not be read.")]
    windows: list[BoardWindow]


class OpenPlanNode(Part, frozen=True):
    """One node that a plan touches; `stay` are the VMs on it that the plan does not move."""

    node: str
    zone: str
    stay: Count


class OpenPlanMove(Part, frozen=True):
    """One move of a plan."""

    vm: str
    source: str = field(name="from")
    to: str
    wave: Annotated[Count, Meta(description="Counts from 1.")]
    seconds: Annotated[Count, Meta(description="Estimated.")]
    why: str


class OpenPlan(Part, frozen=True):
    """A plan of an open pull request, or what is left of an approved one (pull request 0)."""

    title: str
    pull_request: Count
    url: str
    digest: Digest
    nodes: list[OpenPlanNode]
    moves: list[OpenPlanMove]


class PublishedPlans(Document, frozen=True, kw_only=True):
    """What would move: the plans that are approved, and those that wait for a merge."""

    kind: Literal["OpenPlans"] = "OpenPlans"
    cluster: str
    now: Instant = field(name="time")
    not_read: Annotated[str, Meta(description="Why the cluster could not be read.")]
    plans: list[OpenPlan]


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
