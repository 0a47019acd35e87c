"""Plain JSON data back to a plan; the inverse of `plan_encode`.

Every function raises KeyError, TypeError or ValueError for data of another shape; `plan_json`
turns them into one message.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gitbot.model.instants import parse_instant
from gitbot.model.names import IntentRef
from gitbot.model.plan import (
    Bound,
    Check,
    Hold,
    Move,
    NodeReasons,
    NodeRef,
    Outcome,
    PlacementPlan,
    RuleState,
    SnapshotRef,
    VmRef,
    Wave,
)
from gitbot.model.problem import Limits, Pin

Data = Mapping[str, Any]


def plan(data: Data) -> PlacementPlan:
    """The plan of a whole document."""
    inputs = data["inputs"]
    return PlacementPlan(
        cluster=text(data["cluster"]),
        moves=tuple(move(item) for item in data["moves"]),
        holds=tuple(hold(item) for item in data["holds"]),
        rules=tuple(rule(item) for item in data["rules"]),
        waves=tuple(wave(item) for item in data["waves"]),
        bound=Bound(
            moves=integer(data["bound"]["moves"]), seconds=integer(data["bound"]["seconds"])
        ),
        limits=limits(data["limits"]),
        intents=texts(inputs["intents"]),
        snapshot=SnapshotRef(
            digest=text(inputs["snapshot"]["digest"]),
            taken_at=parse_instant(inputs["snapshot"]["takenAt"]),
        ),
    )


def limits(data: Data) -> Limits:
    """Counts of migrations."""
    return Limits(
        parallel=integer(data["parallel"]),
        per_source_node=integer(data["perSourceNode"]),
        per_target_node=integer(data["perTargetNode"]),
        per_zone=integer(data["perZone"]),
        reserve=integer(data["reserve"]),
    )


def move(data: Data) -> Move:
    """One move."""
    return Move(
        id=integer(data["id"]),
        request=text(data["request"]),
        group=text(data["group"]),
        intent=intent(data["intent"]),
        vm=vm(data["vm"]),
        source=node(data["from"]),
        to=node(data["to"]),
        allowed_nodes=tuple(text(item) for item in data["allowedNodes"]),
        pin=Pin(data["pin"]),
        added_node_selector=texts(data["addedNodeSelector"]),
        memory_bytes=integer(data["memoryBytes"]),
        estimated_seconds=integer(data["estimatedSeconds"]),
        wave=integer(data["wave"]),
        checks=tuple(check(item) for item in data["checks"]),
        why=text(data["why"]),
    )


def check(data: Data) -> Check:
    """One preflight check."""
    return Check(
        name=text(data["name"]), outcome=Outcome(data["outcome"]), message=text(data["message"])
    )


def hold(data: Data) -> Hold:
    """One hold."""
    return Hold(
        request=text(data["request"]),
        intent=intent(data["intent"]),
        vm=vm(data["vm"]),
        code=text(data["code"]),
        reason=text(data["reason"]),
        hint=text(data["hint"]),
        asked=bool(data["asked"]),
        nodes=tuple(
            NodeReasons(
                node=text(item["node"]), reasons=tuple(text(reason) for reason in item["reasons"])
            )
            for item in data["nodes"]
        ),
    )


def rule(data: Data) -> RuleState:
    """One rule before and after."""
    return RuleState(
        intent=intent(data["intent"]),
        required=bool(data["required"]),
        before=integer(data["before"]),
        after=integer(data["after"]),
        before_messages=tuple(text(item) for item in data["beforeMessages"]),
        after_messages=tuple(text(item) for item in data["afterMessages"]),
    )


def wave(data: Data) -> Wave:
    """One wave."""
    return Wave(
        index=integer(data["index"]),
        starts=parse_instant(data["starts"]),
        ends=parse_instant(data["ends"]),
    )


def intent(data: Data) -> IntentRef:
    """Which intent."""
    return IntentRef(
        kind=text(data["kind"]),
        namespace=text(data["namespace"]),
        name=text(data["name"]),
        file=text(data["file"]),
        line=integer(data["line"]),
    )


def vm(data: Data) -> VmRef:
    """One VMI."""
    return VmRef(namespace=text(data["namespace"]), name=text(data["name"]), uid=text(data["uid"]))


def node(data: Data) -> NodeRef:
    """One node and its zone."""
    return NodeRef(node=text(data["node"]), zone=text(data["zone"]))


def text(value: Any) -> str:
    """A JSON string."""
    if not isinstance(value, str):
        raise TypeError(f"found {value!r}, expected text")
    return value


def integer(value: Any) -> int:
    """A JSON integer; true and false are none."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"found {value!r}, expected an integer")
    return value


def texts(value: Any) -> dict[str, str]:
    """A JSON object of strings."""
    return {text(key): text(item) for key, item in value.items()}
