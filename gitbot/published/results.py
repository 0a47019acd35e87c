"""What commands print: findings, manifests, a diagnosis, results of what changes the world."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Any, Literal, get_args

import msgspec
from msgspec import UNSET, Meta, UnsetType

from gitbot.kubernetes.objects import KubernetesObject
from gitbot.kubevirt.names import API_VERSION
from gitbot.model.cluster.cluster import KINDS, ClusterSnapshot
from gitbot.model.ledger.request_id import RequestId
from gitbot.model.plan.diagnosis import Outcome
from gitbot.model.plan.findings import Severity
from gitbot.model.text.names import NoticeEvent, NoticeSeverity
from gitbot.published.document import Count, Digest, Document, Instant, KnownInstant, Part
from gitbot.published.load import PublishedLoad, load_file
from gitbot.published.status import NotPlannedLine


class Verb(StrEnum):
    """The commands of comments."""

    PLAN = "plan"
    STATUS = "status"
    EXPLAIN = "explain"
    HOLD = "hold"
    RESUME = "resume"
    CANCEL = "cancel"
    APPLY = "apply"
    RETURNED = "returned"
    OVERRIDE = "override"
    HELP = "help"


class CommandOutcome(StrEnum):
    """The outcome of a comment."""

    DONE = "done"
    FAILED = "failed"
    REFUSED = "refused"  # no right, too old, edited
    MISUNDERSTOOD = "misunderstood"
    IGNORED = "ignored"  # not for gitbot, its own, or answered before


class WaitingMove(Part, frozen=True):
    """A move that cannot start now, and what it waits for."""

    request: RequestId
    move: Count
    vm: str
    reason: str
    until: KnownInstant


class StaleGroup(Part, frozen=True):
    """A group of an approved plan that would break a rule as the cluster is now."""

    request: RequestId
    group: str
    reasons: list[str]


class NodeStep(Part, frozen=True):
    """What happened to a node: `cordoned`, `uncordoned`, or its new state in its maintenance."""

    node: str
    did: str


class RefusedMerge(Part, frozen=True):
    """A merge that approved nothing."""

    pull_request: Count
    reason: str


class PublishedApply(Document, frozen=True, kw_only=True):
    """The result of one pass of apply."""

    kind: Literal["ApplyResult"] = "ApplyResult"
    created: Annotated[Count, Meta(description="Migrations that were created.")]
    entries: Annotated[Count, Meta(description="Lines that were written to the ledger.")]
    states: Annotated[dict[str, Count], Meta(description="Moves that ended, by state.")]
    in_flight: Count
    stop: Annotated[str, Meta(description='Why nothing starts; "" if something may.')]
    unfinished: Annotated[bool, Meta(description="The time of the pass is over, work is left.")]
    interrupted: Annotated[bool, Meta(description="Somebody asked the pass to end.")]
    waiting: list[WaitingMove]
    stale: list[StaleGroup]
    refused: list[RefusedMerge]
    not_planned: list[NotPlannedLine]
    nodes: list[NodeStep]


class ConcernAction(Part, frozen=True):
    """The action for one concern. Pull request 0: there is none."""

    concern: str
    action: str
    pull_request: Count
    digest: str
    reason: str


class PublishedPropose(Document, frozen=True, kw_only=True):
    """The result of one run of propose, by concern."""

    kind: Literal["ProposeResult"] = "ProposeResult"
    concerns: list[ConcernAction]
    internal: Annotated[Count, Meta(description="Findings plan/internal: faults of gitbot.")]


class PublishedReconcile(Document, frozen=True, kw_only=True):
    """The result of one pass of reconcile."""

    kind: Literal["ReconcileResult"] = "ReconcileResult"
    proposed: PublishedPropose
    applied: PublishedApply
    internal: Annotated[
        Count, Meta(description="Findings plan/internal in this pass: faults of gitbot.")
    ]


class PublishedComment(Document, frozen=True, kw_only=True):
    """The outcome of one comment. If startPass is true, start a pass now."""

    kind: Literal["CommentResult"] = "CommentResult"
    number: Annotated[Count, Meta(description="The pull request or issue.")]
    comment: Count
    verb: Annotated[str, Meta(extra_json_schema={"enum": ["", *map(str, Verb)]})]
    outcome: CommandOutcome
    text: str
    start_pass: bool


class DiagnosisLine(Part, frozen=True):
    """One thing that doctor checked. `fix` is empty only if the outcome is pass."""

    name: str
    outcome: Outcome
    message: str
    fix: str


class PublishedDiagnosis(Document, frozen=True, kw_only=True):
    """What works and what does not; each failure has its fix."""

    kind: Literal["Diagnosis"] = "Diagnosis"
    checks: list[DiagnosisLine]


class RightsAnswer(Part, frozen=True):
    """The rights of a group that an account lacks in a namespace, "" for all namespaces."""

    group: Annotated[str, Meta(description="move (migrations) or nodes (cordon).")]
    namespace: str
    missing: Sequence[str]


TRIAL, DAILY = "Test", "Daily"
"""The events of `gitbot notify test`, of which nothing happened, and of what happened in a day."""


class PublishedNotice(Document, frozen=True, kw_only=True):
    """What gitbot sends to a webhook. A chat needs `text` alone; the rest is for programs."""

    kind: Literal["Notice"] = "Notice"
    id: Annotated[str, Meta(description="The same each time that the same notice is sent.")]
    event: Annotated[str, Meta(extra_json_schema={"enum": [*get_args(NoticeEvent), TRIAL, DAILY]})]
    severity: NoticeSeverity
    text: str
    cluster: str
    time: Instant
    request: str = ""
    vm: Annotated[str, Meta(description="namespace/name")] = ""
    node: str = ""
    pull_request: Count = 0
    reason: str = ""


class PublishedRights(Document, frozen=True, kw_only=True):
    """What the account that applies may not do, as it was when it published a snapshot."""

    kind: Literal["ExecutorRights"] = "ExecutorRights"
    answers: Sequence[RightsAnswer]


def read_rights(data: bytes) -> dict[tuple[str, str], tuple[str, ...]]:
    """The missing rights by group and namespace; nothing from what is not such a document."""
    try:
        found = msgspec.json.decode(data, type=PublishedRights).answers
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}
    return {(each.group, each.namespace): tuple(each.missing) for each in found}


_VERSIONS = {
    "VirtualMachineInstanceMigration": API_VERSION,
    "Node": "v1",
    "MutatingAdmissionPolicy": "admissionregistration.k8s.io/v1",
    "MutatingAdmissionPolicyBinding": "admissionregistration.k8s.io/v1",
}
_NAMED = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}


def _item(kind: str, version: str) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {
            "apiVersion": {"const": version},
            "kind": {"const": kind},
            "metadata": _NAMED,
        },
        "required": ["apiVersion", "kind", "metadata"],
    }


_ITEMS = {"oneOf": [_item(kind, version) for kind, version in _VERSIONS.items()]}


class ManifestList(Part, frozen=True, kw_only=True):
    """Migrations, node labels and admission policies, as kubectl takes them."""

    api_version: Literal["v1"] = "v1"
    kind: Literal["List"] = "List"
    items: list[Annotated[dict[str, Any], Meta(extra_json_schema=_ITEMS)]]


class PublishedFinding(Part, frozen=True, omit_defaults=True):
    """One finding with its place. Unknown fields are absent."""

    code: Annotated[str, Meta(pattern="^[a-z0-9-]+/[a-z0-9-]+$")]
    severity: Severity
    message: str
    file: str = ""
    line: Annotated[Count, Meta(description="Counts from 1.")] = 0
    column: Annotated[Count, Meta(description="Counts from 1, in characters.")] = 0
    key_path: str = ""
    hint: str = ""


class FindingList(Document, frozen=True, kw_only=True):
    """What `gitbot lint` and `gitbot policy test` print."""

    kind: Literal["FindingList"] = "FindingList"
    items: list[PublishedFinding]


HeldObject = Annotated[
    KubernetesObject,
    Meta(
        extra_json_schema={
            "properties": {"metadata": {"type": "object", "required": ["name"]}},
            "required": ["metadata"],
        }
    ),
]


class PolicyLine(Part, frozen=True):
    """One policy in force, what it judges, and its file."""

    name: str
    over: str
    actions: Sequence[str]
    file: str


class PolicyList(Document, frozen=True, kw_only=True):
    """The policies in force: those that ship with gitbot, and the repository's own."""

    kind: Literal["PolicyList"] = "PolicyList"
    items: Sequence[PolicyLine]


class EvaluatedPart(Part, frozen=True, omit_defaults=True):
    """A part of an expression: where it begins, and what it gives or why it gives nothing.

    `given` are the variables of the loops around it. `leftOut` counts rounds that are not shown.
    """

    line: int
    column: int
    expression: str
    value: bool | int | float | str | list[Any] | dict[str, Any] | None = None
    error: str = ""
    given: Mapping[str, Any] = {}
    parts: Sequence[EvaluatedPart] = ()
    left_out: int = 0


class EvaluatedSubject(Part, frozen=True):
    """A move, VM or intent, "" for the plan, and what the expression gives for it."""

    subject: str
    outcome: EvaluatedPart


class PolicyEvaluation(Document, frozen=True, kw_only=True):
    """What `gitbot policy eval` found."""

    kind: Literal["PolicyEvaluation"] = "PolicyEvaluation"
    expression: str
    over: Annotated[str, Meta(description="`Plan`, `Move`, `Intent` or `VM`.")]
    items: Sequence[EvaluatedSubject]


class SnapshotName(Part, frozen=True):
    """The name of the cluster."""

    name: str


class PublishedSnapshot(Document, frozen=True, kw_only=True):
    """The state of one cluster at one moment: Kubernetes objects by kind, cut down to what
    placement needs.
    """  # noqa: D205 - one sentence, shown as the description of the schema

    kind: Literal["ClusterSnapshot"] = "ClusterSnapshot"
    metadata: SnapshotName
    taken_at: Instant
    digest: Digest
    kubernetes_version: str
    resource_version: str
    absent_kinds: Annotated[
        Sequence[str], Meta(description="Kinds that the cluster does not serve.")
    ]
    denied_kinds: Annotated[
        Sequence[str], Meta(description="Kinds that the account may not list.")
    ] = ()
    missing_kinds: Annotated[
        Sequence[str] | UnsetType,
        Meta(description="Kinds without an object in the plain files that were read."),
    ] = UNSET
    objects: Annotated[
        Mapping[str, Sequence[HeldObject]],
        Meta(extra_json_schema={"propertyNames": {"enum": sorted(KINDS)}}),
    ]
    load: PublishedLoad | UnsetType = UNSET


def snapshot_file(snapshot: ClusterSnapshot) -> PublishedSnapshot:
    return PublishedSnapshot(
        metadata=SnapshotName(name=snapshot.cluster),
        taken_at=Instant(snapshot.taken_at),
        digest=snapshot.digest,
        kubernetes_version=snapshot.kubernetes_version,
        resource_version=snapshot.resource_version,
        absent_kinds=snapshot.absent_kinds,
        denied_kinds=snapshot.denied_kinds,
        missing_kinds=snapshot.missing_kinds or UNSET,
        objects={kind: tuple(items) for kind, items in snapshot.objects.items()},
        load=UNSET if snapshot.load is None else load_file(snapshot.load),
    )
