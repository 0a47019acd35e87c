"""Propose: one pull request of the bot for each concern; merging it approves its plan.

`propose` looks at the cluster, finds the concerns (`concerns/`: drains, returns, healings,
requests, unfinished rests), plans each alone, and opens, renews or closes its pull request.
`check_proposal` plans one of these again, `not_planned` lists the requests without an approved plan
for `status`, `unhealed` broken rules without a proposal, `unproposed` what `propose` would
plan, `away_from_home` lists the VMs that a maintenance moved away; none of them writes.
"""

from __future__ import annotations

from gitbot.workflows.propose.away_from_home import Away, away_from_home
from gitbot.workflows.propose.check_proposal import check_proposal
from gitbot.workflows.propose.concerns import (
    ConcernSources,
    breaches_of,
    concern_name,
    ended_at,
    heal_concern,
)
from gitbot.workflows.propose.missing_plans import (
    explain_command,
    not_planned,
    unhealed,
    unproposed,
)
from gitbot.workflows.propose.run import PassView, ProposeResult, propose

__all__ = [
    "Away",
    "ConcernSources",
    "PassView",
    "ProposeResult",
    "away_from_home",
    "breaches_of",
    "check_proposal",
    "concern_name",
    "ended_at",
    "explain_command",
    "heal_concern",
    "not_planned",
    "propose",
    "unhealed",
    "unproposed",
]
