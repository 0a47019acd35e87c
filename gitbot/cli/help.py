"""`gitbot help`: the same as --help, for people who type it first."""

from __future__ import annotations

import click

from gitbot.errors import UsageError


@click.command("help", add_help_option=False)
@click.argument("command", nargs=-1, metavar="[COMMAND]...")
def help(command: tuple[str, ...]) -> None:  # noqa: A001 - the command's name
    """Show the help of gitbot, or of one COMMAND."""
    context = click.get_current_context().parent
    assert context is not None, "BUG: help without its group"
    shown: click.Command = context.command
    for name in command:
        if not isinstance(shown, click.Group):
            raise UsageError(f"{context.command_path} has no command {name}")
        _, found, _ = shown.resolve_command(context, [name])
        assert found is not None, "BUG: a command that was resolved is there"
        context, shown = click.Context(found, info_name=name, parent=context), found
    click.echo(shown.get_help(context))
