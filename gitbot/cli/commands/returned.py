"""`gitbot returned`: record that a node is back from its maintenance."""

from __future__ import annotations

import click

from gitbot.cli.shared.session import by_option, running, running_options, say


@click.command("returned")
@click.argument("node")
@by_option
@running_options
def returned(where: dict[str, str], node: str, by: str) -> int:
    """Record that NODE is back (windows with `done: Command`); its VMs may then go home."""
    from gitbot.workflows.apply import goes_home_by_proposal, returned  # noqa: PLC0415 - keeps --help quick

    with running(where) as shell:
        occurrence = returned(shell, node=node, by=by)
        proposes = goes_home_by_proposal(shell, occurrence)
    say(f"{node} is back from {occurrence.window} {occurrence.id}")
    say("next: gitbot apply" + (", then gitbot propose" if proposes else ""), err=True)
    return 0
