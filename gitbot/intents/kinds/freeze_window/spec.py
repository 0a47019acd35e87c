"""FreezeWindow: gitbot moves nothing here. A freeze overrides every window."""

from pydantic import ConfigDict, Field

from gitbot.documents import Report, value_at
from gitbot.documents.fields import Text, Value
from gitbot.intents.schedules import CalendarSpec, ScheduleSpec
from gitbot.intents.selectors import NOT_EMPTY, LabelSelector, check_repetition, check_selector
from gitbot.intents.spec_fields import Namespace, names


class FreezeWindowSpec(Value):
    """Which VMs stay where they are, and when. Absent fields do not restrict."""

    model_config = ConfigDict(
        json_schema_extra={"not": {"required": ["schedule", "calendar"]}},
    )

    selector: LabelSelector | None = Field(
        default=None,
        description="By the labels of the VMIs; absent: all VMs.",
        json_schema_extra=NOT_EMPTY,
    )
    namespaces: tuple[Namespace, ...] | None = names("Only in these namespaces.", default=None)
    schedule: ScheduleSpec | None = Field(
        default=None, description="When; absent: from merge until the file is removed."
    )
    calendar: CalendarSpec | None = Field(
        default=None, description="When, by the events of a calendar file; instead of schedule."
    )
    reason: Text | None = Field(default=None, description="Why, shown with everything that waits.")


def check(report: Report) -> None:
    check_selector(report, ("spec", "selector"))
    check_repetition(report, ("spec", "namespaces"))
    check_repetition(report, ("spec", "schedule", "exclude"))
    spec = value_at(report.document.value, ("spec",))
    if isinstance(spec, dict) and {"schedule", "calendar"} <= spec.keys():
        report.at_key(
            ("spec",),
            "exclusive",
            "found schedule and calendar, expected at most one of schedule and calendar",
            "keep one, and write a second FreezeWindow for the other",
        )
