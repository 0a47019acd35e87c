"""MigrationRequest: move these VMs exactly once."""

from typing import Annotated, Literal

from pydantic import Field

from gitbot.documents.fields import DurationOrZero, Instant, Text, Value
from gitbot.intents.selectors import (
    NOT_EMPTY,
    LabelSelector,
)
from gitbot.intents.spec_fields import IntentName, Labels, Name, ZoneName, names
from gitbot.model.plan.problem import Pin

VMS = ("names", "selector", "onNode")
TARGETS = ("node", "zone", "nodeSelector", "balance")


class VmsSpec(Value):
    """Which VMs of the namespace: exactly one of names, selector, onNode."""

    names: tuple[Name, ...] | None = names("Names of VMIs.", default=None)
    selector: LabelSelector | None = Field(
        default=None, description="By the labels of the VMIs.", json_schema_extra=NOT_EMPTY
    )
    max_count: Annotated[int, Field(ge=1, le=100_000)] | None = Field(
        default=None, description="With selector: move no VM if it selects more."
    )
    on_node: Name | None = Field(default=None, description="All VMs of the namespace on that node.")
    source: Name | None = Field(
        default=None, alias="from", description="With one name: move it from that node only."
    )


class TargetSpec(Value):
    """Where to: exactly one of node, zone, nodeSelector, balance."""

    node: Name | None = Field(default=None, description="Name of a node.")
    zone: ZoneName | None = Field(
        default=None, description="Value of the topology.kubernetes.io/zone label."
    )
    node_selector: Labels | None = Field(
        default=None,
        min_length=1,
        description="Labels that the node has; addedNodeSelector gets exactly these.",
        json_schema_extra={"minProperties": 1},
    )
    balance: Literal["Requests"] | None = Field(
        default=None,
        description="Even out how full nodes are by requests; only VMs move that make it so.",
    )


class MigrationRequestSpec(Value):
    """A one-off request. It runs exactly once under its name."""

    vms: VmsSpec = Field(
        description="Which VMs of the namespace.",
        json_schema_extra={
            "oneOf": [{"required": [name]} for name in VMS],
            "dependentRequired": {"maxCount": ["selector"], "from": ["names"]},
        },
    )
    target: TargetSpec | None = Field(
        default=None,
        description="Where to; absent: anywhere but where they are.",
        json_schema_extra={"oneOf": [{"required": [name]} for name in TARGETS]},
    )
    pin: Literal["Node", "Zone", "None"] | None = Field(
        default=None,
        description="What addedNodeSelector demands beside target.nodeSelector; default Node for "
        "node targets, Zone for zone targets, else None.",
    )
    reason: Literal[
        "Maintenance", "Troubleshooting", "NodeValidation", "LoadProfile", "Habit", "Other"
    ] = Field(
        default="Other",
        description="Why, for the record. After NodeValidation gitbot proposes the way home.",
    )
    note: Text | None = Field(default=None, description="Why, in words.")
    not_before: Instant | None = Field(
        default=None, description="Earliest start, in quotes, with offset or Z."
    )
    deadline: Instant | None = Field(
        default=None, description="Latest estimated end, in quotes, with offset or Z."
    )
    window: IntentName | None = Field(
        default=None, description="Name of a MaintenanceWindow: run only while it is open."
    )
    attempts: Annotated[int, Field(ge=1, le=10)] = Field(
        default=1, description="How often a failed migration is tried."
    )

    allow_breach: DurationOrZero = Field(
        default=0,
        description="VMs that a rule keeps together may be apart so long while they move.",
    )

    @property
    def effective_pin(self) -> Pin:
        """The pin, or the target's default."""
        if self.pin is not None:
            return Pin(self.pin)
        if self.target is None:
            return Pin.NONE
        if self.target.node is not None or self.target.balance is not None:
            return Pin.NODE
        return Pin.ZONE if self.target.zone is not None else Pin.NONE
