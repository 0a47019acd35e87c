"""MigrationRequest: move these VMs exactly once."""

from dataclasses import replace
from typing import Annotated, Literal

from pydantic import Field

from gitbot.calendar import instant
from gitbot.documents import Report, value_at
from gitbot.documents.fields import Instant, Text, Value
from gitbot.intents.selectors import (
    NOT_EMPTY,
    LabelSelector,
    check_repetition,
    check_selector,
)
from gitbot.intents.spec_fields import IntentName, Labels, Name, ZoneName, exactly_one, names
from gitbot.model.plan.findings import Finding
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
        default=None, description="With selector: hold everything if it selects more VMs."
    )
    on_node: Name | None = Field(default=None, description="All VMs of the namespace on that node.")


class TargetSpec(Value):
    """Where to: exactly one of node, zone, nodeSelector, balance."""

    node: Name | None = Field(default=None, description="Name of a node.")
    zone: ZoneName | None = Field(
        default=None, description="Value of the topology.kubernetes.io/zone label."
    )
    node_selector: Labels | None = Field(
        default=None,
        min_length=1,
        description="Labels that the node has.",
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
            "dependentRequired": {"maxCount": ["selector"]},
        },
    )
    target: TargetSpec | None = Field(
        default=None,
        description="Where to; absent: anywhere but where they are.",
        json_schema_extra={"oneOf": [{"required": [name]} for name in TARGETS]},
    )
    pin: Literal["Node", "Zone", "None"] | None = Field(
        default=None,
        description="What addedNodeSelector demands; default Node for node targets, Zone for zone "
        "targets, else None.",
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


_OFFLINE = frozenset(
    {
        "allowrestart",
        "allowreboot",
        "restart",
        "reboot",
        "mode",
        "offline",
        "online",
        "live",
        "cold",
        "force",
        "shutdown",
    }
)
_NEVER_RESTARTS = (
    "remove it: gitbot migrates live and never restarts a VM; where only a restart helps the plan "
    "says so, and the VM's owner does it: virtctl restart NAME"
)


def check(report: Report) -> None:
    exactly_one(report, ("spec", "vms"), VMS)
    exactly_one(report, ("spec", "target"), TARGETS)
    check_selector(report, ("spec", "vms", "selector"))
    check_repetition(report, ("spec", "vms", "names"))
    vms = value_at(report.document.value, ("spec", "vms"))
    if isinstance(vms, dict) and "maxCount" in vms and "selector" not in vms:
        report.at_key(
            ("spec", "vms", "maxCount"),
            "exclusive",
            "found maxCount without selector, expected it with selector only",
            "remove it",
        )
    _check_pin(report)
    _check_times(report)
    report.findings[:] = [_without_restart(finding) for finding in report.findings]


def _without_restart(finding: Finding) -> Finding:
    """What to do instead, for requests that other tools fulfil by a restart."""
    words = finding.key_path.rpartition(".")[2].lower()
    if not finding.code.endswith("/unknown-field") or words not in _OFFLINE:
        return finding
    return replace(finding, hint=_NEVER_RESTARTS)


def _check_pin(report: Report) -> None:
    pin = value_at(report.document.value, ("spec", "pin"))
    if value_at(report.document.value, ("spec", "target", "balance")) and pin in ("Zone", "None"):
        report.at_value(
            ("spec", "pin"),
            "exclusive",
            f"found pin {pin} with target.balance, expected Node: the plan chooses each node",
            "remove it",
        )


def _check_times(report: Report) -> None:
    spec = value_at(report.document.value, ("spec",))
    if not isinstance(spec, dict):
        return
    begin, end = _seconds(spec.get("notBefore")), _seconds(spec.get("deadline"))
    if begin is None or end is None or begin < end:
        return
    what = "the same moment as notBefore" if begin == end else "a time before notBefore"
    report.at_value(
        ("spec", "deadline"),
        "interval",
        f"found {what}, expected a deadline after notBefore",
        "correct one of the two",
    )


def _seconds(text: object) -> int | None:
    if not isinstance(text, str):
        return None
    try:
        return instant(text)
    except ValueError:
        return None
