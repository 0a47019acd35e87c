"""Who else moves VMs now, and what is lost, for the page of `gitbot status`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from gitbot.audit import AuditFinding, lost_nodes, other_movers
from gitbot.model.ledger.request_id import OccurrenceId
from gitbot.workflows.ask.maintenance import NodeStatus
from gitbot.workflows.current_state import CurrentState


@dataclass(frozen=True, slots=True, kw_only=True)
class NotedObject:
    """An object of the cluster that a person should know of, and what it does or lacks."""

    kind: str
    namespace: str
    name: str
    does: str


def movers_beside(
    seen: CurrentState, maintained: Mapping[OccurrenceId, tuple[NodeStatus, ...]]
) -> tuple[NotedObject, ...]:
    """As `gitbot audit` names them, but for nodes that gitbot itself services."""
    return _without_ours(other_movers(seen.problem.snapshot), maintained)


def lost_now(
    seen: CurrentState, maintained: Mapping[OccurrenceId, tuple[NodeStatus, ...]]
) -> tuple[NotedObject, ...]:
    """As `movers_beside`: nodes that do not answer or are gone, and launcher pods that wait."""
    return _without_ours(lost_nodes(seen.problem.snapshot), maintained)


def _without_ours(
    found: Iterable[AuditFinding], maintained: Mapping[OccurrenceId, tuple[NodeStatus, ...]]
) -> tuple[NotedObject, ...]:
    ours = {node.record.node for nodes in maintained.values() for node in nodes}
    return tuple(
        NotedObject(
            kind=item.kind,
            namespace=item.name.namespace,
            name=item.name.name,
            does=item.finding.message,
        )
        for item in found
        if item.kind != "Node" or item.name.name not in ours
    )
