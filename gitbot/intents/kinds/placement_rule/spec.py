"""PlacementRule: Kubernetes' own words over a VM selector."""

from pydantic import ConfigDict, Field

from gitbot.documents.fields import Value
from gitbot.intents.affinity import NodeAffinity, PodAffinity, TopologySpread
from gitbot.intents.selectors import NOT_EMPTY, LabelSelector
from gitbot.intents.spec_fields import Enforcement, Heal

PARTS = ("nodeAffinity", "affinity", "antiAffinity", "topologySpread")


class PlacementRuleSpec(Value):
    """A standing rule over the selected VMs of the namespace; at least one of its four parts."""

    model_config = ConfigDict(
        json_schema_extra={"anyOf": [{"required": [part]} for part in PARTS]},
    )

    selector: LabelSelector = Field(
        description="The VMs, by the labels of their VMIs.", json_schema_extra=NOT_EMPTY
    )
    node_affinity: NodeAffinity | None = Field(
        default=None, description="Which nodes; Kubernetes' nodeAffinity."
    )
    affinity: PodAffinity | None = Field(
        default=None, description="Nearness to other VMs; Kubernetes' podAffinity."
    )
    anti_affinity: PodAffinity | None = Field(
        default=None, description="Distance from other VMs; Kubernetes' podAntiAffinity."
    )
    topology_spread: tuple[TopologySpread, ...] = Field(
        default=(),
        strict=False,
        description="Kubernetes' topologySpreadConstraints.",
        json_schema_extra={"minItems": 1},
    )
    enforcement: Enforcement = Field(
        default="Required",
        description="Required: required terms are never broken by gitbot; Preferred: all wishes.",
    )
    heal: Heal = Field(
        default="Propose",
        description="What gitbot does about a breach: a pull request, at once, or a report.",
    )
