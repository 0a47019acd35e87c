"""What types cannot check of a MaintenanceWindow."""

from gitbot.documents import Report, value_at
from gitbot.intents.kinds.maintenance_window.spec import NODES, ROLLING_ONLY
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
    _check_mode(report)
    spec = value_at(report.document.value, ("spec",))
    if isinstance(spec, dict) and "nodes" not in spec:
        for field in ("drain", "returnHome", "overrun", "reapprove", "allowBreach"):
            if field in spec:
                report.warn(
                    ("spec", field),
                    "no-effect",
                    f"found {field} in a window without nodes, expected it with nodes only",
                    "add nodes, or remove it",
                )


def _check_mode(report: Report) -> None:
    drain = value_at(report.document.value, ("spec", "drain"))
    if not isinstance(drain, dict) or drain.get("mode") != "Together":
        return
    for field in ROLLING_ONLY:
        if field in drain:
            report.at_key(
                ("spec", "drain", field),
                "exclusive",
                f"found {field} beside mode: Together, expected it with mode: Rolling only",
                "remove it: all nodes are empty at the same time; or write mode: Rolling",
            )
