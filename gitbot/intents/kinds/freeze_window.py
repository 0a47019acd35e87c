"""FreezeWindow: nothing of gitbot's moves here; freeze wins over every window."""

from pydantic import Field

from gitbot.documents.decoding import Report
from gitbot.intents.fields import Namespace, Text, Value, names
from gitbot.intents.schedules import ScheduleSpec
from gitbot.intents.selectors import NOT_EMPTY, LabelSelector, check_repetition, check_selector


class FreezeWindowSpec(Value):
    """Which VMs stay where they are, and when. Absent parts limit nothing."""

    selector: LabelSelector | None = Field(
        default=None,
        description="By the labels of the VMIs; absent: all VMs.",
        json_schema_extra=NOT_EMPTY,
    )
    namespaces: tuple[Namespace, ...] | None = names("Only in these namespaces.", default=None)
    schedule: ScheduleSpec | None = Field(
        default=None, description="When; absent: from merge until the file is removed."
    )
    reason: Text | None = Field(default=None, description="Why, shown where something waits.")


def check(report: Report) -> None:
    """The rules of meaning that no field's type can hold."""
    check_selector(report, ("spec", "selector"))
    check_repetition(report, ("spec", "namespaces"))
    check_repetition(report, ("spec", "schedule", "exclude"))
