"""`gitbot returned`: say that a node is back from its maintenance."""

from __future__ import annotations

import click

from gitbot.cli.running import by_option, running, running_options, say


@click.command("returned")
@click.argument("node")
@by_option
@running_options
def command(where: dict[str, str], node: str, by: str) -> int:
    """Record that NODE is back (windows with `done: Command`); its VMs may then go home."""
    from gitbot.workflows.hold import returned  # noqa: PLC0415 - keeps --help quick

    with running(where) as shell:
        window, occurrence = returned(shell, node=node, by=by)
    say(f"{node} is back from {window} {occurrence}")
    return 0
