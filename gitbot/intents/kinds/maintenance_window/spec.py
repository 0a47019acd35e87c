"""MaintenanceWindow: nodes leave service and return. Without nodes, it is only a change window."""

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema

from gitbot.calendar import duration_or_zero
from gitbot.documents import schemas
from gitbot.documents.fields import DurationOrZero, Text, Value, from_text
from gitbot.intents.schedules import ScheduleSpec
from gitbot.intents.selectors import (
    NOT_EMPTY,
    LabelSelector,
)
from gitbot.intents.spec_fields import Name, names
from gitbot.model.plan.findings import Refusal
from gitbot.model.plan.lead import MOST_LEAD

NODES = ("selector", "names")

ROLLING_ONLY = ("maxNodesAtOnce", "order", "reboot")
"""Fields of `drain` that say how nodes follow each other."""


class NodesSpec(Value):
    """Which nodes: exactly one of selector, names."""

    selector: LabelSelector | None = Field(
        default=None, description="By node labels.", json_schema_extra=NOT_EMPTY
    )
    names: tuple[Name, ...] | None = names("Names of nodes.", default=None)


AUTO = "Auto"


def _lead(text: str) -> int | str:
    if text == AUTO:
        return text
    try:
        return duration_or_zero(text)
    except Refusal as refusal:
        expected = f"Auto, or {refusal.expected}"
        raise Refusal(refusal.code, expected, refusal.hint) from refusal


Lead = Annotated[
    int | Literal["Auto"],
    BeforeValidator(from_text(_lead, "Auto, or a duration as text", "write Auto, or PT2H")),
    WithJsonSchema(schemas.DURATION_OR_AUTO),
]


class DrainSpec(Value):
    """How the nodes are emptied."""

    mode: Literal["Rolling", "Together"] = Field(
        default="Rolling",
        description="Node by node, or all at once: every node or none, and none takes a VM.",
    )
    lead: Lead = Field(
        default=0,
        description="Moves may run from this long before the start; Auto: the plan says when.",
    )
    max_nodes_at_once: Annotated[int, Field(ge=1, le=1000)] = Field(
        default=1, description="Nodes at once on their way from draining to returned."
    )
    order: Literal["ByZone"] | None = Field(
        default=None, description="In which order; absent: the planner may choose another."
    )
    reboot: DurationOrZero = Field(
        default=0, description="A node is back, and takes VMs, this long after it is empty."
    )
    cordon: Literal["External", "Gitbot"] = Field(
        default="External",
        description="Who cordons. Gitbot: before the first move, and uncordons when done holds.",
    )
    not_migratable: Literal["BlockNode", "LeaveRunning"] = Field(
        default="BlockNode",
        description="A node with a VM that cannot migrate: not drained, or drained except for it.",
    )
    done: Literal["Uncordoned", "Rebooted", "Command"] = Field(
        default="Uncordoned", description="What says that a node is back."
    )

    @property
    def together(self) -> bool:
        return self.mode == "Together"

    @property
    def longest_lead(self) -> int:
        """Seconds before the start before which no move runs, whatever a plan says."""
        return self.lead if isinstance(self.lead, int) else MOST_LEAD


class MaintenanceWindowSpec(Value):
    """When which nodes leave service."""

    nodes: NodesSpec | None = Field(
        default=None,
        description="Which nodes; absent: a change window only, for requests to refer to.",
        json_schema_extra={"oneOf": [{"required": [name]} for name in NODES]},
    )
    schedule: ScheduleSpec | None = Field(
        default=None, description="When; absent: from merge until its nodes are back."
    )
    drain: DrainSpec = Field(
        default=DrainSpec.model_construct(),
        description="How the nodes are emptied.",
        json_schema_extra={
            "if": {"properties": {"mode": {"const": "Together"}}, "required": ["mode"]},
            "then": {"not": {"anyOf": [{"required": [name]} for name in ROLLING_ONLY]}},
        },
    )
    reapprove: Literal["Always", "WithinPolicy"] = Field(
        default="Always",
        description="WithinPolicy: targets may change and VMs be added under policy alone.",
    )
    overrun: Literal["StopNew", "Finish"] = Field(
        default="StopNew", description="What happens to a drain that is not done at the end."
    )
    allow_breach: DurationOrZero = Field(
        default=0,
        description="VMs that a rule keeps together may be apart so long while they move.",
    )
    return_home: Literal["Propose", "Auto", "Never"] = Field(
        default="Propose", description="Whether VMs are brought back to their nodes."
    )
    note: Text | None = Field(default=None, description="Why, in words, for the record.")

    @property
    def opens_once(self) -> bool:
        """Whether its schedule has one opening, so that one plan is all that it ever needs."""
        return self.schedule is not None and not self.schedule.recurrence
