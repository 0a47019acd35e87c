"""The scores of audits, week by week, as the ledger has them: a line of words and a line drawn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gitbot.model.ledger.events import AuditScored
from gitbot.model.text.instants import format_instant
from gitbot.model.text.wording import counted, first_of
from gitbot.reports import escape

_WEEK = 7 * 86_400
_WEEKS = 12
_BARS = "▁▂▃▄▅▆▇█"
_NAMED = 5


def audit_lines(audits: Sequence[AuditScored]) -> Iterator[str]:
    """Counted back from the last line, so the text changes only with the ledger."""
    if not audits:
        return
    last = audits[-1]
    amounts = _by_week(audits)
    yield (
        f"since {format_instant(last.time)}: {_words(last)}; a week before: {amounts[-2]}; "
        f"errors and warnings of {counted(len(amounts), 'week')}: {drawn(amounts)}"
    )
    fresh = [name for event in audits if event.time > last.time - _WEEK for name in event.appeared]
    gone = {name for event in audits if event.time > last.time - _WEEK for name in event.gone}
    new = sorted(set(fresh) - gone)
    if new:
        yield f"new within that week: {escape.markdown(first_of(new, _NAMED))}"


def drawn(amounts: Sequence[int]) -> str:
    """One bar for each amount; the highest is full, 0 is the lowest."""
    most = max(amounts, default=0)
    return "".join(_BARS[-(-amount * (len(_BARS) - 1) // max(most, 1))] for amount in amounts)


def _by_week(audits: Sequence[AuditScored]) -> list[int]:
    """Errors and warnings at the end of each of the last weeks, the newest last; at least two."""
    end = audits[-1].time
    found: list[int] = []
    for number in range(_WEEKS - 1, -1, -1):
        before = [event for event in audits if event.time <= end - number * _WEEK]
        if before or number < 2:
            found.append(before[-1].errors + before[-1].warnings if before else 0)
    return found


def _words(event: AuditScored) -> str:
    return f"{counted(event.errors, 'error')}, {counted(event.warnings, 'warning')}"
