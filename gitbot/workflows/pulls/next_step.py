"""The command that an open pull request needs before its merge approves anything."""

from __future__ import annotations

from gitbot.model.ledger.ledger import Ledger
from gitbot.ports.forge import ForgeCapabilities, PullRequest
from gitbot.workflows.core.context import RunContext


def check_first(
    forge: ForgeCapabilities,
    ledger: Ledger,
    pull: PullRequest,
    *,
    cluster: str,
    now: int,
    several: bool,
) -> str:
    """What to do before a merge, such as a command that plans and shows it; "" for nothing.

    A forge whose CI plans by itself needs nobody to type it. `several` clusters: name this one.
    """
    if forge.plans_by_itself:
        return ""
    shown = ledger.shown(pull.number, cluster=cluster)
    last = shown[-1] if shown and shown[-1].head == pull.head else None
    check = f"gitbot check --pull-request {pull.number}"
    where = f" --cluster {cluster}" if several else ""
    if last is None or (last.digest and last.expires_at <= now):
        return f"{check} --publish{where}"
    if last.digest:
        return ""
    # typed again, the check only says the same
    return f"mend the errors that `{check}{where}` shows, and push"


def next_step(shell: RunContext, pull: PullRequest) -> str:
    """The pull request and what comes next, in a line for who has just opened it."""
    cluster, now, forge = shell.cluster_name, shell.clock.now(), shell.forge.capabilities
    ledger = shell.ledger_store.read()
    check = check_first(forge, ledger, pull, cluster=cluster, now=now, several=shell.several)
    steps = [*filter(None, [check]), f"review and merge {pull.url}"]
    return f"pull request #{pull.number}: {pull.title}; next: {', then '.join(steps)}"
