"""PlacementRule: Kubernetes' own words over a VM selector."""

from pydantic import ConfigDict, Field

from gitbot.documents import Report, value_at
from gitbot.documents.fields import Value
from gitbot.intents.affinity import NodeAffinity, PodAffinity, TopologySpread
from gitbot.intents.affinity_checks import check_affinity, check_node_affinity, check_spread
from gitbot.intents.selectors import NOT_EMPTY, LabelSelector, check_selector
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


def check(report: Report) -> None:
    check_selector(report, ("spec", "selector"))
    spec = value_at(report.document.value, ("spec",))
    if isinstance(spec, dict) and not any(part in spec for part in PARTS):
        report.at_key(
            ("spec",),
            "missing-field",
            f"found none of {', '.join(PARTS)}, expected at least one",
            "a rule without one says nothing; add nodeAffinity",
        )
    check_node_affinity(report, ("spec", "nodeAffinity"))
    check_affinity(report, ("spec", "affinity"))
    check_affinity(report, ("spec", "antiAffinity"))
    check_spread(report, ("spec", "topologySpread"))
