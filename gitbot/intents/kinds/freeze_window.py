"""FreezeWindow: gitbot moves nothing here. A freeze overrides every window."""

from typing import Annotated

from pydantic import AfterValidator, ConfigDict, Field, WithJsonSchema

from gitbot.documents import Report, formats, schemas, value_at
from gitbot.documents.fields import Text, TimeZone, Value
from gitbot.intents.fields import Namespace, names
from gitbot.intents.schedules import ScheduleSpec
from gitbot.intents.selectors import NOT_EMPTY, LabelSelector, check_repetition, check_selector

RepositoryPath = Annotated[
    str,
    AfterValidator(formats.repository_path),
    Field(min_length=1),
    WithJsonSchema(schemas.PATH),
]


class CalendarSpec(Value):
    """A calendar file beside the intents: frozen while one of its events lasts."""

    path: RepositoryPath = Field(description="An .ics file below the cluster's folder of intents.")
    time_zone: TimeZone | None = Field(
        default=None,
        description="IANA zone of days and of times without one; default: the cluster's timeZone.",
    )


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
