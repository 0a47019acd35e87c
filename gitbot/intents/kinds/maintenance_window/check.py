"""What types cannot check of a MaintenanceWindow."""

from gitbot.documents import Report, value_at
from gitbot.intents.kinds.maintenance_window.spec import NODES
from gitbot.intents.selectors import (
    check_repetition,
    check_selector,
)
from gitbot.intents.spec_fields import exactly_one


def check(report: Report) -> None:
    exactly_one(report, ("spec", "nodes"), NODES)
    check_selector(report, ("spec", "nodes", "selector"))
    check_repetition(report, ("spec", "nodes", "names"))
    check_repetition(report, ("spec", "schedule", "exclude"))
    spec = value_at(report.document.value, ("spec",))
    if isinstance(spec, dict) and "nodes" not in spec:
        for field in ("drain", "returnHome", "overrun", "reapprove"):
            if field in spec:
                report.warn(
                    ("spec", field),
                    "no-effect",
                    f"found {field} in a window without nodes, expected it with nodes only",
                    "add nodes, or remove it",
                )
