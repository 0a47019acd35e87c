"""Shows a plan on a pull request, of a person or of the bot: comment, checks and labels."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

from gitbot.model.ledger.events import PlanShown
from gitbot.ports.forge import PullRequest
from gitbot.reports import (
    Diff,
    Superseded,
    comment_values,
    escape,
    marker,
    refusal,
    says_owners,
    worded,
)
from gitbot.reports.own_templates import COMMENT
from gitbot.workflows.approval.owner_approvals import consented
from gitbot.workflows.approval.stale_reviews import CHANGED
from gitbot.workflows.core.context import RunContext, base_head
from gitbot.workflows.core.judged_plan import CheckResult
from gitbot.workflows.core.own_wording import own_wording
from gitbot.workflows.pulls.labels import BLOCKED, PLANNED, RETURN, STALE
from gitbot.workflows.pulls.statuses import own_comment, set_check
from gitbot.workflows.pulls.verdicts import checks_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Showing:
    """What a pull request shows.

    `name` is that of its complete report, `earlier` are the plans that it showed before this one.
    `changed`: reviewers must approve again. `of_bot`: gitbot opened it; what its plan leaves out is
    shown, but fails no check, because merging it moves only what it can. `returns`: VMs come home.
    """

    outcome: CheckResult
    name: str = ""
    earlier: tuple[Superseded, ...] = ()
    changed: bool = False
    of_bot: bool = False
    returns: bool = False

    @property
    def notice(self) -> str:
        return CHANGED if self.changed else ""

    @property
    def labels(self) -> frozenset[str]:
        judged = self.outcome.judged
        if judged is None or (self.outcome.fails() and not self.of_bot):
            return frozenset({BLOCKED})
        wanted = {PLANNED: not judged.plan.does_nothing, STALE: self.changed, RETURN: self.returns}
        return frozenset(label for label, holds in wanted.items() if holds)


def show_comment(shell: RunContext, pull: PullRequest, showing: Showing) -> None:
    outcome = showing.outcome
    if outcome.diff is None:
        body = refusal(shell.cluster_name, outcome.findings)
    else:
        # the link is in the comment alone: checks are compared as a whole
        diff = shell.with_report_link(showing.name, outcome.diff)
        body = _worded(shell, showing, diff)
    shell.forge.upsert_comment(pull.number, marker=marker(shell.cluster_name), body=body)


def _worded(shell: RunContext, showing: Showing, diff: Diff) -> str:
    """The comment in the words of the base branch's template, or else in gitbot's own."""
    values = partial(comment_values, diff, notice=showing.notice, superseded=showing.earlier)
    own = own_wording(shell, COMMENT, values)
    if own.text:
        return own.text
    end = ""
    if own.fault:
        fault = f"{escape.code(own.where)}: {escape.markdown(own.fault)}"
        end = f"\n{fault}; this is gitbot's own text\n"
    shipped = shell.read_base(base_head(shell)).revision.templates
    return worded(values(COMMENT.most - len(end.encode("utf-8"))), shipped) + end


def show_checks(shell: RunContext, head: str, showing: Showing) -> bool:
    """True if any check was written."""
    failing = False if showing.of_bot else None
    checks = checks_of(shell, showing.outcome, notice=showing.notice, failing=failing)
    return sum(set_check(shell, head, check) for check in checks) > 0


def is_shown(shell: RunContext, pull: PullRequest, showing: Showing) -> bool:
    """Whether the comment shows this plan, this notice, and what every owner has approved."""
    body = own_comment(shell.forge, pull.number, marker(shell.cluster_name))
    diff = showing.outcome.diff
    if diff is None:
        return body.strip() == refusal(shell.cluster_name, showing.outcome.findings).strip()
    same = diff.digest in body and (CHANGED in body) == showing.changed
    return same and says_owners(body, diff)


def with_owners(
    shell: RunContext,
    pull: PullRequest | None,
    outcome: CheckResult,
    base: str,
    shown: tuple[PlanShown, ...],
) -> CheckResult:
    """With the owners' approvals, of the base that was planned on."""
    if outcome.judged is None or outcome.revision is None:
        return outcome
    judged = consented(
        shell,
        outcome.judged,
        pull,
        base=shell.read_base(base),
        intents=outcome.revision.intents,
        records=shown,
    )
    return replace(outcome, judged=judged)
