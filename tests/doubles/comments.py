"""The comment on a pull request, by the shipped template."""

from typing import Any

from gitbot.reports import Diff, comment_values, worded
from gitbot.wiring import ShippedTexts


def markdown(diff: Diff, **how: Any) -> str:
    return worded(comment_values(diff, **how), ShippedTexts().templates())
