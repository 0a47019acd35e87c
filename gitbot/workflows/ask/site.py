"""What the site of a cluster shows, from one look."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gitbot.intents.calendar_events import Agenda
from gitbot.kubernetes.names import NamespacedName
from gitbot.kubernetes.objects import at, name_of
from gitbot.kubernetes.quantities import whole
from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.model.cluster.free_memory import free_memory
from gitbot.model.grouping import grouped
from gitbot.published import PublishedMap, PublishedMoves, published
from gitbot.published.ledger_lines import line_value
from gitbot.reports.site import SiteDocuments
from gitbot.workflows.ask.calendar_document import calendar_document
from gitbot.workflows.ask.fleet import clusters_listing
from gitbot.workflows.ask.history import Query, history, moves_of, past_move
from gitbot.workflows.ask.listing import listing_document, listing_of
from gitbot.workflows.ask.node_vm_rows import nodes_in
from gitbot.workflows.ask.status import StatusResult, look_at_all
from gitbot.workflows.ask.status_document import status_document
from gitbot.workflows.core.context import RunContext
from gitbot.workflows.core.window_standing import window_standings
from gitbot.workflows.current_state import CurrentState
from gitbot.workflows.ledger.request_history import request_history

_DAY = 86_400
PAST = 30 * _DAY  # of moves
AHEAD = 90 * _DAY  # of openings


def site_documents(shell: RunContext) -> SiteDocuments:
    """Look at ledger, forge and cluster once. Raises as `status`."""
    seen, page = look_at_all(shell)
    return SiteDocuments(
        zone=page.zone,
        healthy=page.healthy,
        clusters=listing_document(
            clusters_listing(seen.base.settings, shell.repository, seen.ledger, now=page.now)
        ),
        status=status_document(page),
        places=_places(seen, page),
        rules=listing_document(listing_of(shell, seen, page, "rules")),
        calendar=calendar_document(
            page.cluster,
            _agenda(seen).events(after=page.now, before=page.now + AHEAD),
            now=page.now,
            span=(page.now, page.now + AHEAD),
        ),
        moves=_moves(seen, page),
    )


def _places(seen: CurrentState, page: StatusResult) -> PublishedMap:
    snapshot = seen.problem.snapshot
    room = {name_of(node).name: _allocatable(node) for node in snapshot.of("Node")}
    free = free_memory(snapshot, room)
    vms = grouped((node, str(vm)) for vm, node in sorted(_runs_on(snapshot)))
    lines: list[Mapping[str, object]] = [
        {
            "node": row.name,
            "zone": row.where,
            "state": row.state,
            "maintenance": row.health.rpartition("; ")[0],  # without the number of VMs
            "vms": vms.get(row.name, ()),
            "allocatable": room[row.name],
            "requested": room[row.name] - free[row.name],
        }
        for row in sorted(nodes_in(seen, page), key=lambda row: (row.where, row.name))
    ]
    fields = {"cluster": page.cluster, "time": page.now, "notRead": page.not_read, "nodes": lines}
    return published(fields, PublishedMap)


def _allocatable(node: object) -> int:
    return whole(at(node, "status", "allocatable", "memory", default=0))


def _runs_on(snapshot: ClusterSnapshot) -> Iterator[tuple[NamespacedName, str]]:
    for instance in snapshot.of("VirtualMachineInstance"):
        yield name_of(instance), at(instance, "status", "nodeName", default="")


def _agenda(seen: CurrentState) -> Agenda:
    revision = seen.base.revision
    past = request_history(seen.ledger, revision.cluster)
    return Agenda(
        intents=revision.intents,
        zone=revision.zone,
        announce=revision.settings.proposals.announce,
        cancelled=past.cancelled,
        finished=past.finished,
        begins=past.begins,
        standings=window_standings(revision, past, now=seen.now),
    )


def _moves(seen: CurrentState, page: StatusResult) -> PublishedMoves:
    since = page.now - PAST
    events = history(seen.ledger, page.cluster, Query(since=since))
    found = [
        past_move(lines, [line_value(line) for line in lines])
        for lines in reversed(moves_of(seen.ledger, events))
    ]
    fields = {"cluster": page.cluster, "time": page.now, "from": since, "items": found}
    return published(fields, PublishedMoves)
