"""`gitbot status`: the page on the wall."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from gitbot.cli.options import output_option
from gitbot.cli.running import running, running_options, say
from gitbot.cli.showing import document_text
from gitbot.cli.status_page import table
from gitbot.errors import Bug, GitbotError, UsageError
from gitbot.model.instants import format_instant

if TYPE_CHECKING:
    from gitbot.workflows.ask import StatusResult
    from gitbot.workflows.shell import Shell

_REST = 5
_CLEAR = "\x1b[H\x1b[2J\x1b[3J"  # cursor home, then the screen and what was scrolled off it


@click.command("status")
@click.argument("request", required=False, default="")
@click.option("-w", "--watch", is_flag=True, help="Refresh it in place.")
@output_option(("table", "wide", "json", "yaml"), "table")
@running_options
def status(where: dict[str, str], request: str, watch: bool, output: str) -> int:
    """Show what runs, waits, failed, is held or away from home, and what to type next.

    With REQUEST, a ledger id, only that one. Requests that ended are shown for a day. If the base
    branch has errors, they are the first section, and the rest is shown with its newest intents
    without errors, with exit code 1. If the cluster cannot be read, shows what ledger and forge
    say, with exit code 2.
    """
    with running(where) as shell:
        if watch:
            _watch(shell, request, output)
        result, text = _look(shell, request, output)
        _print(text, output)
    if result.not_read:
        return 2
    return 1 if result.broken else 0


def _look(shell: Shell, request: str, output: str) -> tuple[StatusResult, str]:
    from gitbot.workflows.ask import status  # noqa: PLC0415 - keeps --help quick

    result = status(shell, request=request)
    return result, shown(result, output)


def shown(result: StatusResult, output: str) -> str:
    """The page as text without a final line feed, or a document."""
    if output in ("table", "wide"):
        return f"{result.cluster}, mode {result.mode}\n\n{table(result, wide=output == 'wide')}"
    from gitbot.workflows.ask import status_document  # noqa: PLC0415 - keeps --help quick

    return document_text(status_document(result), output)


def _print(text: str, output: str) -> None:
    if output in ("table", "wide"):
        say(text)
    else:
        click.echo(text, nl=False)


def _watch(shell: Shell, request: str, output: str) -> None:
    """Refresh until interrupted: in place on a terminal, elsewhere printed when it changed.

    What fails for a while keeps the last page, with the reason above it.
    """
    last, page = "", ""
    while True:
        trouble = ""
        try:
            _, page = _look(shell, request, output)
        except (Bug, UsageError):
            raise
        except GitbotError as error:
            if not page:
                raise
            trouble = f"not refreshed: {error}"
        if sys.stdout.isatty():
            now = format_instant(shell.clock.now())
            click.echo(_CLEAR, nl=False)
            say(f"{trouble or f'gitbot status of {shell.cluster_name}'}, {now}\n")
            _print(page, output)
        elif page != last:
            _print(page, output)
        last = page
        shell.clock.sleep(_REST)
