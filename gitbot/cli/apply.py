"""`gitbot apply`: carry out everything that is approved, open now and unfinished."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from gitbot.cli.options import output_option
from gitbot.cli.running import running, running_options, say, stopping
from gitbot.model.instants import format_instant

if TYPE_CHECKING:
    from gitbot.workflows.apply import ApplyResult

_NOTHING = "nothing is approved: "

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


@click.command("apply")
@max_runtime_option
@wait_option
@output_option(("table", "json"), "table")
@running_options
def command(where: dict[str, str], max_runtime: int, wait_for_opening: int, output: str) -> int:
    """Carry out everything that is approved, open now and unfinished, whoever merged it.

    Goes on until nothing more can start. What waits for its window waits: exit code 0. A second
    run does nothing. Exit code 1 where a move failed, 130 where somebody asked it to end: what was
    begun stands in the ledger, and the next run goes on.
    """
    from gitbot.workflows.apply import apply  # noqa: PLC0415 - keeps --help quick

    with stopping() as stop, running(where) as shell:
        result = apply(stop.of(shell), max_runtime=max_runtime, wait_for_opening=wait_for_opening)
    show(result, output)
    return exit_code(result)


def exit_code(result: ApplyResult) -> int:
    """0 done or waiting, 1 a move failed, 2 what must be known could not be read, 130 ended."""
    if result.interrupted:
        return 130
    if result.failed:
        return 1
    return 2 if result.unsure else 0


def show(result: ApplyResult, output: str) -> None:
    """Print what a pass did."""
    if output == "json":
        click.echo(json.dumps(apply_json(result), indent=2))
        return
    lines = _lines(result)
    if result.did_nothing or not lines:
        say("nothing to do: everything approved is done, or waits")
    for line in lines:
        say(line)


def _lines(result: ApplyResult) -> list[str]:
    lines = [f"{count} {state}" for state, count in result.states.items()]
    for item in result.waiting:
        until = f" until {format_instant(item.until)}" if item.until else ""
        lines.append(f"waits: {item.vm} ({item.request}, move {item.move}): {item.reason}{until}")
    lines += [
        f"pull request {item.pull_request}: {_NOTHING}{item.reason.removeprefix(_NOTHING)}"
        for item in result.approvals.refused
    ]
    lines += [
        f"proposed anew: {item.group} of {item.request}: {item.reasons[0]}" for item in result.stale
    ]
    if result.in_flight:
        lines.append(f"{result.in_flight} under way; run again to follow them")
    if result.stop:
        lines.append(f"stopped: {result.stop}")
    if result.interrupted:
        lines.append("ended as asked: the next run goes on")
    elif result.unfinished:
        lines.append("the time of this pass is over: run again to go on")
    return lines


def apply_json(result: ApplyResult) -> dict[str, object]:
    """The published document of kind ApplyResult."""
    return {
        "apiVersion": "placement.gitbot.dev/v1alpha1",
        "kind": "ApplyResult",
        "created": result.created,
        "entries": result.entries,
        "states": dict(result.states),
        "inFlight": result.in_flight,
        "stop": result.stop,
        "unfinished": result.unfinished,
        "interrupted": result.interrupted,
        "waiting": [
            {
                "request": item.request,
                "move": item.move,
                "vm": item.vm,
                "reason": item.reason,
                "until": format_instant(item.until) if item.until else "",
            }
            for item in result.waiting
        ],
        "stale": [
            {"request": item.request, "group": item.group, "reasons": list(item.reasons)}
            for item in result.stale
        ],
        "refused": [
            {"pullRequest": item.pull_request, "reason": item.reason}
            for item in result.approvals.refused
        ],
    }
