"""Where a VM or pod could run, as `gitbot explain` prints it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, Literal

from msgspec import UNSET, Meta, UnsetType

from gitbot.kubernetes.names import NamespacedName
from gitbot.model.cluster.load import NO_LOAD, ClusterLoad
from gitbot.published.document import Count, Document, Part, published
from gitbot.published.load import PublishedLoad, load_file
from gitbot.published.plan import PlannedCheck

if TYPE_CHECKING:  # constraints load numpy
    from gitbot.constraints.explanation import Explanation
    from gitbot.constraints.scheduler.verdicts import NodeScore, NodeVerdict

Score = Annotated[int, Meta(ge=0, le=100)]


class ExplainedRejection(Part, frozen=True):
    """One plugin's refusal in kube-scheduler's words; `details` repeat it with names."""

    plugin: str
    reasons: list[str]
    details: list[str]


class ExplainedNode(Part, frozen=True):
    """One node's answer. Scores are empty if fewer than two nodes are feasible."""

    name: str
    verdict: Annotated[
        Literal["ok", "unknown", "unresolvable", "unschedulable"],
        Meta(
            description="unschedulable if the eviction of other pods could help; unknown if the "
            "snapshot lacks what decides."
        ),
    ]
    rejections: list[ExplainedRejection]
    scores: dict[str, Score]
    total: Count


class ExplainedChoice(Part, frozen=True):
    """The predicted node, and all nodes with the highest total, including that one."""

    node: str
    tied: list[str]


class ExplainedIntent(Part, frozen=True):
    """What one intent says about the VM, on one node, or on all ("")."""

    node: str
    intent: str
    where: Annotated[str, Meta(description="File and line of the intent.")]
    says: str
    refuses: Annotated[bool, Meta(description="Whether no move to that node may break it.")]


class ExplainedIntents(Part, frozen=True):
    """What the repository's intents say, and where a plan would move the VM, or why it is held."""

    rows: list[ExplainedIntent]
    to: str
    held: str


class ExplainedSubject(Part, frozen=True):
    """The answer for one VM or pod."""

    kind: Literal["VirtualMachineInstance", "VirtualMachine", "Pod"]
    namespace: str
    name: str
    runs_on: Annotated[str, Meta(description='The node on which a VM runs; "" for none.')]
    feasible: list[str]
    nodes: list[ExplainedNode]
    predicted: ExplainedChoice
    target_pod: Annotated[dict[str, Any], Meta(description="The pod that was judged.")]
    preflight: list[PlannedCheck]
    intents: Annotated[
        ExplainedIntents | None, Meta(description="null where intents were not asked.")
    ]


class PublishedExplanation(Document, frozen=True, kw_only=True):
    """Where a VM or pod could run: every node with every reason."""

    kind: Literal["Explanation"] = "Explanation"
    cluster: str
    subjects: list[ExplainedSubject]
    load: PublishedLoad | UnsetType = UNSET


def explanation_document(
    explanations: Iterable[Explanation],
    cluster: str,
    *,
    runs_on: Mapping[NamespacedName, str] = MappingProxyType({}),
    intents: Mapping[NamespacedName, object] = MappingProxyType({}),
    load: ClusterLoad = NO_LOAD,
) -> PublishedExplanation:
    subjects = [
        {
            **_subject(item),
            "runsOn": runs_on.get(item.name, ""),
            "intents": intents.get(item.name),
        }
        for item in explanations
    ]
    fields: dict[str, Any] = {"cluster": cluster, "subjects": subjects}
    if load.values or load.missing:
        fields["load"] = load_file(replace(load, dirty=()))  # of all VMs, not of the subjects
    return published(fields, PublishedExplanation)


def _subject(explanation: Explanation) -> dict[str, Any]:
    scores = {score.node: score for score in explanation.scores}
    winners = explanation.winners
    return {
        "kind": explanation.kind,
        "namespace": explanation.name.namespace,
        "name": explanation.name.name,
        "feasible": explanation.judgement.feasible,
        "nodes": [
            _node(verdict, scores.get(verdict.node)) for verdict in explanation.judgement.nodes
        ],
        "predicted": {"node": winners[0] if winners else "", "tied": winners},
        "targetPod": explanation.target,
        "preflight": explanation.checks,
    }


def _node(verdict: NodeVerdict, score: NodeScore | None) -> dict[str, Any]:
    return {
        "name": verdict.node,
        "verdict": verdict.word,
        "rejections": verdict.rejections,
        "scores": dict(sorted(score.scores.items())) if score else {},
        "total": score.total if score else 0,
    }
