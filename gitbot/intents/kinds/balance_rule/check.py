"""What types cannot check of a BalanceRule."""

from gitbot.documents import Report
from gitbot.intents.selectors import check_repetition, check_selector


def check(report: Report) -> None:
    check_selector(report, ("spec", "protected"))
    check_repetition(report, ("spec", "namespaces"))
