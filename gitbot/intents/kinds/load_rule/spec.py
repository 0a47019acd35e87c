"""LoadRule: a node above a measured load is relieved by one VM."""

from typing import Annotated, Literal

from pydantic import Field

from gitbot.documents.fields import DurationOrZero, Text, Value
from gitbot.intents.selectors import NOT_EMPTY, LabelSelector
from gitbot.intents.spec_fields import Heal, Namespace, names

Metric = Literal[
    "combined", "cpu", "cpuPressure", "ioPressure", "memory", "memoryPressure", "system"
]


class LoadRuleSpec(Value):
    """A standing wish: no node stays above a measured load while a VM can leave it."""

    metric: Metric = Field(default="cpu", description="What is measured.")
    above: Annotated[int, Field(ge=1, le=100)] = Field(
        description="Percent above which a node is to be relieved."
    )
    source: Text | None = Field(
        default=None, description="Only values of this source count; absent: of any."
    )
    sustained: DurationOrZero = Field(
        default=900, description="How long the same nodes must be seen above before a proposal."
    )
    namespaces: tuple[Namespace, ...] | None = names(
        "Only VMs of these namespaces go; absent: of all.", default=None
    )
    protected: LabelSelector | None = Field(
        default=None,
        description="VMs that stay, by the labels of their VMIs.",
        json_schema_extra=NOT_EMPTY,
    )
    heal: Heal = Field(
        default="Propose",
        description="What gitbot does: a pull request, at once, or a report.",
    )
