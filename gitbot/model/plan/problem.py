"""PlacementProblem: everything that decides a plan, as one value.

The planner knows rules and goals, never intents; each has the IntentRef that it came from.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from gitbot.kubernetes.names import NamespacedName
from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.model.cluster.load import NO_LOAD, PRESSURE_LIMIT, ClusterLoad
from gitbot.model.ledger.request_id import RequestId
from gitbot.model.plan.constraint import RuleConstraint
from gitbot.model.text.instants import FOREVER, Interval, format_instant, intersect
from gitbot.model.text.names import IntentRef

ALWAYS = (Interval(start=0, end=FOREVER),)


class Pin(StrEnum):
    """What addedNodeSelector will require of a move."""

    NODE = "Node"
    ZONE = "Zone"
    NONE = "None"


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How many migrations may run at once, over all movers; counts.

    The effective values: the smaller of the configuration and the KubeVirt CR
    (parallelMigrationsPerCluster 5, parallelOutboundMigrationsPerNode 2 by default). `reserve`
    slots of the cluster limit stay free for other movers.
    """

    parallel: int = 5
    per_source_node: int = 2
    per_target_node: int = 2
    per_zone: int = 4
    reserve: int = 1

    @property
    def slots(self) -> int:
        """Migrations that gitbot may have running at once; at least one."""
        return max(1, self.parallel - self.reserve)

    @property
    def at_once(self) -> str:
        """`at most 4 at once (1 of 5 is kept free for others)`."""
        kept = self.parallel - self.slots
        reserve = (
            f" ({kept} of {self.parallel} {'is' if kept == 1 else 'are'} kept free for others)"
        )
        return f"at most {self.slots} at once{reserve if kept > 0 else ''}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """The cause of moves: a MigrationRequest, one occurrence of a window, or one healing.

    `id` is the ledger id (product contract: `request/<ns>/<name>`, `drain/<window>/<occurrence>`,
    `return/<window>/<occurrence>`, `heal/<ns>/<kind>/<name>`, the last without digest until
    approved). `allowed` is when its moves may run; `deadline` the latest estimated end.
    `first_move` is the next free move number of the request. `allow_breach`: so many seconds may
    lie between the landings of VMs that move as one although the plan pauses between them.
    """

    id: RequestId
    intent: IntentRef
    allowed: tuple[Interval, ...] = ALWAYS
    first_move: int = 1
    allow_breach: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Where a VM may go: any node that has all labels and one of the names. Empty = any node.

    `added` are the labels that addedNodeSelector has in any case, beside those of a pin.
    """

    nodes: tuple[str, ...] = ()
    node_selector: Mapping[str, str] = field(default_factory=dict)
    added: Mapping[str, str] = field(default_factory=dict)

    @property
    def anywhere(self) -> bool:
        """Whether the target is any other node."""
        return not self.nodes and not self.node_selector


ANYWHERE = Target()


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """What a plan is to reach. The planner's registry of goals says how it does."""

    request: Request

    @property
    def named(self) -> Collection[NamespacedName]:
        """The VMs that it asks to move by name."""
        return ()

    @property
    def closes(self) -> tuple[str, ...]:
        """The nodes that it empties, so that no other VM goes there."""
        return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Balance:
    """Only VMs move that even out the nodes, `most` at most, none to a node that it `left`."""

    most: int | None = None
    left: Mapping[NamespacedName, frozenset[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveVms(Goal):
    """Each named VM moves to a node of the target, once. One group.

    With `balance`, it may: only VMs move that even out the nodes, pinned to nodes.
    """

    vms: tuple[NamespacedName, ...]
    target: Target
    pin: Pin
    balance: Balance | None = None

    @property
    def named(self) -> Collection[NamespacedName]:
        return self.vms


@dataclass(frozen=True, slots=True, kw_only=True)
class EmptyNodes(Goal):
    """Empty these nodes, one group each, in this order. Moves are pinned to nodes.

    `block` is True if a VM that cannot move keeps its whole node from being drained (notMigratable:
    BlockNode), False if only that VM stays (LeaveRunning). With `cordoned_by_gitbot` each node
    counts as unschedulable from the first move off it on; until then it may still take VMs that
    fit on no node outside this drain.

    A node returns `away` seconds after it is empty and then takes VMs of nodes that are emptied
    later; None: it does not return within the plan. Unless `ordered`, the planner may choose
    another order if not all nodes can be emptied to nodes outside. Nodes in `later` are emptied
    after this plan: they take VMs that fit nowhere else.

    `together`: one group that empties all of `nodes`, or nothing. All are closed, and with
    `cordoned_by_gitbot` unschedulable, from its first move until the end of the plan.

    `cordons_empty`: gitbot also cordons nodes that nothing has to leave: nothing of it has begun.

    `ready_by`: the plan decides when moves begin, no earlier than `allowed`, so that the nodes that
    go first are empty at this instant (seconds UTC); 0: they may begin when `allowed` does.
    """

    nodes: tuple[str, ...]
    max_nodes_at_once: int = 1
    block: bool = True
    cordoned_by_gitbot: bool = False
    away: int | None = None
    ordered: bool = False
    later: tuple[str, ...] = ()
    together: bool = False
    cordons_empty: bool = False
    ready_by: int = 0

    @property
    def closes(self) -> tuple[str, ...]:
        return (*self.nodes, *self.later)

    def group_of(self, node: str) -> str:
        return self.request.id if self.together else f"{self.request.id}/{node}"

    @property
    def rolls(self) -> bool:
        """Whether nodes come back before others leave: never are all of them away together."""
        every = len(self.nodes) + len(self.later)
        return not self.together and 0 < self.max_nodes_at_once < every


@dataclass(frozen=True, slots=True, kw_only=True)
class HealRule(Goal):
    """Heal the breaches of one rule with the fewest moves. One group, pinned to nodes."""

    rule: IntentRef


@dataclass(frozen=True, slots=True, kw_only=True)
class ReturnHome(Goal):
    """Bring VMs back to the nodes they came from, one group for each home node.

    A VM that cannot go home without a breach stays and becomes a hold with the reason. Pinned to
    nodes.
    """

    homes: Mapping[NamespacedName, str]

    @property
    def named(self) -> Collection[NamespacedName]:
        return self.homes.keys()


@dataclass(frozen=True, slots=True, kw_only=True)
class Reservation:
    """A place that another approved, unfinished request will take: planning counts it."""

    vm: NamespacedName
    node: str
    allowed: tuple[Interval, ...]
    request: RequestId
    pull_request: int = 0

    @property
    def ends(self) -> int:
        return max((interval.end for interval in self.allowed), default=FOREVER)

    @property
    def until(self) -> str:
        """When its time is over, as it follows a name; "" if it has no end."""
        return f" until {format_instant(self.ends)}" if self.ends < FOREVER else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Freeze:
    """gitbot does not move these VMs in these times. Freeze wins over every window."""

    intent: IntentRef
    vms: frozenset[NamespacedName]
    times: tuple[Interval, ...]
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PastMigrations:
    """The migrations of one VM in the ledger: how many, and the seconds that the newest took."""

    count: int
    seconds: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacementProblem:
    """The whole problem. `now` is in seconds UTC, `bandwidth` in bytes a second.

    `goals` are in the order in which their moves are numbered and started. Intents' digests are
    those of their specs, by IntentRef.id. `load` has no stale value; `ranking` names the load-aware
    scores that choose between targets of equal breaches. `pressure_limit`: hundredths of a percent.
    `at_once`: the moves start now, so pods that are about to leave may be gone before a target pod
    has its node. `took` is shown beside estimates, and decides nothing. `as_one`: sets of VMs;
    a drain moves all VMs of a set in the turn of the first of their nodes.
    """

    cluster: str
    now: int
    snapshot: ClusterSnapshot
    rules: tuple[RuleConstraint, ...] = ()
    goals: tuple[Goal, ...] = ()
    limits: Limits = field(default_factory=Limits)
    freezes: tuple[Freeze, ...] = ()
    reservations: tuple[Reservation, ...] = ()
    bandwidth: int = 64 * 1024 * 1024
    zone_key: str = "topology.kubernetes.io/zone"
    intents: Mapping[str, str] = field(default_factory=dict)
    load: ClusterLoad = NO_LOAD
    ranking: tuple[str, ...] = ()
    pressure_limit: int = PRESSURE_LIMIT
    at_once: bool = False
    took: Mapping[NamespacedName, PastMigrations] = field(default_factory=dict)
    as_one: tuple[frozenset[NamespacedName], ...] = ()

    def beginning(self, begins: Mapping[RequestId, int]) -> PlacementProblem:
        """The problem in which each of these requests moves nothing before its instant."""
        if not begins:
            return self
        goals = []
        for goal in self.goals:
            since = (Interval(start=begins.get(goal.request.id, 0), end=FOREVER),)
            allowed = intersect(goal.request.allowed, since)
            goals.append(replace(goal, request=replace(goal.request, allowed=allowed)))
        return replace(self, goals=tuple(goals))
