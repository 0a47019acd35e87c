"""The plan document: what `gitbot plan -o json` prints and the ledger keeps."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, field

from gitbot.model.ledger.request_id import RequestId
from gitbot.model.plan.diagnosis import Outcome
from gitbot.model.plan.plan import LossLevel
from gitbot.model.plan.problem import Pin
from gitbot.published.document import Count, Digest, Document, Instant, KnownInstant, Part
from gitbot.published.results import PublishedFinding

Texts = dict[str, str]
Manifest = Annotated[
    dict[str, Any], Meta(extra_json_schema={"required": ["apiVersion", "kind", "metadata"]})
]
SpecDigest = Annotated[str, Meta(pattern="^(sha256:[0-9a-f]{64})?$")]


class PlannedFor(Part, frozen=True):
    """The intent that asked. Texts are empty and the line is 0 if unknown."""

    kind: str
    namespace: str
    name: str
    file: str
    line: Count


class PlannedVm(Part, frozen=True):
    """One VMI. One of the same name with another UID is another VM."""

    namespace: str
    name: str
    uid: str


class PlannedNode(Part, frozen=True):
    """A node and its zone, "" if it has none."""

    node: str
    zone: str


class PlannedCheck(Part, frozen=True):
    """One preflight check; `fail` blocks the move."""

    name: str
    outcome: Outcome
    message: str


class PlannedRef(Part, frozen=True):
    """A move of this plan."""

    request: RequestId
    id: Annotated[int, Meta(ge=1)]


class ReviewedMove(Part, frozen=True):
    """The fields of a move that the digest covers."""

    id: Annotated[int, Meta(ge=1)]
    request: RequestId
    vm: PlannedVm
    source: PlannedNode = field(name="from")
    to: PlannedNode
    pin: Pin
    added_node_selector: Texts
    wave: Count
    after: list[PlannedRef] | None
    after_return: bool


class PlannedMove(Part, frozen=True):
    """One live migration of one VM."""

    id: Annotated[int, Meta(ge=1, description="Counts within the request, over all of its plans.")]
    request: RequestId
    group: str
    intent: PlannedFor
    vm: PlannedVm
    source: PlannedNode = field(name="from")
    to: Annotated[
        PlannedNode, Meta(description="The target for pin Node, the predicted node otherwise.")
    ]
    allowed_nodes: Annotated[list[str], Meta(description="All nodes where it may land.")]
    pin: Pin
    added_node_selector: Texts
    memory_bytes: Count
    estimated_seconds: Count
    wave: Annotated[Count, Meta(description="Counts from 0.")]
    why: str
    checks: list[PlannedCheck]
    starts: Annotated[KnownInstant, Meta(description="Estimated.")] = field(
        default_factory=lambda: KnownInstant(0)
    )
    after: Annotated[
        list[PlannedRef] | None,
        Meta(description="It starts when these have ended; null: all of the earlier waves."),
    ] = None
    after_return: Annotated[
        bool, Meta(description="It starts when its target, emptied before, is back in service.")
    ] = False

    def __post_init__(self) -> None:
        ordered = dict(sorted(self.added_node_selector.items()))
        msgspec.structs.force_setattr(self, "added_node_selector", ordered)


class NodeRefusal(Part, frozen=True):
    """Why a node will not take a VM."""

    node: str
    reasons: list[str]


class HeldVm(Part, frozen=True, omit_defaults=True):
    """A VM that cannot move, with each node's refusal."""

    request: RequestId
    intent: PlannedFor
    vm: PlannedVm
    code: Annotated[str, Meta(description="Stable kebab-case, such as no-feasible-node.")]
    reason: str
    hint: str
    asked: Annotated[bool, Meta(description="An intent asked for this very move.")]
    nodes: list[NodeRefusal]
    proven: Annotated[bool, Meta(description="No plan exists that moves it as asked.")] = False
    until: Annotated[
        KnownInstant, Meta(description="When the reason is over by itself, as estimated.")
    ] = field(default_factory=lambda: KnownInstant(0))


class RuleChange(Part, frozen=True):
    """One rule before and after the plan: amounts of its breaches, with their messages."""

    intent: PlannedFor
    required: bool
    before: Count
    after: Count
    before_messages: list[str]
    after_messages: list[str]


class PlannedWave(Part, frozen=True):
    """Moves that may run together, with estimated times. Waves overlap."""

    index: Count
    starts: Instant
    ends: Instant


class LowerBound(Part, frozen=True):
    """Lower bounds for every plan: number of moves, seconds under the limits.

    `proof` says how it is known that no plan has fewer moves than this one: each is needed by
    counting, or all plans were searched. "" if it may have as many more as it has above `moves`.
    """

    moves: Count
    seconds: Count
    proof: Literal["", "counted", "searched", "cut"] = ""


class MinimisedAmount(Part, frozen=True):
    """One thing that was made as small as possible."""

    what: Annotated[str, Meta(description="newBreaches, held, moves, memoryBytes, …")]
    amount: Annotated[Count | None, Meta(description="null: it decides only between equals.")]


class DrainedNodes(Part, frozen=True, omit_defaults=True):
    """The nodes of one drain, in its order: those that the plan empties, and the others."""

    request: RequestId
    emptied: list[str]
    kept: list[str]
    together: Annotated[bool, Meta(description="All of them at the same time, or none.")] = False
    could: Annotated[
        list[str], Meta(description="If none: the largest set of them that could go together.")
    ] = field(default_factory=list)
    begins: Annotated[
        Instant | None, Meta(description="With `lead: Auto`, its moves may run from here on.")
    ] = None
    only_cordoned: Annotated[
        list[str],
        Meta(description="Nodes without a VM that has to leave: gitbot only cordons them."),
    ] = field(default_factory=list)
    file: Annotated[str, Meta(description="The file of its window, if gitbot only cordons.")] = ""


class HomelessAfter(Part, frozen=True):
    """The loss of a node or a zone that leaves VMs without a place."""

    lost: Annotated[str, Meta(description="The node, or the zone.")]
    vms: Annotated[Count, Meta(description="How many VMs find no place.")]
    first: Annotated[list[str], Meta(description="The first of them, at most three.")]
    why: Annotated[str, Meta(description="Why, in kube-scheduler's words.")]


class SingleLosses(Part, frozen=True):
    """Losses that VMs do not survive, before the plan and after it; `worse` are more VMs."""

    level: LossLevel
    before: list[HomelessAfter]
    after: list[HomelessAfter]
    worse: Annotated[list[str], Meta(description="Losses that leave more VMs than before.")]


class PlannedLimits(Part, frozen=True):
    """How many migrations may run at once."""

    parallel: Count
    per_source_node: Count
    per_target_node: Count
    per_zone: Count
    reserve: Count


class PlannedOn(Part, frozen=True):
    """The snapshot that the plan was made on."""

    digest: str
    taken_at: Instant


class PlannedFrom(Part, frozen=True):
    """What the plan was made from."""

    commit: Annotated[str, Meta(description='"" for a working tree.')]
    intents: Annotated[
        dict[str, SpecDigest], Meta(description="The digest of each intent's spec, by its id.")
    ]
    configuration: Annotated[str, Meta(description="Its digest.")]
    snapshot: PlannedOn
    engine: Annotated[Texts, Meta(description="Names and versions of what computed it.")]

    def __post_init__(self) -> None:
        for name in ("intents", "engine"):
            ordered = dict(sorted(getattr(self, name).items()))
            msgspec.structs.force_setattr(self, name, ordered)


class WaitingMove(Part, frozen=True):
    """A move that cannot start at once."""

    request: RequestId
    id: Annotated[int, Meta(ge=1)]
    awaits: Annotated[
        str, Meta(description="Its window, the end of a freeze, a node or moves, in words.")
    ] = field(name="for")


class PublishedPlan(Document, frozen=True, kw_only=True):
    """A placement plan: ordered moves, holds, rules before and after, waves."""

    kind: Literal["PlacementPlan"] = "PlacementPlan"
    cluster: str
    digest: Annotated[Digest, Meta(description="Identity of what was reviewed.")]
    expires_at: Annotated[Instant, Meta(description="A merge after this approves nothing.")]
    inputs: PlannedFrom
    limits: PlannedLimits
    moves: list[PlannedMove]
    holds: list[HeldVm]
    rules: list[RuleChange]
    waves: list[PlannedWave]
    bound: LowerBound
    manifests: Annotated[
        list[Manifest], Meta(description="The objects that will be created or patched.")
    ]
    findings: list[PublishedFinding] = field(default_factory=list)
    minimised: Annotated[
        list[MinimisedAmount], Meta(description="What the planner minimised, first to last.")
    ] = field(default_factory=list)
    drains: list[DrainedNodes] = field(default_factory=list)
    resilience: Annotated[
        list[SingleLosses], Meta(description="One for each level of `resilience` that is set.")
    ] = field(default_factory=list)
    waits: Annotated[
        list[WaitingMove], Meta(description="What moves wait for, as of the plan.")
    ] = field(default_factory=list)
