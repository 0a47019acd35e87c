"""Author: write an intent for a person, on a branch, and open its pull request.

`check_new` judges the intent as a pull request with it would be judged. `open_new` commits its file
on a branch of its own and opens the pull request. `unpinning` takes pins out of VM manifests for
`open_unpinning`. `healing_of_terms` chooses VMs whose own terms a move heals. None touches the
cluster.
"""

from __future__ import annotations

from gitbot.workflows.approval.read_approvals import waits_for
from gitbot.workflows.author.heal_terms import healing_of_terms
from gitbot.workflows.author.remove_pin import Pinned, open_unpinning, unpinning
from gitbot.workflows.author.run import (
    NewIntent,
    asked_already,
    check_new,
    open_already,
    open_beside,
    open_new,
    with_free_name,
)
from gitbot.workflows.pulls.next_step import (
    after_merge,
    came_after_plan,
    check_first,
    next_step,
)

__all__ = [
    "NewIntent",
    "Pinned",
    "after_merge",
    "asked_already",
    "came_after_plan",
    "check_first",
    "check_new",
    "healing_of_terms",
    "next_step",
    "open_already",
    "open_beside",
    "open_new",
    "open_unpinning",
    "unpinning",
    "waits_for",
    "with_free_name",
]
