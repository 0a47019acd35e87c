"""PlacementPlan: ordered moves, holds with reasons, rules before and after, waves.

Field names of the JSON form are in `model/plan_json.py`; times are seconds UTC, durations whole
seconds, memory bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from gitbot.model.names import IntentRef, NamespacedName
from gitbot.model.problem import Limits, Pin


class Outcome(StrEnum):
    """Outcome of one preflight check of a move. `fail` blocks."""

    PASS = "pass"  # noqa: S105 - no password: the verdict of a check
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One preflight check of a move: its name, outcome and the evidence in words."""

    name: str
    outcome: Outcome
    message: str


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class VmRef:
    """A VMI as the plan saw it. A VMI of the same name with another UID is another VM."""

    namespace: str
    name: str
    uid: str

    @property
    def namespaced_name(self) -> NamespacedName:
        """Its name without the UID."""
        return NamespacedName(namespace=self.namespace, name=self.name)


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class NodeRef:
    """A node and its zone ("" where it has none)."""

    node: str
    zone: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """One live migration of one VM.

    `id` counts within the request over all its plans. `to` is the node for pin Node, the predicted
    node otherwise; `allowed_nodes` are all nodes where it may land. `wave` counts from 0.
    """

    id: int
    request: str
    group: str
    intent: IntentRef
    vm: VmRef
    source: NodeRef
    to: NodeRef
    allowed_nodes: tuple[str, ...]
    pin: Pin
    added_node_selector: Mapping[str, str]
    memory_bytes: int
    estimated_seconds: int
    wave: int
    checks: tuple[Check, ...] = ()
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeReasons:
    """Why a node will not take a VM: one line for each rejecting plugin or rule."""

    node: str
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Hold:
    """A VM that cannot move, with the reason and what each node says.

    `code` is kebab-case and stable (`restart-needed`, `no-feasible-node`, `in-flight`, `frozen`,
    `not-found`, `selector-collision`, `blocked-node`, `deadline`, ...); docs/reference/plan.md
    lists all.
    `asked` is True where an intent asked for this very move, so that a plan with it exits 1.
    """

    request: str
    intent: IntentRef
    vm: VmRef
    code: str
    reason: str
    nodes: tuple[NodeReasons, ...] = ()
    asked: bool = True
    hint: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleState:
    """One rule before and after the plan: total amounts of its breaches and their messages."""

    intent: IntentRef
    required: bool
    before: int
    after: int
    before_messages: tuple[str, ...] = ()
    after_messages: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Wave:
    """Moves that may run together, estimated start and end in seconds UTC."""

    index: int
    starts: int
    ends: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """Lower bounds that hold for any plan: number of moves, seconds under the limits."""

    moves: int
    seconds: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotRef:
    """Which snapshot a plan was made on."""

    digest: str
    taken_at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacementPlan:
    """A plan as the planner makes it. Sorted: moves by (wave, request, id), the rest by its key."""

    cluster: str
    moves: tuple[Move, ...] = ()
    holds: tuple[Hold, ...] = ()
    rules: tuple[RuleState, ...] = ()
    waves: tuple[Wave, ...] = ()
    bound: Bound = field(default_factory=lambda: Bound(moves=0, seconds=0))
    limits: Limits = field(default_factory=Limits)
    intents: Mapping[str, str] = field(default_factory=dict)
    snapshot: SnapshotRef = field(default_factory=lambda: SnapshotRef(digest="", taken_at=0))
