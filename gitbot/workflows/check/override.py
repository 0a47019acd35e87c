"""Override: a named owner lets one plan pass one policy that denies it, for a reason, recorded."""

from __future__ import annotations

from gitbot.errors import UsageError
from gitbot.execution.approval import is_bot
from gitbot.model.ledger.events import Override, PolicyOverridden
from gitbot.model.ledger.ledger import Ledger, pull_file
from gitbot.model.plan.findings import Severity
from gitbot.ports.forge import PullRequest, PullState
from gitbot.reports import escape, marker
from gitbot.workflows.approval.read_approvals import read_approvals
from gitbot.workflows.check.publish import check_pull, publish
from gitbot.workflows.core.context import RunContext
from gitbot.workflows.core.revision_engine import RevisionEngine
from gitbot.workflows.ledger.writer import Journal, retried
from gitbot.workflows.pulls.statuses import own_comment


def override(shell: RunContext, *, number: int, policy: str, by: str, why: str) -> str:
    """Record it, and show the plan again. The answer in Markdown; UsageError if it is refused."""
    retried(lambda: _record(shell, number=number, policy=policy, by=by, why=why))
    if shell.forge.get_pull(number).state is PullState.OPEN:
        publish(shell, number=number)
    name = escape.code(policy)
    who = escape.code(by)
    return f"{name} is overridden by {who} for this plan alone; another plan needs it again"


def _record(shell: RunContext, *, number: int, policy: str, by: str, why: str) -> None:
    journal = Journal(shell.ledger_store, shell.clock)
    ledger = journal.read()
    pull = shell.forge.get_pull(number)
    base = shell.read_base(shell.repository.commit(shell.base_branch).id)
    _must_be_named(shell, base, pull, policy=policy, by=by)
    journal.commit(
        tuple(
            PolicyOverridden(
                file=pull_file(number),
                time=shell.clock.now() + shell.forge.clock_skew,
                cluster=shell.cluster_name,
                author=by,
                pull_request=number,
                digest=digest,
                reason=why,
                override=Override(policy=policy, head=pull.merged_head or pull.head),
            )
            for digest in _denied(shell, ledger, base, pull, policy)
        )
    )


def _must_be_named(
    shell: RunContext, base: RevisionEngine, pull: PullRequest, *, policy: str, by: str
) -> None:
    owners = [
        owner for item in base.settings.overrides if item.policy == policy for owner in item.owners
    ]
    if not owners:
        raise UsageError(
            f"nobody may override {policy}",
            hint="name its owners in overrides[] of the configuration, in a reviewed change",
        )
    if by == pull.author:
        raise UsageError("the author of a pull request does not override what denies it")
    if is_bot(by, shell.forge.bot) or not any(_is(shell, owner, by) for owner in owners):
        raise UsageError(f"{by} may not override {policy}", hint=f"ask {' or '.join(owners)}")


def _is(shell: RunContext, owner: str, account: str) -> bool:
    if "/" not in owner:
        return owner[1:].lower() == account.lower()
    members = shell.forge.team_members(owner) or frozenset()
    return account.lower() in {name.lower() for name in members}


def _denied(
    shell: RunContext, ledger: Ledger, base: RevisionEngine, pull: PullRequest, policy: str
) -> tuple[str, ...]:
    """The digests that the policy denies: of the plan shown now, or of those that were approved."""
    if pull.state is PullState.MERGED:
        approved = read_approvals(shell, base, ledger).approved
        found = {
            item.approval.digest for item in approved if item.approval.pull_request == pull.number
        }
        if not found:
            raise UsageError("nothing of this pull request is approved: open it again")
        return tuple(sorted(found))
    if pull.state is not PullState.OPEN:
        raise UsageError("this pull request is closed")
    judged = check_pull(shell, ledger, pull).judged
    errors = [] if judged is None else judged.verdict.findings
    if judged is None or not any(
        item.code == f"policy/{policy}" and item.severity is Severity.ERROR for item in errors
    ):
        raise UsageError(f"{policy} does not deny the plan of this pull request")
    if judged.digest not in own_comment(shell.forge, pull.number, marker(shell.cluster_name)):
        hint = "/gitbot plan shows it; read it, and override it then"
        raise UsageError("the comment on the pull request shows an older plan", hint=hint)
    return (judged.digest,)
