"""Kubernetes' affinity and topology spread, as a PlacementRule writes them.

Field names, defaults and limits are those of core/v1 (Kubernetes,
pkg/apis/core/validation/validation.go).
"""

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from gitbot.documents.fields import Value
from gitbot.intents.selectors import LabelSelector, NodeSelectorTerm
from gitbot.intents.spec_fields import UNIQUE, LabelKey, Namespace

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
Weight = Annotated[int, Field(ge=1, le=100)]
_NOT_EMPTY: dict[str, Any] = {
    "anyOf": [
        {"required": [REQUIRED]},
        {"required": [PREFERRED], "properties": {PREFERRED: {"minItems": 1}}},
    ]
}
_EITHER_FILLED: dict[str, Any] = {
    "anyOf": [
        {"required": [part], "properties": {part: {"minItems": 1}}}
        for part in (REQUIRED, PREFERRED)
    ]
}


def _terms(description: str) -> Any:
    return Field(default=(), strict=False, description=description)


class NodeSelector(Value):
    """Terms of which one must match."""

    node_selector_terms: tuple[NodeSelectorTerm, ...] = Field(
        strict=False, min_length=1, description="Terms of which one must match."
    )


class PreferredNodes(Value):
    """A wish for nodes."""

    weight: Weight = Field(description="How much it counts, 1 to 100.")
    preference: NodeSelectorTerm = Field(description="The nodes.")


class NodeAffinity(Value):
    """Which nodes the VMs must or should be on."""

    model_config = ConfigDict(json_schema_extra=_NOT_EMPTY)

    required_during_scheduling_ignored_during_execution: NodeSelector | None = Field(
        default=None, description="The nodes that are allowed."
    )
    preferred_during_scheduling_ignored_during_execution: tuple[PreferredNodes, ...] = _terms(
        "The nodes that are wished for."
    )


class PodAffinityTerm(Value):
    """The domain of other VMs (or pods), by their labels."""

    model_config = ConfigDict(
        json_schema_extra={
            "dependentRequired": {
                "matchLabelKeys": ["labelSelector"],
                "mismatchLabelKeys": ["labelSelector"],
            }
        }
    )

    topology_key: LabelKey = Field(description="Node label whose values are the domains.")
    label_selector: LabelSelector | None = Field(
        default=None, description="The other VMs; absent: none."
    )
    namespaces: tuple[Namespace, ...] = Field(
        default=(),
        strict=False,
        description="Their namespaces; absent: the rule's own.",
        json_schema_extra=UNIQUE,
    )
    namespace_selector: LabelSelector | None = Field(
        default=None, description="Their namespaces by label; {}: all."
    )
    match_label_keys: tuple[LabelKey, ...] = Field(
        default=(),
        strict=False,
        description="Keys whose values must be equal on both.",
        json_schema_extra=UNIQUE,
    )
    mismatch_label_keys: tuple[LabelKey, ...] = Field(
        default=(),
        strict=False,
        description="Keys whose values must differ.",
        json_schema_extra=UNIQUE,
    )


class WeightedPodAffinityTerm(Value):
    """A wish about other VMs."""

    weight: Weight = Field(description="How much it counts, 1 to 100.")
    pod_affinity_term: PodAffinityTerm = Field(description="The domain of others.")


class PodAffinity(Value):
    """Nearness to, or distance from, other VMs."""

    model_config = ConfigDict(json_schema_extra=_EITHER_FILLED)

    required_during_scheduling_ignored_during_execution: tuple[PodAffinityTerm, ...] = _terms(
        "What must hold."
    )
    preferred_during_scheduling_ignored_during_execution: tuple[WeightedPodAffinityTerm, ...] = (
        _terms("What is wished for.")
    )


class TopologySpread(Value):
    """Even spread of the VMs over domains."""

    model_config = ConfigDict(
        json_schema_extra={
            "if": {
                "properties": {"whenUnsatisfiable": {"const": "ScheduleAnyway"}},
                "required": ["whenUnsatisfiable"],
            },
            "then": {"not": {"required": ["minDomains"]}},
        }
    )

    max_skew: Annotated[int, Field(ge=1, le=2**31 - 1)] = Field(
        description="Largest allowed difference between domains."
    )
    topology_key: LabelKey = Field(description="Node label whose values are the domains.")
    when_unsatisfiable: Literal["DoNotSchedule", "ScheduleAnyway"] = Field(
        description="DoNotSchedule: a rule; ScheduleAnyway: a wish."
    )
    label_selector: LabelSelector | None = Field(
        default=None, description="Which VMs are counted; absent: those of the rule."
    )
    min_domains: Annotated[int, Field(ge=1, le=2**31 - 1)] | None = Field(
        default=None, description="Domains that must exist; with DoNotSchedule only."
    )
    node_affinity_policy: Literal["Honor", "Ignore"] = Field(
        default="Honor", description="Whether nodes that the VM cannot use are left out."
    )
    node_taints_policy: Literal["Honor", "Ignore"] = Field(
        default="Ignore", description="Whether tainted nodes are left out."
    )
    match_label_keys: tuple[LabelKey, ...] = Field(
        default=(),
        strict=False,
        description="Keys whose values must be equal to be counted.",
        json_schema_extra=UNIQUE,
    )
