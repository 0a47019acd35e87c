"""All clusters of a repository, from what is published there. It opens no cluster."""

from __future__ import annotations

from collections.abc import Iterator

from gitbot.execution.request_records import RequestState, fold_requests
from gitbot.model.ledger.ledger import Ledger
from gitbot.ports.repository import Repository
from gitbot.settings import Settings
from gitbot.workflows.ask.listing import Listing
from gitbot.workflows.ask.node_vm_rows import Row
from gitbot.workflows.core.published_snapshots import snapshot_branch
from gitbot.workflows.core.stop_conditions import ledger_stop

RECENT = 86_400  # seconds that a failed request counts


def clusters_listing(
    settings: Settings, repository: Repository, ledger: Ledger, *, now: int
) -> Listing:
    """A row for each cluster of the configuration, sorted by name.

    Its time is when the cluster's bot last published a snapshot.
    """
    names = sorted(settings.cluster_names)
    rows = tuple(_row(name, settings, repository, ledger, now=now) for name in names)
    return Listing(kind="clusters", cluster="", now=now, zone="UTC", rows=rows)


def _row(
    cluster: str, settings: Settings, repository: Repository, ledger: Ledger, *, now: int
) -> Row:
    head = repository.resolve(snapshot_branch(cluster))
    since = repository.commit(head).time if head else 0
    counts = dict(_counts(ledger, cluster, now=now))
    state = "running" if counts["run"] else "waiting" if counts["wait"] else "idle"
    health = [f"{number} {word}" for word, number in counts.items() if number]
    if stop := ledger_stop(ledger, cluster):
        state, health = "stopped", [stop, *health]
    if settings.publish_snapshot and now - since > settings.snapshot_max_age:
        state = "not seen"
        health.append("its bot publishes no snapshot" if since else "no snapshot was published")
    if errors := settings.unread.get(cluster, ()):
        state, health = "stopped", [*(str(finding) for finding in errors), *health]
    return Row(
        kind="Cluster",
        namespace="",
        name=cluster,
        state=state,
        health="; ".join(health),
        since=since,
    )


def _counts(ledger: Ledger, cluster: str, *, now: int) -> Iterator[tuple[str, int]]:
    records = fold_requests(ledger, cluster).values()
    moves = [move for record in records for move in record.moves.values() if not move.final]
    running = sum(move.in_flight for move in moves)
    yield "run", running
    yield "wait", len(moves) - running
    yield (
        "failed within a day",
        sum(
            record.state is RequestState.FAILED and now - record.changed_at <= RECENT
            for record in records
        ),
    )
