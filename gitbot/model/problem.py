"""PlacementProblem: everything that decides a plan, as one value.

The planner knows rules and goals, never intents; each carries the IntentRef it came from.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from gitbot.model.cluster import ClusterSnapshot
from gitbot.model.constraint import RuleConstraint
from gitbot.model.instants import FOREVER, Interval
from gitbot.model.limits import Limits
from gitbot.model.names import IntentRef, NamespacedName
from gitbot.model.pin import Pin

__all__ = [
    "ALWAYS",
    "EmptyNodes",
    "Freeze",
    "Goal",
    "HealRule",
    "Limits",
    "MoveVms",
    "Pin",
    "PlacementProblem",
    "Request",
    "Reservation",
    "ReturnHome",
    "Target",
]


ALWAYS = (Interval(start=0, end=FOREVER),)


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What moves are made for: a MigrationRequest, one occurrence of a window, or one healing.

    `id` is the ledger id (product contract: `request/<ns>/<name>`, `drain/<window>/<occurrence>`,
    `return/<window>/<occurrence>`, `heal/<ns>/<kind>/<name>`, the last without digest until
    approved). `allowed` is when its moves may run; `deadline` the latest estimated end.
    `first_move` is the next free move number of the request.
    """

    id: str
    intent: IntentRef
    allowed: tuple[Interval, ...] = ALWAYS
    first_move: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Where a VM shall go: any node that has all labels and one of the names. Empty = any node."""

    nodes: tuple[str, ...] = ()
    node_selector: Mapping[str, str] = field(default_factory=dict)

    @property
    def anywhere(self) -> bool:
        """Whether any node but the present one will do."""
        return not self.nodes and not self.node_selector


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveVms:
    """One-off: each named VM goes to a node of the target, once. One group."""

    request: Request
    vms: tuple[NamespacedName, ...]
    target: Target
    pin: Pin


@dataclass(frozen=True, slots=True, kw_only=True)
class EmptyNodes:
    """Empty these nodes, one group each, in this order. Moves are pinned to nodes.

    `block` is True where a VM that cannot move keeps its whole node from being drained
    (notMigratable: BlockNode), False where only that VM stays (LeaveRunning). With
    `cordoned_by_gitbot` each node counts as unschedulable from the first move of its own group on:
    until then it may still take VMs, where no node outside this drain can.
    """

    request: Request
    nodes: tuple[str, ...]
    max_nodes_at_once: int = 1
    block: bool = True
    cordoned_by_gitbot: bool = False

    def group_of(self, node: str) -> str:
        """The group of the moves that empty a node."""
        return f"{self.request.id}/{node}"


@dataclass(frozen=True, slots=True, kw_only=True)
class HealRule:
    """Heal the breaches of one rule with the fewest moves. One group, pinned to nodes."""

    request: Request
    rule: IntentRef


@dataclass(frozen=True, slots=True, kw_only=True)
class ReturnHome:
    """Bring VMs back to the nodes they came from, one group for each home node.

    A VM that cannot go home without a breach stays and is held with the reason. Pinned to nodes.
    """

    request: Request
    homes: Mapping[NamespacedName, str]


Goal = MoveVms | EmptyNodes | HealRule | ReturnHome


@dataclass(frozen=True, slots=True, kw_only=True)
class Reservation:
    """A place that another approved, unfinished request will take: counted while planning."""

    vm: NamespacedName
    node: str
    allowed: tuple[Interval, ...]
    request: str
    pull_request: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Freeze:
    """Nothing of gitbot's moves these VMs in these times. Freeze wins over every window."""

    intent: IntentRef
    vms: frozenset[NamespacedName]
    times: tuple[Interval, ...]
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacementProblem:
    """The whole problem. `now` is in seconds UTC, `bandwidth` in bytes a second.

    `goals` are in the order in which their moves are numbered and started. Intents' digests are
    those of their specs, by IntentRef.id.
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
