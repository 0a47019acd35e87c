"""`gitbot resume`: take the stop flag away."""

from __future__ import annotations

import click

from gitbot.cli.running import by_option, running, running_options, say


@click.command("resume")
@click.option("--reason", default="", metavar="TEXT", help="Why it is safe again.")
@by_option
@running_options
def command(where: dict[str, str], reason: str, by: str) -> int:
    """Take the stop flag away in both places, also after the circuit breaker opened.

    Both must be reachable: what could not be taken away is named, exit code 2.
    """
    from gitbot.workflows.hold import resume  # noqa: PLC0415 - keeps --help quick

    with running(where) as shell:
        result = resume(shell, reason=reason, by=by)
    say(f"resumed by {by}" if result.was_set else "nothing was stopped")
    return 0
