"""`gitbot apply`: carry out everything that is approved, open now and unfinished."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from gitbot.cli.shared.options import output_option
from gitbot.cli.shared.output import document_text
from gitbot.cli.shared.session import running, running_options, say, stopping, times_of
from gitbot.errors import UsageError
from gitbot.model.grouping import grouped
from gitbot.model.text.instants import format_instant
from gitbot.model.text.wording import first_of

if TYPE_CHECKING:
    from gitbot.execution.executor_types import OutdatedGroup
    from gitbot.workflows.apply import ApplyResult

_NAMED = 8

max_runtime_option = click.option(
    "--max-runtime",
    type=click.IntRange(min=1),
    default=3600,
    show_default=True,
    metavar="SECONDS",
    help="End the pass after so many seconds; the next one goes on.",
)

wait_option = click.option(
    "--wait-for-opening",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    metavar="SECONDS",
    help="Wait for an opening that comes within so many seconds.",
)

follow_option = click.option(
    "--follow/--no-follow",
    default=True,
    help="List the cluster once, then watch it; or list it at every look.",
)


@click.command("apply")
@max_runtime_option
@wait_option
@follow_option
@click.option("--dry-run", is_flag=True, help="Say what a pass would do now; do nothing.")
@output_option(("table", "json", "yaml"), "table")
@running_options
def apply(
    *,
    where: dict[str, str],
    max_runtime: int,
    wait_for_opening: int,
    follow: bool,
    dry_run: bool,
    output: str,
) -> int:
    """Carry out everything that is approved, open now and unfinished, no matter who merged it.

    Goes on until nothing more can start. Moves that wait for a window do not fail: exit code 0. A
    second run does nothing. Exit code 1 if a move failed, 130 if somebody asked the run to end: the
    ledger has what was begun, and the next run goes on.
    """
    from gitbot.workflows.watch import apply_and_report  # noqa: PLC0415 - keeps --help quick

    if dry_run:
        return _rehearse(where, output)
    with stopping() as stop, running(where, follow=follow) as shell:
        result = apply_and_report(
            stop.of(shell), max_runtime=max_runtime, wait_for_opening=wait_for_opening
        )
    show(result, output, times_of(shell))
    return exit_code(result)


def _rehearse(where: dict[str, str], output: str) -> int:
    """The first step of a pass, which `status` decides as well. Returns the pass's exit code."""
    from gitbot.execution.executor_types import CreateMigration, SetUnschedulable  # noqa: PLC0415
    from gitbot.workflows.ask import look_at_all  # noqa: PLC0415

    if output != "table":
        raise UsageError("--dry-run prints lines", hint="gitbot status -o json has what waits")
    with running(where) as shell:
        seen, page = look_at_all(shell)
    for stop in page.stops:
        say(f"stopped: {stop.reason}")
    # the base branch's errors and its mode stop a pass, but not the look of `status`
    effects = () if page.stops else seen.steps.effects
    begins = [item.event for item in effects if isinstance(item, CreateMigration)]
    for node in (item for item in effects if isinstance(item, SetUnschedulable)):
        say(f"would {'cordon' if node.unschedulable else 'uncordon'}: {node.node} ({node.request})")
    for event in begins:
        say(f"would start: {event.vm}: {event.source} -> {event.to} ({event.request})")
    for item in seen.steps.waiting:
        until = f" until {format_instant(item.until)}" if item.until else ""
        line = f"waits: {item.vm} ({item.request}, move {item.move}): {item.reason}{until}"
        say(times_of(shell)(line))
    if page.not_read:
        say(f"the cluster could not be read: {page.not_read}", err=True)
        return 2
    if not begins:
        say("nothing would start now")
    for line in page.broken:
        say(line, err=True)
    if page.broken:
        return 1  # as a pass, which ends with these errors
    return 0 if page.healthy else 2


def exit_code(result: ApplyResult) -> int:
    """0 done or waiting, 1 a move failed, 2 a fact or a right is missing, 130 ended on request."""
    if result.interrupted:
        return 130
    if result.failed:
        return 1
    return 2 if result.unsure or result.not_allowed else 0


def show(result: ApplyResult, output: str, times: Callable[[str], str] = str) -> None:
    if output != "table":
        from gitbot.published import PublishedApply, published  # noqa: PLC0415

        click.echo(document_text(published(result, PublishedApply), output), nl=False)
        return
    for line in lines(result):
        say(times(line))


def lines(result: ApplyResult) -> list[str]:
    """What a pass did, and what remains."""
    found = _lines(result)
    if not found or (result.did_nothing and not result.stop):
        found.insert(0, "nothing to do: everything approved is done, or waits")
    return found


def standing(result: ApplyResult) -> list[str]:
    """What waits, or has no effect. The next pass says the same unless something changes."""
    lines = []
    for item in result.waiting:
        until = f" until {format_instant(item.until)}" if item.until else ""
        lines.append(f"waits: {item.vm} ({item.request}, move {item.move}): {item.reason}{until}")
    lines += [f"pull request {item.pull_request}: {item.reason}" for item in result.refused]
    for wish in result.not_planned:
        then = f"; next: {wish.next_command}" if wish.next_command else ""
        lines.append(f"{wish.request}: {wish.reason}{then}")
    return lines + [f"not allowed: {text}" for text in result.not_allowed]


def _group(item: OutdatedGroup) -> str:
    """Most groups have the name of their request."""
    return item.group if item.group == item.request else f"{item.group} of {item.request}"


def _lines(result: ApplyResult) -> list[str]:
    lines = [f"{count} {state}" for state, count in result.states.items()]
    nodes = grouped((item.did, item.node) for item in result.nodes)
    lines += [f"{did}: {first_of(names, _NAMED)}" for did, names in nodes.items()]
    lines += standing(result)
    lines += [f"needs a new plan: {_group(item)}: {item.reasons[0]}" for item in result.stale]
    if result.in_flight:
        lines.append(f"{result.in_flight} running; run again to follow them")
    if result.stop:
        lines.append(f"stopped: {result.stop}")
    if result.interrupted:
        lines.append("ended as asked: the next run goes on")
    elif result.unfinished:
        lines.append("the time of this pass is over: run again to go on")
    return lines
