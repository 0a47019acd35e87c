"""The parts of a plan as plain JSON data, in the order of the published schema."""

from __future__ import annotations

from typing import Any

from gitbot.model.instants import format_instant
from gitbot.model.names import IntentRef
from gitbot.model.plan import Hold, Move, NodeRef, PlacementPlan, RuleState, VmRef
from gitbot.model.problem import Limits


def plan_body(plan: PlacementPlan) -> dict[str, Any]:
    """Limits, moves, holds, rules, waves and bound."""
    return {
        "limits": limits(plan.limits),
        "moves": [move(item) for item in plan.moves],
        "holds": [hold(item) for item in plan.holds],
        "rules": [rule(item) for item in plan.rules],
        "waves": [
            {
                "index": wave.index,
                "starts": format_instant(wave.starts),
                "ends": format_instant(wave.ends),
            }
            for wave in plan.waves
        ],
        "bound": {"moves": plan.bound.moves, "seconds": plan.bound.seconds},
    }


def limits(value: Limits) -> dict[str, int]:
    """Counts of migrations."""
    return {
        "parallel": value.parallel,
        "perSourceNode": value.per_source_node,
        "perTargetNode": value.per_target_node,
        "perZone": value.per_zone,
        "reserve": value.reserve,
    }


def move_identity(value: Move) -> dict[str, Any]:
    """The fields of a move that the digest covers."""
    return {
        "id": value.id,
        "request": value.request,
        "vm": vm(value.vm),
        "from": node(value.source),
        "to": node(value.to),
        "pin": str(value.pin),
        "addedNodeSelector": dict(sorted(value.added_node_selector.items())),
        "wave": value.wave,
    }


def move(value: Move) -> dict[str, Any]:
    """One move with its checks."""
    return {
        "id": value.id,
        "request": value.request,
        "group": value.group,
        "intent": intent(value.intent),
        "vm": vm(value.vm),
        "from": node(value.source),
        "to": node(value.to),
        "allowedNodes": list(value.allowed_nodes),
        "pin": str(value.pin),
        "addedNodeSelector": dict(sorted(value.added_node_selector.items())),
        "memoryBytes": value.memory_bytes,
        "estimatedSeconds": value.estimated_seconds,
        "wave": value.wave,
        "why": value.why,
        "checks": [
            {"name": check.name, "outcome": str(check.outcome), "message": check.message}
            for check in value.checks
        ],
    }


def hold(value: Hold) -> dict[str, Any]:
    """One VM that cannot move, with what each node says."""
    return {
        "request": value.request,
        "intent": intent(value.intent),
        "vm": vm(value.vm),
        "code": value.code,
        "reason": value.reason,
        "hint": value.hint,
        "asked": value.asked,
        "nodes": [{"node": item.node, "reasons": list(item.reasons)} for item in value.nodes],
    }


def rule(value: RuleState) -> dict[str, Any]:
    """One rule before and after."""
    return {
        "intent": intent(value.intent),
        "required": value.required,
        "before": value.before,
        "after": value.after,
        "beforeMessages": list(value.before_messages),
        "afterMessages": list(value.after_messages),
    }


def intent(value: IntentRef) -> dict[str, Any]:
    """Which intent; namespace "" for kinds without one, file "" and line 0 where not known."""
    return {
        "kind": value.kind,
        "namespace": value.namespace,
        "name": value.name,
        "file": value.file,
        "line": value.line,
    }


def vm(value: VmRef) -> dict[str, Any]:
    """One VMI by name and UID."""
    return {"namespace": value.namespace, "name": value.name, "uid": value.uid}


def node(value: NodeRef) -> dict[str, Any]:
    """One node and its zone."""
    return {"node": value.node, "zone": value.zone}
