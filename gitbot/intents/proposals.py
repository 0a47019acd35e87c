"""PlacementProposal files: moves to YAML text that a person can review."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gitbot.documents import write_document
from gitbot.model.ledger.request_id import RequestId
from gitbot.model.plan.plan import Move, NodeRef
from gitbot.model.text.instants import format_instant
from gitbot.model.text.names import API_VERSION, IntentRef


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """The content of a proposal file.

    `concern` is its name; `intent` and `request` (a ledger id) say what the moves are for;
    `occurrence` is the opening of a window, "" without one; `digest` that of the plan; `expires_at`
    in seconds UTC.
    """

    concern: str
    intent: IntentRef
    request: RequestId
    digest: str
    expires_at: int
    moves: tuple[Move, ...]
    occurrence: str = ""


def write_proposal(proposal: Proposal) -> str:
    """The text of a proposal's file. Same proposal, same bytes."""
    intent = {
        "kind": proposal.intent.kind,
        **({"namespace": proposal.intent.namespace} if proposal.intent.namespace else {}),
        "name": proposal.intent.name,
    }
    spec: dict[str, Any] = {"intent": intent, "request": str(proposal.request)}
    if proposal.occurrence:
        spec["occurrence"] = proposal.occurrence
    spec["digest"] = proposal.digest
    spec["expiresAt"] = format_instant(proposal.expires_at)
    spec["moves"] = [_move(move) for move in proposal.moves]
    document = {
        "apiVersion": API_VERSION,
        "kind": "PlacementProposal",
        "metadata": {"name": proposal.concern},
        "spec": spec,
    }
    header = (
        "# Written by gitbot. Merging this file approves exactly these moves, until expiresAt.\n"
        "# Edits are not read: change the intent, and gitbot proposes again.\n"
    )
    return header + write_document(document)


def _move(move: Move) -> Mapping[str, Any]:
    selector = dict(sorted(move.added_node_selector.items()))
    return {
        "id": move.id,
        "vm": {"namespace": move.vm.namespace, "name": move.vm.name, "uid": move.vm.uid},
        "from": _place(move.source),
        "to": _place(move.to),
        **({"why": move.why} if move.why else {}),
        "wave": move.wave,
        "pin": str(move.pin),
        **({"addedNodeSelector": selector} if selector else {}),
        **({"allowedNodes": list(move.allowed_nodes)} if move.allowed_nodes else {}),
        "request": str(move.request),
        "group": move.group,
    }


def _place(place: NodeRef) -> Mapping[str, str]:
    return {"node": place.node, **({"zone": place.zone} if place.zone else {})}
