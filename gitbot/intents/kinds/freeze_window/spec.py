"""FreezeWindow: gitbot moves nothing here. A freeze overrides every window."""

from pydantic import ConfigDict, Field

from gitbot.documents.fields import Text, Value
from gitbot.intents.schedules import CalendarSpec, ScheduleSpec
from gitbot.intents.selectors import NOT_EMPTY, LabelSelector
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
