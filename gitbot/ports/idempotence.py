"""The one place that decides whether content is up to date, so that it is not written again.

Every writer calls it: comments, issues, labels, checks and statuses of a forge, records of shown
plans in the ledger, proposals, published snapshots. It compares what a reader sees. Times, ids and
addresses that the other side adds do not count.
"""

from __future__ import annotations

from dataclasses import replace

from gitbot.model.ledger.events import PlanShown
from gitbot.ports.forge import CheckRun, CommitStatus, Issue

_SHARE = 4


def is_up_to_date(there: object, wanted: object) -> bool:
    """Whether the existing content (None: nothing) equals the wanted one; plain values if equal.

    A status without an address matches any address, because the forge adds its own.
    """
    match there, wanted:
        case CommitStatus(), CommitStatus():
            return wanted.target_url in ("", there.target_url) and (
                (there.context, there.state, there.description)
                == (wanted.context, wanted.state, wanted.description)
            )
        case CheckRun(), CheckRun():
            return replace(there, time=0) == replace(wanted, time=0)
        case Issue(), Issue():
            return (there.title, there.body) == (wanted.title, wanted.body)
        case PlanShown(), PlanShown():
            return (there.head, there.shown.base, there.digest) == (
                wanted.head,
                wanted.shown.base,
                wanted.digest,
            )
        case _:
            return there is not None and there == wanted


def needs_renewal(*, left: int, life: int) -> bool:
    """Whether less than a quarter of the life is left (seconds), so that it is written again."""
    return left * _SHARE < life
