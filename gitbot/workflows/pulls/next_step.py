"""The command that an open pull request needs before its merge approves anything."""

from __future__ import annotations

from gitbot.model.ledger.ledger import Ledger
from gitbot.ports.forge import ForgeCapabilities, PullRequest
from gitbot.workflows.core.context import RunContext


def check_first(
    forge: ForgeCapabilities, ledger: Ledger, pull: PullRequest, *, cluster: str, now: int
) -> str:
    """The command that plans and shows it, or why it approves nothing; "" if a merge does.

    A forge whose CI plans by itself needs nobody to type it.
    """
    if forge.plans_by_itself:
        return ""
    shown = ledger.shown(pull.number, cluster=cluster)
    last = shown[-1] if shown and shown[-1].head == pull.head else None
    check = f"gitbot check --pull-request {pull.number}"
    if last is None or (last.digest and last.expires_at <= now):
        return f"{check} --publish"
    return "" if last.digest else check


def next_step(shell: RunContext, pull: PullRequest) -> str:
    """The pull request and what comes next, in a line for who has just opened it."""
    cluster, now, forge = shell.cluster_name, shell.clock.now(), shell.forge.capabilities
    check = check_first(forge, shell.ledger_store.read(), pull, cluster=cluster, now=now)
    steps = [*filter(None, [check]), f"review and merge {pull.url}"]
    return f"pull request #{pull.number}: {pull.title}; next: {', then '.join(steps)}"
