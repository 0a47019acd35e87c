"""What would happen, as `gitbot simulate` prints it."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from gitbot.published.document import Count, Document, Part


class SimulatedMove(Part, frozen=True):
    """A live migration of a plan; times in seconds from its start."""

    vm: str
    source: str
    to: str
    estimated_seconds: Count


class SimulatedStart(Part, frozen=True):
    """A VM that starts on another node, or on none: then `why` says so in the scheduler's words."""

    vm: str
    source: str
    to: str
    why: str


class SimulatedPod(Part, frozen=True):
    """Another pod of a lost node that starts on another, or on none: then `why` says so."""

    pod: str
    source: str
    to: str
    why: str


class SimulatedHold(Part, frozen=True):
    """A VM that stays although its node is to be emptied."""

    vm: str
    code: str
    reason: str


class SimulatedLoss(Part, frozen=True):
    """Nodes whose loss leaves VMs without a place."""

    nodes: list[str]
    pending: list[SimulatedStart]


class SimulatedNode(Part, frozen=True):
    """How many VMs a node runs before and after."""

    node: str
    before: Count
    after: Count


class PublishedForecast(Document, frozen=True, kw_only=True):
    """The answer to one question about a cluster; what does not apply is empty."""

    kind: Literal["Forecast"] = "Forecast"
    cluster: str
    question: str
    moves: list[SimulatedMove]
    starts: list[SimulatedStart]
    holds: list[SimulatedHold]
    off: Annotated[list[str], Meta(description="VMs that nobody starts again.")]
    pods: Annotated[list[SimulatedPod], Meta(description="Starts of other pods.")]
    others: Annotated[Count, Meta(description="Other pods that find no place.")]
    gathered: Annotated[
        list[str], Meta(description="Workloads whose members are newly on one node or in one zone.")
    ]
    kept: Annotated[
        list[str], Meta(description="Sets for whose further members room is kept, and how much.")
    ]
    broken: Annotated[list[str], Meta(description="What breaks that held before.")]
    mended: Annotated[list[str], Meta(description="What holds that was broken before.")]
    asked: Annotated[Count, Meta(description="How many losses were tried.")]
    unsurvived: list[SimulatedLoss]
    seconds: Annotated[Count, Meta(description="How long the moves take, estimated.")]
    estimate: Annotated[list[str], Meta(description="What the estimate rests on.")]
    nodes: list[SimulatedNode]
    could: Annotated[
        list[str],
        Meta(description="If not all nodes can be empty together: the largest set that can."),
    ]
    faults: Annotated[list[str], Meta(description="Faults of gitbot's planner, to report.")]
