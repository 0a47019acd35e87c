"""`gitbot completion`: the script that lets a shell complete gitbot's command line."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

SHELLS = ("bash", "zsh", "fish")
VARIABLE = "_GITBOT_COMPLETE"


@click.command("completion")
@click.argument("shell", type=click.Choice(SHELLS))
def completion(shell: str) -> None:
    """Print the completion script of a SHELL: commands, options, and names.

    Clusters and windows come from the files here, requests from the ledger as the clone has it,
    VMs and nodes from the snapshot that reconcile published: nothing is asked over a network.
    """
    from gitbot.cli.main import cli  # noqa: PLC0415 - main imports the commands

    found = get_completion_class(shell)
    assert found is not None, "BUG: click knows these shells"
    click.echo(found(cli, {}, "gitbot", VARIABLE).source())
