"""ZoneAntiAffinity: at most N of the selected VMs in one zone."""

from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from gitbot.documents.fields import Value
from gitbot.intents.selectors import NOT_EMPTY, LabelSelector
from gitbot.intents.spec_fields import ZONE_KEY, Enforcement, Heal, LabelKey


class ZoneAntiAffinitySpec(Value):
    """A standing rule: the selected VMs of the namespace are spread over zones."""

    model_config = ConfigDict(
        json_schema_extra={
            "if": {"properties": {"admission": {"const": "Render"}}, "required": ["admission"]},
            "then": {
                "properties": {
                    "maxPerDomain": {"const": 1},
                    "enforcement": {"const": "Required"},
                }
            },
        }
    )

    selector: LabelSelector = Field(
        description="The VMs, by the labels of their VMIs.", json_schema_extra=NOT_EMPTY
    )
    topology_key: LabelKey = Field(
        default=ZONE_KEY, description="Node label whose values are the domains."
    )
    max_per_domain: Annotated[int, Field(ge=1, le=10_000)] = Field(
        default=1, description="How many of the VMs one domain may hold."
    )
    enforcement: Enforcement = Field(
        default="Required", description="Required: never broken by gitbot; Preferred: a wish."
    )
    heal: Heal = Field(
        default="Propose",
        description="What gitbot does about a breach: a pull request, at once, or a report.",
    )
    admission: Literal["None", "Render"] = Field(
        default="None",
        description="Render: an admission policy, so that the scheduler keeps the rule too "
        "(needs enforcement Required and maxPerDomain 1).",
    )
