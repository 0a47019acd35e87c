"""One move of a plan, where only its ends matter."""

from typing import Any

from gitbot.model.ledger.request_id import RequestId
from gitbot.model.plan.plan import Move, NodeRef, VmRef
from gitbot.model.plan.problem import Pin
from gitbot.model.text.names import IntentRef


def a_move(
    vm: str, source: str, to: str, *, number: int = 1, zone: str = "", **fields: Any
) -> Move:
    known: dict[str, Any] = {
        "id": number,
        "request": RequestId.read("request/db/one"),
        "group": "request/db/one",
        "intent": IntentRef(kind="MigrationRequest", namespace="db", name="one"),
        "vm": VmRef(namespace="db", name=vm, uid=f"uid-{vm}"),
        "source": NodeRef(node=source, zone=zone),
        "to": NodeRef(node=to, zone=zone),
        "allowed_nodes": (to,),
        "pin": Pin.NODE,
        "added_node_selector": {"kubernetes.io/hostname": to},
        "memory_bytes": 1,
        "estimated_seconds": 30,
        "wave": 0,
    }
    return Move(**{**known, **fields})
