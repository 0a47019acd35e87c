"""`gitbot ledger`: who moved what, when and why; and whether the record is whole."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

from gitbot.cli.options import output_option
from gitbot.cli.running import running, running_options
from gitbot.model.instants import FOREVER, format_instant, parse_instant

if TYPE_CHECKING:
    from gitbot.model.ledger import Entry

_COLUMNS = ("time", "state", "request", "vm", "from", "to", "landed", "by", "reason")


@click.group("ledger")
def command() -> None:
    """The append-only record on branch gitbot/ledger."""


@command.command("show")
@click.option("--since", metavar="TIME", help="From this time on, such as 2026-10-01T00:00:00Z.")
@click.option("--until", metavar="TIME", help="Before this time.")
@click.option("--vm", default="", metavar="NAME", help="NAME or NAMESPACE/NAME of a VM.")
@click.option("--node", default="", metavar="NAME", help="Moves from or to this node.")
@click.option("--by", default="", metavar="NAME", help="Author, approver or merger.")
@click.option("--reason", default="", metavar="TEXT", help="Reasons that contain this text.")
@click.option("--all", "everything", is_flag=True, help="Every line, not moves alone.")
@output_option(("table", "csv", "json"), "table")
@running_options
def show(where: dict[str, str], output: str, everything: bool, **wanted: str | None) -> int:
    """Who moved what and why."""
    from gitbot.workflows.history import Query, history  # noqa: PLC0415 - keeps --help quick

    query = Query(
        since=_instant(wanted["since"], 0),
        until=_instant(wanted["until"], FOREVER),
        vm=wanted["vm"] or "",
        node=wanted["node"] or "",
        by=wanted["by"] or "",
        reason=wanted["reason"] or "",
        everything=everything,
    )
    with running(where) as shell:
        entries = history(shell.ledger_store.read(), shell.cluster_name, query)
    click.echo(_shown(entries, output), nl=False)
    return 0


@command.command("verify")
@running_options
def check(where: dict[str, str]) -> int:
    """Check the hash chain of the whole ledger.

    Exit code 2 where lines are missing, changed or out of order.
    """
    from gitbot.reports.diff import counted  # noqa: PLC0415 - keeps --help quick

    with running(where) as shell:
        ledger = shell.ledger_store.read()  # raises LedgerError
    lines = counted(len(ledger.entries), "line")
    click.echo(f"{lines}, {counted(len(ledger.plans), 'plan')}: whole")
    return 0


def _instant(text: str | None, default: int) -> int:
    if not text:
        return default
    try:
        return parse_instant(text)
    except ValueError as error:
        raise click.BadParameter(
            f"found {text!r}, expected a time such as 2026-12-06T21:00:00Z"
        ) from error


def _shown(entries: Iterable[Entry], output: str) -> str:
    from gitbot.model.ledger_json import entry_value  # noqa: PLC0415

    if output == "json":
        document = {
            "apiVersion": "placement.gitbot.dev/v1alpha1",
            "kind": "LedgerEntryList",
            "items": [{"file": entry.file, **entry_value(entry)} for entry in entries],
        }
        return json.dumps(document, indent=2) + "\n"
    rows = [_row(entry) for entry in entries]
    if output == "csv":
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows([_COLUMNS, *rows])
        return text.getvalue()
    from gitbot.reports import columns  # noqa: PLC0415

    return columns(_COLUMNS, rows) or "no entry\n"


def _row(entry: Entry) -> tuple[str, ...]:
    return (
        format_instant(entry.time),
        entry.state,
        entry.request or entry.file,
        entry.vm,
        entry.source,
        entry.to,
        entry.landed,
        entry.merger or entry.author,
        entry.reason,
    )
