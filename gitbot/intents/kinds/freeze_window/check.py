"""What types cannot check of a FreezeWindow."""

from gitbot.documents import Report, value_at
from gitbot.intents.selectors import check_repetition, check_selector


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
