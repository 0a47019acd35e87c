"""Who else moves VMs now, for the page of `gitbot status`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gitbot.audit import other_movers
from gitbot.model.ledger.request_id import OccurrenceId
from gitbot.workflows.ask.maintenance import NodeStatus
from gitbot.workflows.current_state import CurrentState


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherMover:
    """Somebody else who moves VMs, or is about to: the object that shows it, and what it does."""

    kind: str
    namespace: str
    name: str
    does: str


def movers_beside(
    seen: CurrentState, maintained: Mapping[OccurrenceId, tuple[NodeStatus, ...]]
) -> tuple[OtherMover, ...]:
    """As `gitbot audit` names them, but for nodes that gitbot itself services."""
    ours = {node.record.node for nodes in maintained.values() for node in nodes}
    return tuple(
        OtherMover(
            kind=item.kind,
            namespace=item.name.namespace,
            name=item.name.name,
            does=item.finding.message,
        )
        for item in other_movers(seen.problem.snapshot)
        if item.kind != "Node" or item.name.name not in ours
    )
