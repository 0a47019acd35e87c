"""PlacementPlan: ordered moves, holds with reasons, rules before and after, waves.

`published/plan.py` has its document. Times are seconds UTC, durations whole seconds, memory bytes.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Literal

from gitbot.kubernetes.names import NamespacedName
from gitbot.kubernetes.objects import KubernetesObject
from gitbot.model.ledger.request_id import RequestId
from gitbot.model.plan.diagnosis import TOGETHER, Check
from gitbot.model.plan.problem import Limits, Pin
from gitbot.model.text.names import IntentRef


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class VmRef:
    """A VMI at the time of the plan. A VMI of the same name with another UID is another VM."""

    namespace: str
    name: str
    uid: str

    @property
    def namespaced_name(self) -> NamespacedName:
        return NamespacedName(self.namespace, self.name)


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class NodeRef:
    """A node and its zone ("" if it has none)."""

    node: str
    zone: str


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class MoveRef:
    """One move of a plan."""

    request: RequestId
    id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """One live migration of one VM.

    `id` counts within the request over all its plans. `to` is the node for pin Node, the predicted
    node otherwise; `allowed_nodes` are all nodes that it may reach. `wave` counts from 0.

    It may start when the moves in `after` have ended. None in plans of older versions: it waits for
    every move of an earlier wave. `starts` is the estimated start, 0 in older plans: then the start
    of its wave. `after_return`: the plan empties its target before, and the move waits until that
    node is back in service.
    """

    id: int
    request: RequestId
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
    after: tuple[MoveRef, ...] | None = None
    starts: int = 0
    after_return: bool = False
    checks: tuple[Check, ...] = ()
    why: str = ""

    @property
    def as_one(self) -> bool:
        """Whether it is a move of a group that a rule keeps together."""
        return any(check.name == TOGETHER for check in self.checks)

    @property
    def ref(self) -> MoveRef:
        return MoveRef(request=self.request, id=self.id)

    def takes_out(self, nodes: Container[str]) -> str:
        """Which of the nodes of its drain leaves service when it begins; "" if none does.

        VMs that move as one go with the first of their nodes; the others have their own turns. A
        move that only makes room takes none out.
        """
        turn = self.group.removeprefix(f"{self.request}/")
        if turn in nodes:
            return turn if self.as_one or self.source.node == turn else ""
        return self.source.node if self.source.node in nodes else ""  # all leave together


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeReasons:
    """Why a node will not take a VM: one line for each rejecting plugin or rule."""

    node: str
    reasons: tuple[str, ...]


class HoldState(StrEnum):
    """BLOCKED fails an intent; WAITS ends by itself; STAYS is for a move that no intent wants."""

    BLOCKED = "blocked"
    WAITS = "waits"
    STAYS = "stays"


@dataclass(frozen=True, slots=True, kw_only=True)
class Hold:
    """A VM that cannot move, with the reason and each node's refusal.

    `code` is kebab-case and stable (`restart-needed`, `no-feasible-node`, `in-flight`, `frozen`,
    `not-found`, `selector-collision`, `blocked-node`, `deadline`, ...); docs/reference/plan.md
    lists all. `asked` is True if an intent asked for this very move: then the plan exits with 1,
    unless it only waits. `proven`: no plan exists that moves it as asked, and `reason` begins with
    these words. `until`: when the reason is over by itself, as estimated (seconds UTC); 0: never.
    """

    request: RequestId
    intent: IntentRef
    vm: VmRef
    code: str
    reason: str
    nodes: tuple[NodeReasons, ...] = ()
    asked: bool = True
    hint: str = ""
    proven: bool = False
    until: int = 0

    @property
    def state(self) -> HoldState:
        if not self.asked:
            return HoldState.STAYS
        return HoldState.WAITS if self.until else HoldState.BLOCKED


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
    """Moves that may run together, with estimated start and end in seconds UTC."""

    index: int
    starts: int
    ends: int


class OptimalityProof(StrEnum):
    """How it is known that no plan has fewer moves: counted, searched completely, or not at all.

    CUT: not at all, as a search ended at its budget.
    """

    NONE = ""
    CUT = "cut"
    COUNTED = "counted"
    SEARCHED = "searched"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """Lower bounds for any plan: number of moves, seconds under the limits.

    With a proof, no plan has fewer moves; without, the plan has at most the difference to `moves`
    more.
    """

    moves: int
    seconds: int
    proof: OptimalityProof = OptimalityProof.NONE


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectiveValue:
    """One thing that the planner minimised; None if it has no amount."""

    what: str
    amount: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Drained:
    """The nodes of one drain: those that the plan empties, and those on which a VM stays.

    `together`: all of them at once, or none. If none, `could` is the largest set of nodes found
    that a plan could empty together. `begins`: when its moves may begin, if the window leaves that
    to the plan (seconds UTC); None: its lead says so. `only_cordoned`: the nodes that gitbot
    cordons, if no VM has to leave any of them; then `file` is that of the window, which otherwise
    each move names.
    """

    request: RequestId
    emptied: tuple[str, ...]
    kept: tuple[str, ...]
    together: bool = False
    could: tuple[str, ...] = ()
    begins: int | None = None
    only_cordoned: tuple[str, ...] = ()
    file: str = ""


LossLevel = Literal["Node", "Zone"]


@dataclass(frozen=True, slots=True, kw_only=True)
class UnplaceableAfterLoss:
    """The loss of a node or a zone after which VMs find no place: how many, the first, and why."""

    lost: str
    vms: int
    first: tuple[str, ...] = ()
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resilience:
    """The single losses that leave VMs without a place, before a plan and after it."""

    level: LossLevel
    before: tuple[UnplaceableAfterLoss, ...] = ()
    after: tuple[UnplaceableAfterLoss, ...] = ()

    @property
    def worse(self) -> tuple[UnplaceableAfterLoss, ...]:
        """The losses that leave more VMs without a place than before."""
        known = {item.lost: item.vms for item in self.before}
        return tuple(item for item in self.after if item.vms > known.get(item.lost, 0))


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotRef:
    """The snapshot that a plan was made on."""

    digest: str
    taken_at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannerFault:
    """Where gitbot's planner contradicted itself, and what the plan leaves out for that.

    `what` is the type of the exception, or the codes with which the replay refuted a move. `place`
    is `module:line` in gitbot, the innermost first. `left_out` is in words, "" for nothing; a text
    that is not known is "". `report` is one line for the project, without gitbot's version and
    without the message of an exception, which may hold what objects say.
    """

    what: str
    place: str = ""
    request: str = ""
    intent: IntentRef | None = None
    vm: str = ""
    node: str = ""
    left_out: str = ""
    report: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacementPlan:
    """A plan as the planner makes it. `minimised` has the most important first.

    Sorted: moves by (wave, request, id), the rest by its key. `faults` are in the order in which
    they were met; the document has them as findings.
    """

    cluster: str
    moves: tuple[Move, ...] = ()
    holds: tuple[Hold, ...] = ()
    rules: tuple[RuleState, ...] = ()
    waves: tuple[Wave, ...] = ()
    bound: Bound = field(default_factory=lambda: Bound(moves=0, seconds=0))
    minimised: tuple[ObjectiveValue, ...] = ()
    drains: tuple[Drained, ...] = ()
    limits: Limits = field(default_factory=Limits)
    intents: Mapping[str, str] = field(default_factory=dict)
    snapshot: SnapshotRef = field(default_factory=lambda: SnapshotRef(digest="", taken_at=0))
    faults: tuple[PlannerFault, ...] = ()

    @property
    def begins(self) -> dict[RequestId, int]:
        """When the moves of each drain may begin (seconds UTC), where the plan decides that."""
        return {drain.request: drain.begins for drain in self.drains if drain.begins is not None}

    @property
    def only_cordoned(self) -> tuple[str, ...]:
        """The nodes of drains that move nothing and cordon."""
        return tuple(node for drain in self.drains for node in drain.only_cordoned)

    @property
    def does_nothing(self) -> bool:
        """Whether nothing of it needs an approval: no move, no cordon."""
        return not (self.moves or self.only_cordoned)

    def renamed(self, names: Mapping[RequestId, RequestId]) -> PlacementPlan:
        """The plan with other ids of these requests, after which their groups are named."""
        if not names:
            return self

        def named(request: RequestId) -> RequestId:
            return names.get(request, request)

        moves = (
            replace(
                move,
                request=named(move.request),
                group=f"{named(move.request)}{move.group.removeprefix(move.request)}",
                after=move.after
                and tuple(replace(ref, request=named(ref.request)) for ref in move.after),
            )
            for move in self.moves
        )
        return replace(
            self,
            moves=tuple(moves),
            holds=tuple(replace(hold, request=named(hold.request)) for hold in self.holds),
            drains=tuple(replace(each, request=named(each.request)) for each in self.drains),
        )

    def in_service(self) -> frozenset[tuple[RequestId, str]]:
        """The drains' nodes that are kept and not begun: VMs leave them at most to step aside."""
        begun = {move.group for move in self.moves}
        kept = ((drain.request, node) for drain in self.drains for node in drain.kept)
        return frozenset(
            item for item in kept if begun.isdisjoint((item[0], f"{item[0]}/{item[1]}"))
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """One object to create or patch: `text` is its YAML, `namespace` "" if it has none."""

    kind: str
    name: str
    namespace: str
    object: KubernetesObject
    text: str
