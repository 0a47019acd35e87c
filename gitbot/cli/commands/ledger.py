"""`gitbot ledger`: who moved what, when and why; and whether the record is complete."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from gitbot.cli.shared.options import LISTED, output_option, read_past, scope_options
from gitbot.cli.shared.output import document_text
from gitbot.cli.shared.session import open_read_only, running, running_options, say
from gitbot.errors import UsageError
from gitbot.model.text.instants import FOREVER, format_instant
from gitbot.wiring import SystemClock

if TYPE_CHECKING:
    from gitbot.kubernetes.selectors import Scope
    from gitbot.model.ledger.events import LedgerEvent
    from gitbot.workflows.ask import Query

# of -o wide: field -> title
_MORE = {
    "move": "MOVE",
    "attempt": "ATTEMPT",
    "vmUid": "VM UID",
    "pullRequest": "PULL REQUEST",
    "author": "AUTHOR",
    "approvers": "APPROVERS",
    "merger": "MERGER",
    "commit": "COMMIT",
    "digest": "DIGEST",
    "note": "NOTE",
}
_COLUMNS = ("time", "state", "request", "vm", "from", "to", "landed", "by", "reason")
_MOVE_COLUMNS = ("vm", "from", "to", "took", "state", "by", "pull request", "why", "request")
_STATE, _WHY = (1 + _MOVE_COLUMNS.index(title) for title in ("state", "why"))
_CELL = 80  # characters of state or why in the table of moves; -o wide shows all
# of -o csv, after those above: who wrote, reviewed and merged what
_AUDITED = ("author", "approvers", "merger", "pullRequest", "commit", "digest", "migration")


class _Showing(click.Group):
    """Takes `ledger --since 30d` as `ledger show --since 30d`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ours = not args or not args[0].startswith("-") or args[0] in ctx.help_option_names
        return super().parse_args(ctx, args if ours else ["show", *args])


@click.group("ledger", cls=_Showing)
def ledger() -> None:
    """The append-only record on branch gitbot/ledger."""


@ledger.command("show")
@click.option("--since", metavar="TIME", help="From this time on: 30d, last month, 2026-11-01.")
@click.option("--until", metavar="TIME", help="Before this time: this month.")
@click.option("--vm", default="", metavar="NAME", help="NAME or NAMESPACE/NAME of a VM.")
@click.option("--node", default="", metavar="NAME", help="Moves from or to this node.")
@click.option("--by", default="", metavar="NAME", help="Author, approver or merger.")
@click.option("--reason", default="", metavar="TEXT", help="Reasons that contain this text.")
@click.option("--all", "everything", is_flag=True, help="Every line, not moves alone.")
@scope_options
@output_option((*LISTED, "csv"), "table")
@running_options
def show(
    *,
    where: dict[str, str],
    output: str,
    everything: bool,
    scope: Scope,
    **wanted: str | None,
) -> int:
    """Who moved what and why: a row for each move, in the cluster's time, as of its last entry.

    With --all, and in csv, json and yaml, it shows each entry.

    -l reads the labels of the VMIs from the cluster as it is now: VMs that are gone have none.
    """
    from gitbot.model.text.wording import nearest  # noqa: PLC0415 - keeps --help quick
    from gitbot.workflows.ask import (  # noqa: PLC0415
        Query,
        history,
        moves_of,
        of_labels,
        unknown_names,
    )

    query = Query(
        vm=wanted["vm"] or "",
        node=wanted["node"] or "",
        by=wanted["by"] or "",
        reason=wanted["reason"] or "",
        everything=everything,
        namespace=scope.namespace,
    )
    with open_read_only(where, human=output in ("table", "wide")) as (shell, stale):
        query = _between(query, wanted["since"], wanted["until"], shell.zone)
        whole = shell.ledger_store.read()
        events = history(whole, shell.cluster_name, query)
        if scope.labels is not None:
            events = of_labels(events, shell.cluster.snapshot(), scope.labels)
        name, zone = shell.cluster_name, shell.zone
    if output in ("table", "wide") and not everything:
        moves = moves_of(whole, events, until=query.until)
        click.echo(_rows_of_moves(moves, zone, wide=output == "wide"), nl=False)
    else:
        click.echo(_shown(events, output, zone), nl=False)
    for word, known in unknown_names(whole, name, query):
        near = nearest(word, known)
        say(f"no entry names {word}{f'; did you mean {near}?' if near else ''}", err=True)
    return 2 if stale else 0


def _between(query: Query, since: str | None, until: str | None, zone: str) -> Query:
    now = SystemClock().now()
    begin = read_past("--since", since, zone, now=now) if since else 0
    end = read_past("--until", until, zone, now=now) if until else FOREVER
    if end <= begin:
        raise UsageError("no time lies between --since and --until", hint="give a later --until")
    return replace(query, since=begin, until=end)


@ledger.command("verify")
@running_options
def verify(where: dict[str, str]) -> int:
    """Check the chain of all lines, the plans, and the last line against its anchors.

    Exit code 2 if lines are missing, changed or out of order.
    """
    from gitbot.model.text.wording import counted  # noqa: PLC0415 - keeps --help quick
    from gitbot.workflows.ask import verified  # noqa: PLC0415

    with running(where) as shell:
        ledger, anchor = verified(shell)
    if anchor.trouble:
        say(f"not compared with the cluster: {anchor.trouble}", err=True)
    size = f"{counted(len(ledger.events), 'line')}, {counted(len(ledger.plans), 'plan')}"
    by = f"anchored by {' and '.join(anchor.known)}" if anchor.known else "without an anchor"
    click.echo(f"{size}: whole, {by}")
    return 0


@ledger.command("prove")
@click.argument("request")
@running_options
def prove(where: dict[str, str], request: str) -> int:
    """Print the chain of a request from intent to migrations, verified against the repository.

    It needs no cluster, and without the forge it reads what the clone last fetched. Exit code 1 if
    a step does not hold.
    """
    from gitbot.workflows.ask import prove  # noqa: PLC0415 - keeps --help quick

    with open_read_only(where, human=True) as (shell, _):
        links = prove(shell, request)
    for link in links:
        say(f"WRONG {link.text}: {link.wrong}" if link.wrong else f"ok    {link.text}")
    return 1 if any(link.wrong for link in links) else 0


@ledger.command("adopt")
@click.option("--former", default="", metavar="NAME", help="The cluster's name until now.")
@click.option("--new", "as_new", is_flag=True, help="The cluster had no other name.")
@running_options
def adopt(where: dict[str, str], former: str, as_new: bool) -> int:
    """Go on with this ledger after cluster or repository got a new name or address.

    What is finished under the former name stays finished. A second repository on a cluster is
    accepted by this, too. Exit code 2 if nothing changed.
    """
    from gitbot.model.text.wording import counted  # noqa: PLC0415 - keeps --help quick
    from gitbot.workflows.ledger.adopt import adopt  # noqa: PLC0415

    if former and as_new:
        raise UsageError("give --former or --new, not both")
    with running(where) as shell:
        done = adopt(shell, former=former, as_new=as_new)
        name, cluster = shell.ledger_name, shell.cluster_name
    if done.former:
        lines = counted(done.lines, "line")
        say(f"{cluster} was {done.former}: {lines} written under its new name")
    for repository in done.repositories:
        say(f"goes on with the ledger of {repository}: a gitbot there stops")
    say(f"adopted: the cluster knows ledger {name} as that of {cluster}")
    return 0


def _rows_of_moves(moves: Sequence[Sequence[LedgerEvent]], zone: str, *, wide: bool) -> str:
    from gitbot.model.text.wording import shortened  # noqa: PLC0415 - keeps --help quick
    from gitbot.reports import columns  # noqa: PLC0415

    head = [f"TIME ({zone})", *map(str.upper, _MOVE_COLUMNS)]
    more = [key for key in _MORE if key not in ("pullRequest", "note")] if wide else []
    rows = [_row_of_move(lines, zone, more) for lines in moves]
    for row in rows if not wide else ():
        row[_STATE], row[_WHY] = shortened(row[_STATE], _CELL), shortened(row[_WHY], _CELL)
    return columns([*head, *(_MORE[key] for key in more)], rows) or "no move\n"


def _row_of_move(lines: Sequence[LedgerEvent], zone: str, more: Sequence[str]) -> list[str]:
    from gitbot.calendar import format_duration, local_text  # noqa: PLC0415 - keeps --help quick
    from gitbot.published.ledger_lines import line_value  # noqa: PLC0415
    from gitbot.workflows.ask import past_move  # noqa: PLC0415

    values = [line_value(line) for line in lines]
    move = past_move(lines, values)
    known = {key: value for line in values for key, value in line.items()}
    return [
        local_text(move.time, zone),
        move.vm,
        move.source,
        move.to,
        format_duration(move.seconds) if move.seconds else "",
        ": ".join(filter(None, (move.state, move.reason))),
        move.by,
        f"#{move.pull_request}" if move.pull_request else "",
        move.why,
        move.request,
        *(_cell(known.get(key, "")) for key in more),
    ]


def _state(event: LedgerEvent) -> str:
    """An unknown event of a newer gitbot shows its state with a question mark."""
    from gitbot.model.ledger.events import UnknownEvent  # noqa: PLC0415 - keeps --help quick

    return f"{event.state}?" if isinstance(event, UnknownEvent) else str(event.state)


def _shown(events: Sequence[LedgerEvent], output: str, zone: str) -> str:
    from gitbot.published import published  # noqa: PLC0415 - keeps --help quick
    from gitbot.published.ledger_lines import LedgerEntryList, line_value  # noqa: PLC0415
    from gitbot.reports import columns, escape  # noqa: PLC0415

    lines = [line_value(event) for event in events]
    if output in ("json", "yaml"):
        both = zip(events, lines, strict=True)
        items = [{"file": event.file, **line} for event, line in both]
        return document_text(published({"items": items}, LedgerEntryList), output)
    rows = [_row(event, line) for event, line in zip(events, lines, strict=True)]
    if output == "name":
        return "".join(f"{escape.plain(it)}\n" for it in dict.fromkeys(row[2] for row in rows))
    more = {"csv": _AUDITED, "wide": tuple(_MORE)}.get(output, ())
    every = [
        [*row, *(_cell(line.get(key, "")) for key in more)]
        for row, line in zip(rows, lines, strict=True)
    ]
    if output == "csv":
        text = io.StringIO()
        cells = [map(escape.cell, row) for row in every]
        csv.writer(text, lineterminator="\n").writerows([(*_COLUMNS, *_AUDITED), *cells])
        return text.getvalue()
    from gitbot.calendar import local_text  # noqa: PLC0415 - keeps --help quick

    for event, row in zip(events, every, strict=True):
        row[0] = local_text(event.time, zone)  # a program reads the instants of csv, json and yaml
    head = [f"TIME ({zone})", *map(str.upper, _COLUMNS[1:]), *(_MORE[key] for key in more)]
    return columns(head, every) or "no entry\n"


def _cell(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _row(event: LedgerEvent, line: Mapping[str, Any]) -> tuple[str, ...]:
    shown = ("vm", "from", "to", "landed")
    return (
        format_instant(event.time),
        _state(event),
        str(line.get("request", event.file)),
        *(str(line.get(key, "")) for key in shown),
        str(line.get("merger") or line.get("author", "")),
        str(line.get("reason", "")),
    )
