"""`gitbot calendar`: when windows open, what freezes them, and a month of it."""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gitbot.cli.shared.options import (
    LISTED,
    ClusterAccess,
    cluster_options,
    load_snapshot,
    now_option,
    output_option,
    read_time,
    scope_options,
)
from gitbot.cli.shared.output import document_text
from gitbot.cli.shared.planning_input import (
    ask_ledger,
    read_here,
    same_cluster,
    texts_of,
)
from gitbot.cli.shared.published_state import newest_published
from gitbot.cli.shared.session import say, stages
from gitbot.errors import InvalidInput, RepositoryError, SnapshotError, UsageError
from gitbot.model.text.instants import format_instant
from gitbot.wiring import find_root

if TYPE_CHECKING:
    from gitbot.calendar import Appointment
    from gitbot.intents import NodesSpec
    from gitbot.intents.calendar_events import Agenda
    from gitbot.kubernetes.selectors import Scope
    from gitbot.model.cluster.cluster import ClusterSnapshot
    from gitbot.model.ledger.ledger import Ledger
    from gitbot.model.progress import PlanningProgress
    from gitbot.workflows.core.revision import Revision

_DAY = 86_400
_SHOWN = 31 * _DAY
_YEAR = 366 * _DAY
_LONGEST = 3_660 * _DAY


@click.command("calendar")
@click.option("--from", "after", metavar="TIME", help="Show from this day or time on.")
@click.option("--until", metavar="TIME", help="Default: 31 days later; with -o ics a year.")
@scope_options
@click.option("--cluster", default="", metavar="NAME", help="Which cluster of the configuration.")
@click.option("--rev", default="", metavar="REV", help="Read this revision, not the working tree.")
@cluster_options
@output_option((*LISTED, "ics"), "table")
@now_option
def calendar(
    *,
    after: str | None,
    until: str | None,
    scope: Scope,
    cluster: str,
    rev: str,
    access: ClusterAccess,
    output: str,
    now: int,
) -> int:
    """Show when windows open next, what freezes them, which requests may run, and a month of it.

    The times are those of each schedule's own zone; the month is in the cluster's. A day alone, as
    2026-12-06, begins at its midnight in the cluster's zone. -o wide and json list every opening,
    the table the next of each. It counts the nodes of a window, and names those that a window names
    and the cluster does not have: in the snapshot that reconcile published, or in what --snapshot,
    --context or --kubeconfig name.
    """
    with stages("reading the repository") as progress:
        root = find_root(Path.cwd())
        revision = _revision(root, rev, cluster)
        span = _span(after, until, revision.zone or "UTC", now=now, output=output)
        human = output in ("table", "wide")
        ledger = ask_ledger(root, now=now, rev=rev, human=human, onlooker=progress)
        snapshot = _snapshot(root, revision, access, now, progress, asked=bool(cluster))
        count = _counting(revision, snapshot)
        agenda = _agenda(revision, ledger, scope, count, now)
        progress.begins("looking for openings")
        text = _shown(agenda, output, cluster=revision.cluster, now=now, span=span)
    click.echo(text, nl=False)
    return 0


def _agenda(
    revision: Revision,
    ledger: Ledger,
    scope: Scope,
    count: Callable[[NodesSpec], int | None],
    now: int,
) -> Agenda:
    from gitbot.intents.calendar_events import Agenda  # noqa: PLC0415 - keeps --help quick
    from gitbot.workflows.core.window_standing import window_standings  # noqa: PLC0415
    from gitbot.workflows.ledger.request_history import request_history  # noqa: PLC0415

    past = request_history(ledger, revision.cluster)
    return Agenda(
        intents=revision.intents,
        zone=revision.zone,
        announce=revision.settings.proposals.announce,
        scope=scope,
        cancelled=past.cancelled,
        finished=past.finished,
        begins=past.begins,
        count=count,
        standings=window_standings(revision, past, now=now),
    )


def _shown(
    agenda: Agenda, output: str, *, cluster: str, now: int, span: tuple[int, int]
) -> str | bytes:
    begin, end = span
    events = agenda.events(after=begin, before=end)
    if output in ("json", "yaml"):
        from gitbot.workflows.ask import calendar_document  # noqa: PLC0415 - keeps --help quick

        return document_text(calendar_document(cluster, events, now=now, span=span), output)
    if output == "name":
        names = dict.fromkeys(f"{event.kind}/{event.name}" for event in events)
        return "".join(f"{name}\n" for name in names)
    if output == "ics":
        from gitbot.calendar import calendar_file  # noqa: PLC0415 - keeps --help quick

        return calendar_file(events, cluster=cluster, now=now)
    shown = events if output == "wide" else agenda.upcoming(now=begin)
    return _table(shown, now) + _months(agenda, begin, end)


def _span(
    after: str | None, until: str | None, zone: str, *, now: int, output: str
) -> tuple[int, int]:
    begin = read_time("--from", after, zone, now=now, day_begins=True) if after else now
    end = (
        read_time("--until", until, zone, now=now, day_begins=True)
        if until
        else begin + (_YEAR if output == "ics" else _SHOWN)
    )
    if not begin < end <= begin + _LONGEST:
        raise UsageError(
            f"found --until {format_instant(end)} and --from {format_instant(begin)}, "
            "expected an end after the start and within ten years",
            hint="give another --until",
        )
    return begin, end


def _revision(root: Path, rev: str, cluster: str) -> Revision:
    from gitbot.intents import stops  # noqa: PLC0415 - keeps --help quick
    from gitbot.reports import text  # noqa: PLC0415
    from gitbot.workflows.core.revision import Revision  # noqa: PLC0415

    read = read_here(root, texts_of(root, rev), cluster)
    findings = read.findings if isinstance(read, Revision) else read
    errors = [each for each in findings if stops(each)]
    if errors or not isinstance(read, Revision):
        raise InvalidInput(text(errors).rstrip())
    for item in read.broken:
        say(item.words, err=True)
    return read


def _snapshot(
    root: Path,
    revision: Revision,
    access: ClusterAccess,
    now: int,
    onlooker: PlanningProgress,
    *,
    asked: bool,
) -> ClusterSnapshot | None:
    """The named cluster, else the published one; None if it is not needed or not there."""
    configured = revision.settings.cluster(revision.cluster)
    context = configured.context if configured else ""
    if access.snapshots or access.published or access.context or access.kubeconfig:
        named = access.of(name=revision.cluster, context=context)
        snapshot = load_snapshot(named, now=now, onlooker=onlooker)
        if not asked:
            same_cluster(snapshot, revision.cluster, context)
        return snapshot
    if not revision.intents.maintenance_windows:
        return None
    from gitbot.wiring.workspace import repository_here  # noqa: PLC0415 - Git only where used

    try:
        return newest_published(root, repository_here(root), revision.cluster, now=now)[0]
    except (RepositoryError, SnapshotError):  # without Git, or nothing is published
        return None


def _counting(
    revision: Revision, snapshot: ClusterSnapshot | None
) -> Callable[[NodesSpec], int | None]:
    """How many nodes a window has; nobody knows without a snapshot."""
    if snapshot is None:
        return lambda _nodes: None
    from gitbot.constraints.moves.instances import Instances  # noqa: PLC0415 - keeps --help quick
    from gitbot.intents.compile import nodes_of  # noqa: PLC0415
    from gitbot.workflows.ask import missing_nodes  # noqa: PLC0415

    for intent, _ in revision.intents.maintenance_windows:
        if gone := missing_nodes(intent, snapshot):
            say(f"window {intent.ref.name}: {gone} ({intent.ref.where})", err=True)
    instances = Instances.of(snapshot)
    return lambda nodes: len(nodes_of(nodes, instances))


def _table(events: Collection[Appointment], now: int) -> str:
    from gitbot.calendar import appointment_words  # noqa: PLC0415 - keeps --help quick
    from gitbot.reports import columns  # noqa: PLC0415

    if not events:
        say("no window, freeze or request is ahead", err=True)
    rows = [[event.kind, event.name, appointment_words(event, now=now)] for event in events]
    return columns(["KIND", "NAME", "WHEN"], rows)


def _months(agenda: Agenda, begin: int, end: int) -> str:
    """Whole months, as an unmarked day reads as a day on which nothing is open."""
    from gitbot.calendar import day_start, following_month, month_text, months  # noqa: PLC0415

    zone = agenda.zone or "UTC"
    shown = months(begin, end, zone)
    last = day_start(following_month(shown[-1]).isoformat(), zone)
    events = agenda.events(after=day_start(shown[0].isoformat(), zone), before=last)
    texts = [month_text(events, first, zone) for first in shown]
    return "\n" + "\n".join(texts) + "\nW a window is open, F a freeze, R a request may run\n"
