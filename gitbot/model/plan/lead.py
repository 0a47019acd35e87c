"""`drain.lead: Auto`: how long before the start the moves of a drain begin."""

LEAST_LEAD = 15 * 60
"""Seconds before the start at which the moves begin even if a plan needs less."""

MOST_LEAD = 12 * 3600
"""Seconds before the start at which the moves may begin at the earliest. Until a plan says more,
the window is announced as if its lead were this long."""

_STEP = 5 * 60


def needed_lead(seconds: int) -> int:
    """The lead for moves that take so many seconds: a quarter more, in whole five minutes."""
    with_margin = -(-seconds * 5 // 4)
    return min(MOST_LEAD, max(LEAST_LEAD, -(-with_margin // _STEP) * _STEP))


def step_down(instant: int) -> int:
    """The last whole five minutes at or before an instant."""
    return instant // _STEP * _STEP
