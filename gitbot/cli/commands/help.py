"""`gitbot help`: the same as --help, for people who type it first; and what a finding means."""

from __future__ import annotations

import click

from gitbot.errors import UsageError
from gitbot.model.text.wording import nearest


@click.command("help")
@click.argument("command", nargs=-1, metavar="[COMMAND | FINDING]...")
def help(command: tuple[str, ...]) -> None:  # noqa: A001 - the command's name
    """Show the help of gitbot, of one COMMAND, or of a FINDING's code."""
    if len(command) == 1 and "/" in command[0]:
        click.echo(_finding(command[0]), nl=False)
        return
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


def _finding(code: str) -> str:
    from gitbot import reports  # noqa: PLC0415 - keeps --help quick
    from gitbot.cli.shared.output import documentation  # noqa: PLC0415
    from gitbot.wiring import ShippedTexts  # noqa: PLC0415

    meanings = ShippedTexts().meanings()["findings.tsv"]
    docs = documentation().rstrip("/")
    text = reports.explained(code, meanings=meanings, docs=docs)
    if not text:
        near = nearest(code, [line.partition("\t")[0] for line in meanings.splitlines()])
        hint = f"did you mean {near}?" if near else f"{docs}/findings.md lists them"
        raise UsageError(f"there is no finding {code}", hint=hint)
    return text
