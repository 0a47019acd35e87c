"""What types cannot check of a PlacementProposal."""

from gitbot.documents import Report
from gitbot.intents.selectors import check_repetition


def check(report: Report) -> None:
    moves = report.document.value.get("spec", {})
    items = moves.get("moves") if isinstance(moves, dict) else None
    for index in range(len(items) if isinstance(items, list) else 0):
        check_repetition(report, ("spec", "moves", index, "allowedNodes"))
