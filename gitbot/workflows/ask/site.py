"""What the site of a cluster shows, from one look."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import NoReturn

from gitbot.errors import LimitExceeded
from gitbot.intents.calendar_events import Agenda
from gitbot.kubernetes.names import NamespacedName
from gitbot.kubernetes.objects import at, name_of
from gitbot.kubernetes.quantities import whole
from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.model.cluster.free_memory import free_memory
from gitbot.model.grouping import grouped
from gitbot.model.ledger.request_id import RequestId
from gitbot.model.plan.problem import PlacementProblem
from gitbot.model.text.canonical import digest
from gitbot.published import PublishedMap, PublishedMoves, published
from gitbot.published.ledger_lines import line_value
from gitbot.reports.site import SiteDocuments
from gitbot.workflows.ask.board import board
from gitbot.workflows.ask.calendar_document import calendar_document
from gitbot.workflows.ask.fleet import clusters_listing
from gitbot.workflows.ask.history import Query, history, moves_of, past_move
from gitbot.workflows.ask.listing import listing_document, listing_of
from gitbot.workflows.ask.node_vm_rows import nodes_in
from gitbot.workflows.ask.open_plans import open_plans
from gitbot.workflows.ask.status import StatusResult, look_at_all, whole_status
from gitbot.workflows.ask.status_document import status_document
from gitbot.workflows.audit import AuditResult, audit_document, run_audit
from gitbot.workflows.core.base_branch import readable_base
from gitbot.workflows.core.context import RunContext
from gitbot.workflows.core.window_standing import window_standings
from gitbot.workflows.current_state import CurrentState
from gitbot.workflows.ledger.request_history import request_history
from gitbot.workflows.propose import PassView

_DAY = 86_400
PAST = 30 * _DAY  # of moves
AHEAD = 90 * _DAY  # of openings


def site_documents(shell: RunContext) -> SiteDocuments:
    """Look at ledger, forge and cluster once. Raises as `status`."""
    return _documents(shell, *look_at_all(shell))


def documents_of_pass(shell: RunContext, view: PassView) -> SiteDocuments:
    """The same from what a pass saw. It asks neither cluster nor forge, and plans nothing."""
    quiet = replace(shell, plan_apart=_as_said(view.reasons))
    opened = tuple(shell.pulls_seen)
    page = whole_status(quiet, view.seen, readable_base(quiet, view.seen.base.commit), opened)
    return _documents(quiet, view.seen, page)


def _as_said(reasons: Mapping[RequestId, str]) -> Callable[..., NoReturn]:
    """In place of the planner: what the pass said of a request."""

    def plan(problem: PlacementProblem, *_: object) -> NoReturn:
        requests = (goal.request.id for goal in problem.goals)
        said = next((reasons[name] for name in requests if reasons.get(name)), "")
        raise LimitExceeded(said or "the last pass did not plan it")

    return plan


def _documents(shell: RunContext, seen: CurrentState, page: StatusResult) -> SiteDocuments:
    return SiteDocuments(
        zone=page.zone,
        source=shell.source.replace("{commit}", seen.base.commit),
        healthy=page.healthy,
        clusters=listing_document(
            clusters_listing(seen.base.settings, shell.repository, seen.ledger, now=page.now)
        ),
        status=status_document(page),
        places=_places(seen, page),
        board=board(seen, page),
        plans=open_plans(seen, page),
        rules=listing_document(listing_of(shell, seen, page, "rules")),
        audit=audit_document(_audited(seen)),
        calendar=calendar_document(
            page.cluster,
            _agenda(seen).events(after=page.now, before=page.now + AHEAD),
            now=page.now,
            span=(page.now, page.now + AHEAD),
        ),
        moves=_moves(seen, page),
    )


def _audited(seen: CurrentState) -> AuditResult:
    snapshot = seen.problem.snapshot
    if seen.unread:  # of nothing, nothing is wrong
        why, none = (f"the cluster: {seen.unread}",), digest({})
        return AuditResult(
            cluster=snapshot.cluster,
            now=seen.now,
            taken_at=seen.now,
            snapshot=none,
            findings=(),
            unasked=why,
        )
    return run_audit(snapshot, now=seen.now, revision=seen.base.revision, ledger=seen.ledger)


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
