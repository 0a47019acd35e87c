"""`gitbot resume`: remove the stop flag."""

from __future__ import annotations

import click

from gitbot.cli.shared.session import by_option, running, running_options, say


@click.command("resume")
@click.option("--reason", default="", metavar="TEXT", help="Why it is safe again.")
@click.option("--accept-ledger", is_flag=True, help="Go on with a ledger that went back.")
@by_option
@running_options
def resume(where: dict[str, str], reason: str, by: str, accept_ledger: bool) -> int:
    """Remove the stop flag in both places, also after the circuit breaker opened.

    Both must be reachable: gitbot names the place where the flag remains, exit code 2.
    """
    from gitbot.workflows.apply import resume  # noqa: PLC0415 - keeps --help quick

    with running(where) as shell:
        was_set = resume(shell, reason=reason, by=by, accept_ledger=accept_ledger)
    say(f"resumed by {by}" if was_set else "nothing was stopped")
    return 0
