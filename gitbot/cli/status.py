"""`gitbot status`: what runs, what waits and for what, what failed, and what to type next."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from gitbot.cli.options import output_option
from gitbot.cli.running import running, running_options, say
from gitbot.model.instants import format_instant

if TYPE_CHECKING:
    from gitbot.workflows.status import RequestStatus, StatusResult

_REST = 5


@click.command("status")
@click.argument("request", required=False, default="")
@click.option("-w", "--watch", is_flag=True, help="Show it again when it changes.")
@output_option(("table", "json"), "table")
@running_options
def command(where: dict[str, str], request: str, watch: bool, output: str) -> int:
    """Show requests that are unfinished or ended within a day, or one REQUEST by its ledger id.

    Where the cluster cannot be read, what ledger and forge say is shown, with exit code 2.
    """
    from gitbot.workflows.status import status, status_json  # noqa: PLC0415 - keeps --help quick

    with running(where) as shell:
        last = ""
        while True:
            result = status(shell, request=request)
            text = json.dumps(status_json(result), indent=2) if output == "json" else table(result)
            if text != last:
                click.echo(text) if output == "json" else say(text)
            last = text
            if not watch:
                return 2 if result.not_read else 0
            shell.clock.sleep(_REST)


def table(result: StatusResult) -> str:
    """The status for people."""
    lines = _unread(result.not_read)
    if result.stop:
        lines.append(f"stopped: {result.stop}")
    for item in result.requests:
        lines += _request(item)
    for name, nodes in result.nodes.items():
        lines.append(f"maintenance {name}")
        for node in nodes:
            lines.append(f"  {node.node}: {node.state}")
            left = result.unplanned.get(node.node, ())
            lines += [f"    {vm} is not in the approved plan" for vm in left]
            if node.node in result.to_return and node.state == "ready":
                lines.append(f"    next: gitbot returned {node.node}")
    lines += [f"pull request {pull.number} is open: {pull.title}" for pull in result.pulls]
    lines += list(result.refused)
    for new in result.not_applied:
        merged = f"pull request {new.pull_request} is merged" if new.pull_request else "approved"
        lines.append(f"{merged} ({new.request}); next: {new.next_command}")
    for wish in result.not_planned:
        lines.append(f"{wish.request}: {wish.reason}{_then(wish.next_command)}")
    if result.not_read and len(lines) == len(_unread(result.not_read)):
        lines.append("ledger and forge know of nothing under way")
    return "\n".join(lines) or "nothing is under way, and nothing waits"


def _unread(reason: str) -> list[str]:
    if not reason:
        return []
    return [
        f"the cluster could not be read: {reason}",
        "what follows is from ledger and forge alone; what waits, and for what, is not known",
    ]


def _then(command: str) -> str:
    return f"; next: {command}" if command else ""


def _request(item: RequestStatus) -> list[str]:
    lines = [f"{item.record.id}: {item.record.state}"]
    for move in item.moves:
        record = move.record
        words = f"  {record.number} {record.vm}: {record.source} -> {record.landed or record.to}"
        words += f" {record.state}"
        reason = move.waits or record.reason
        until = f" until {format_instant(move.until)}" if move.until else ""
        lines.append(f"{words}: {reason}{until}" if reason else words)
    if item.next_command:
        lines.append(f"  next: {item.next_command}")
    return lines
