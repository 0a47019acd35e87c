"""`gitbot status`: the page on the wall."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

from gitbot.cli.shared.options import LISTED, output_option, scope_options
from gitbot.cli.shared.output import document_text
from gitbot.cli.shared.session import colour, open_read_only, running_options, say
from gitbot.cli.shared.status_page import table
from gitbot.errors import Bug, GitbotError, UsageError
from gitbot.model.ledger.request_id import HealId
from gitbot.model.text.instants import format_instant
from gitbot.reports import Paint, escape

if TYPE_CHECKING:
    from gitbot.kubernetes.selectors import Scope
    from gitbot.workflows.ask import StatusResult
    from gitbot.workflows.core.context import RunContext

_REST = 5
_CLEAR = "\x1b[H\x1b[2J\x1b[3J"  # cursor home, then the screen and what was scrolled off it


@click.command("status")
@click.argument("request", required=False, default="")
@click.option("-w", "--watch", is_flag=True, help="Refresh it in place.")
@click.option(
    "--all-clusters",
    is_flag=True,
    help="A line for each cluster, from what the repository says of it; no cluster is asked.",
)
@scope_options
@output_option(LISTED, "table")
@running_options
def status(
    *,
    where: dict[str, str],
    request: str,
    watch: bool,
    all_clusters: bool,
    scope: Scope,
    output: str,
) -> int:
    """Show what runs, waits, failed, is held or away from home, and what to type next.

    With REQUEST, a ledger id, only that one; -l chooses VMs by the labels of their VMIs. Requests
    that ended are shown for a day. If the base branch has errors, they are the first section, and
    the rest is shown with its newest intents without errors, with exit code 1. If the cluster
    cannot be read, shows what ledger and forge say, with exit code 2; if the forge does not
    answer, what the clone last fetched, also with exit code 2. If nothing can start, the first line
    says why; exit code 1 unless a person, the circuit breaker or the mode wants it.
    """
    if request and scope.narrows:
        raise UsageError("give REQUEST, or -n and -l, not both")
    if all_clusters:
        if request or watch or scope.narrows or any(where.values()):
            raise UsageError("--all-clusters takes only -o")
        from gitbot.cli.commands.get import show_clusters  # noqa: PLC0415 - only here

        return show_clusters(output)
    with open_read_only(where, human=output in ("table", "wide")) as (shell, stale):
        shell.onlooker.begins("reading the cluster and the forge")
        if watch:
            _watch(shell, request, scope, output, stale=bool(stale))
        result, text = _look(shell, request, scope, output, stale=bool(stale))
        _print(text, output)
    if result.not_read or stale:
        return 2
    return 0 if result.healthy else 1


def _look(
    shell: RunContext, request: str, scope: Scope, output: str, *, stale: bool
) -> tuple[StatusResult, str]:
    from gitbot.workflows.ask import status, status_in  # noqa: PLC0415 - keeps --help quick

    result = status(shell, request=request) if request else status_in(shell, scope)
    shell.onlooker.begins("")
    return result, shown(result, output, stale=stale)


def shown(result: StatusResult, output: str, *, stale: bool = False) -> str:
    """The page as text without a final line feed, or a document."""
    if output in ("table", "wide"):
        paint = Paint(colour=colour())
        page = table(result, wide=output == "wide", paint=paint, stale=stale)
        still = f": nothing can start: {result.standstill}" if result.standstill else ""
        first = escape.terminal(f"{result.cluster}, mode {result.mode}{still}")
        return f"{first}\n\n{page}"
    if output == "name":
        return "".join(f"{name}\n" for name in _ids(result))
    from gitbot.workflows.ask import status_document  # noqa: PLC0415 - keeps --help quick

    return document_text(status_document(result), output)


def _ids(result: StatusResult) -> Iterable[str]:
    """Every id on the page, once: what `gitbot cancel` and `gitbot status` take."""
    ids = [
        *(item.record.id for item in result.requests),
        *(item.request for item in result.owners),
        *(item.request for item in result.not_applied),
        *(item.request for item in result.not_planned if not isinstance(item.request, HealId)),
        *(item.request for item in result.openings),
        *(str(occurrence.drain) for occurrence in result.nodes),
    ]
    return dict.fromkeys(filter(None, ids))


def _print(text: str, output: str) -> None:
    click.echo(text, nl=output in ("table", "wide"))


def _watch(shell: RunContext, request: str, scope: Scope, output: str, *, stale: bool) -> None:
    """Refresh until interrupted: in place on a terminal, elsewhere printed when it changed.

    What fails for a while keeps the last page, with the reason above it.
    """
    last, page = "", ""
    while True:
        trouble = ""
        try:
            _, page = _look(shell, request, scope, output, stale=stale)
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
