"""The one place that decides "it says the same already: do not write it again".

Every writer asks here: comments, issues, labels, checks and statuses of a forge, records of shown
plans in the ledger, proposals, published snapshots. What a reader sees is compared. Times, ids and
addresses that the other side adds do not count.
"""

from __future__ import annotations

from dataclasses import replace

from gitbot.model.ledger.events import PlanShown
from gitbot.ports.forge import CheckRun, CommitStatus, Issue

_SHARE = 4


def is_up_to_date(there: object, wanted: object) -> bool:
    """Whether what is there (None: nothing) says what is wanted; plain values if they are equal.

    A status without an address wants none: the forge adds its own.
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
    """Whether less than a quarter of its life is left (seconds): then it is written again."""
    return left * _SHARE < life
