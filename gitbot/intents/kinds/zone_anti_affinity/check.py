"""What types cannot check of a ZoneAntiAffinity."""

from gitbot.documents import Report, value_at
from gitbot.intents.selectors import check_selector


def check(report: Report) -> None:
    check_selector(report, ("spec", "selector"))
    value = report.document.value
    if value_at(value, ("spec", "admission")) != "Render":
        return
    limit = value_at(value, ("spec", "maxPerDomain"))
    if isinstance(limit, int) and limit > 1:
        report.at_value(
            ("spec", "maxPerDomain"),
            "admission",
            f"found {limit} with admission: Render, expected 1",
            "an admission policy can only keep one VM a domain; write admission: None",
        )
    if value_at(value, ("spec", "enforcement")) == "Preferred":
        report.at_value(
            ("spec", "enforcement"),
            "admission",
            'found "Preferred" with admission: Render, expected Required',
            "an admission policy makes the rule hard; write admission: None",
        )
