"""What `gitbot status` prints."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from msgspec import Meta, field

from gitbot.model.ledger.events import MoveState
from gitbot.model.ledger.request_id import RequestId
from gitbot.published.document import Count, Document, Instant, KnownInstant, Part

Next = Annotated[str, Meta(description='A command to type next; "" for none.')]


class MoveLine(Part, frozen=True):
    """One move, and what it waits for."""

    id: Count
    vm: str
    source: str = field(name="from")
    to: str
    state: MoveState
    landed: str
    reason: str
    waits: str
    until: KnownInstant


class RequestLine(Part, frozen=True):
    """One request with its moves."""

    id: RequestId
    state: str
    section: Literal["running", "waiting", "held", "failed", "ended"]
    next_command: Next = field(name="next")
    moves: list[MoveLine]


class NodeLine(Part, frozen=True):
    """One node in maintenance; `unplanned` are its VMs that no approved plan covers."""

    node: str
    state: str
    since: Instant
    cordon: Annotated[str, Meta(description='Who cordoned it; "" if that is unknown.')]
    unplanned: list[str]
    next_command: Next = field(name="next")


class MaintenanceLine(Part, frozen=True):
    """One occurrence of a maintenance window; `request` is its drain."""

    request: RequestId
    window: str
    occurrence: str
    nodes: list[NodeLine]


class StopReason(Part, frozen=True):
    """One reason why nothing starts. `by` and `since` are "" if unknown."""

    reason: str
    by: str
    since: KnownInstant
    next_command: Next = field(name="next")


class AwayLine(Part, frozen=True):
    """A VM that a maintenance moved away and that is not home; `node` is where it runs now."""

    vm: str
    home: str
    node: str
    occurrence: str
    reason: Annotated[str, Meta(description="Why it is not home.")]
    next_command: Next = field(name="next")


class OpeningLine(Part, frozen=True):
    """The occurrence of a window or freeze that is open or comes next."""

    kind: str
    name: str
    where: Annotated[str, Meta(description="File and line of the intent.")]
    starts: Instant
    ends: Instant
    local: Annotated[str, Meta(description="When, in words and in local time.")]
    request: Annotated[str, Meta(description='Its drain; "" if it drains no node.')]
    state: Annotated[str, Meta(description='The state of the drain; "" if it has no plan yet.')]
    next_command: Next = field(name="next")
    begins: Annotated[
        KnownInstant, Meta(description="When its moves may begin, if before it starts and known.")
    ] = field(default_factory=lambda: KnownInstant(0))


class PullLine(Part, frozen=True):
    """An open pull request: of the bot, or one of a person that changes intents."""

    number: Count
    title: str
    branch: str
    url: str
    next_command: Next = field(name="next")


class NotAppliedLine(Part, frozen=True):
    """An approved request that no pass has taken up. Pull request 0: approved by policy."""

    pull_request: Count
    request: RequestId
    next_command: Next = field(name="next")


class OwnersLine(Part, frozen=True):
    """A merged request that waits for the approval of owners, on that pull request."""

    pull_request: Count
    request: RequestId
    waits: Annotated[str, Meta(description="Whose approval is missing, and who can give it.")]


class PolicyExceptionLine(Part, frozen=True):
    """What passes though a policy denies it: an exemption, or an override of one plan."""

    policy: str
    name: Annotated[str, Meta(description='Name of the exemption; "" for an override.')]
    by: Annotated[str, Meta(description="The owner who answers for it.")]
    reason: str
    subjects: Annotated[list[str], Meta(description="Patterns of an exemption; none: all.")]
    until: Annotated[KnownInstant, Meta(description='"" if it lasts as long as its plan.')]
    expired: Annotated[bool, Meta(description="Whether it no longer counts.")]
    pull_request: Count
    digest: Annotated[str, Meta(description='The plan of an override, else "".')]


class MoverLine(Part, frozen=True):
    """An object of the cluster that a person should know of, and what it does."""

    kind: str
    namespace: str
    name: str
    does: str


class NotPlannedLine(Part, frozen=True):
    """A request of the base branch without an approved plan, or a broken rule's healing."""

    request: RequestId
    reason: str
    next_command: Next = field(name="next")


class BrokenFileLine(Part, frozen=True):
    """A file with errors on the base branch that stops only what its folder may act in."""

    file: str
    line: int
    message: Annotated[str, Meta(description="Its first error.")]
    author: Annotated[str, Meta(description="Who wrote its newest change.")]
    commit: Annotated[str, Meta(description="The newest change.")]
    holds: Annotated[str, Meta(description='The commit of its last valid text; "" if none.')]
    effect: Annotated[str, Meta(description="What does not start, and what holds.")]


class PublishedStatus(Document, frozen=True, kw_only=True):
    """What runs, what waits and for what, what failed.

    If notRead is set, the cluster could not be read: then it is unknown what waits, and for what.
    """

    kind: Literal["Status"] = "Status"
    cluster: str
    now: Instant = field(name="time")
    not_read: Annotated[str, Meta(description="Why the cluster could not be read.")]
    commit: Annotated[str, Meta(description="The commit of the base branch whose intents count.")]
    broken: Annotated[list[str], Meta(description="Errors of the tip of the base branch.")]
    broken_files: list[BrokenFileLine]
    mode: Annotated[str, Meta(description="Enforce, or Observe: applies nothing.")]
    stop: Annotated[str, Meta(description='Why nothing starts; "" if something may.')]
    stops: list[StopReason]
    requests: list[RequestLine]
    maintenance: list[MaintenanceLine]
    away: Annotated[list[AwayLine], Meta(description="VMs that are not on their home node.")]
    openings: list[OpeningLine]
    pulls: list[PullLine] = field(name="pullRequests")
    people: list[PullLine] = field(name="intentPullRequests")
    refused: Annotated[list[str], Meta(description="Merges that approved nothing.")]
    owners: Annotated[list[OwnersLine], Meta(description="What waits for owners.")]
    policy_exceptions: list[PolicyExceptionLine]
    movers: Annotated[list[MoverLine], Meta(description="Who else moves VMs.")]
    lost: Annotated[
        list[MoverLine], Meta(description="Silent and vanished nodes, and launchers that wait.")
    ]
    not_applied: list[NotAppliedLine]
    not_planned: list[NotPlannedLine]
    at_risk: Annotated[
        list[NotPlannedLine], Meta(description="What will miss its window, and why.")
    ] = field(default_factory=list)


class ListingItem(Part, frozen=True):
    """One intent, request, move, node or VM; "" where something is unknown or does not apply."""

    kind: str
    namespace: str
    name: str
    state: str
    health: Annotated[str, Meta(description="What keeps it from being as it should, or its state.")]
    since: KnownInstant
    opens: Annotated[KnownInstant, Meta(description="The start of the current or next opening.")]
    opening: Annotated[str, Meta(description="The same in words and in local time.")]
    where: Annotated[str, Meta(description="The node of a VM, zone of a node, way of a move.")]
    file: Annotated[str, Meta(description="File and line of the intent.")]
    labels: Mapping[str, str]


class PublishedListing(Document, frozen=True, kw_only=True):
    """What `gitbot get` lists."""

    kind: Literal["Listing"] = "Listing"
    cluster: str
    now: Instant = field(name="time")
    of: Annotated[str, Meta(description="What is listed: intents, requests, windows, ...")]
    not_read: Annotated[str, Meta(description="Why the cluster could not be read.")]
    broken: Annotated[list[str], Meta(description="Errors of the tip of the base branch.")]
    items: list[ListingItem]


class CalendarEvent(Part, frozen=True):
    """One opening of a window or freeze, or the time of a request."""

    kind: Literal["window", "freeze", "request"]
    name: Annotated[str, Meta(description="A request's is namespace/name.")]
    id: Annotated[str, Meta(description='The occurrence; "" for what has no schedule.')]
    start: Annotated[KnownInstant, Meta(description='"" if it has always been open.')]
    end: Annotated[KnownInstant, Meta(description='"" if it has no end.')]
    time_zone: str
    words: Annotated[str, Meta(description="The event in a sentence, in its time zone.")]
    announced: Annotated[KnownInstant, Meta(description="When the bot proposes the drain.")]
    cancelled: Annotated[str, Meta(description='Why it does not open; "" if it does.')]
    frozen: Annotated[str, Meta(description="Which freezes lie over it.")]
    file: Annotated[str, Meta(description="File and line of the intent.")]


class PublishedCalendar(Document, frozen=True, kw_only=True):
    """What `gitbot calendar` shows: all events that touch the time from `from` to `until`."""

    kind: Literal["Calendar"] = "Calendar"
    cluster: str
    now: Instant = field(name="time")
    after: Instant = field(name="from")
    until: Instant
    events: list[CalendarEvent]
