"""The JSON Schema (2020-12) of the plan document, kept beside its codec."""

from __future__ import annotations

from typing import Any

from gitbot.model.findings import Severity
from gitbot.model.plan import Outcome
from gitbot.model.plan_json import API_VERSION, KIND
from gitbot.model.problem import Pin

_TEXT = {"type": "string"}
_COUNT = {"type": "integer", "minimum": 0}
_INSTANT = {"type": "string", "pattern": r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$"}
_DIGEST = {"type": "string", "pattern": "^(sha256:[0-9a-f]{64})?$"}
_TEXT_MAP = {"type": "object", "additionalProperties": _TEXT}


def plan_schema() -> dict[str, Any]:
    """The schema of `gitbot plan -o json` and of `plans/<digest>.json` in the ledger."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": KIND,
        "description": "A placement plan: ordered moves, holds, rules before and after, waves.",
        **_object(
            apiVersion={"const": API_VERSION},
            kind={"const": KIND},
            cluster=_TEXT,
            digest={"type": "string", "pattern": "^sha256:[0-9a-f]{64}$"},
            expiresAt=_INSTANT,
            inputs=_inputs(),
            limits=_object(
                parallel=_COUNT,
                perSourceNode=_COUNT,
                perTargetNode=_COUNT,
                perZone=_COUNT,
                reserve=_COUNT,
            ),
            moves=_list(_move()),
            holds=_list(_hold()),
            rules=_list(_rule()),
            waves=_list(_object(index=_COUNT, starts=_INSTANT, ends=_INSTANT)),
            bound=_object(moves=_COUNT, seconds=_COUNT),
            manifests=_list({"type": "object", "required": ["apiVersion", "kind", "metadata"]}),
            findings=_list(finding_schema()),
        ),
    }


def finding_schema() -> dict[str, Any]:
    """The schema of one finding."""
    schema = _object(
        code={"type": "string", "pattern": "^[a-z0-9-]+/[a-z0-9-]+$"},
        severity={"enum": [str(severity) for severity in Severity]},
        message=_TEXT,
        file=_TEXT,
        line=_COUNT,
        column=_COUNT,
        keyPath=_TEXT,
        hint=_TEXT,
    )
    return {**schema, "required": ["code", "severity", "message"]}


def finding_list_schema() -> dict[str, Any]:
    """The schema of `-o json` of lint and of policy tests (kind FindingList)."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "FindingList",
        **_object(
            apiVersion={"const": API_VERSION},
            kind={"const": "FindingList"},
            items=_list(finding_schema()),
        ),
    }


def _inputs() -> dict[str, Any]:
    return _object(
        commit=_TEXT,
        intents={"type": "object", "additionalProperties": _DIGEST},
        configuration=_TEXT,
        snapshot=_object(digest=_TEXT, takenAt=_INSTANT),
        engine=_TEXT_MAP,
    )


def _move() -> dict[str, Any]:
    return _object(
        id={"type": "integer", "minimum": 1},
        request=_TEXT,
        group=_TEXT,
        intent=_intent(),
        vm=_vm(),
        **{"from": _node()},
        to=_node(),
        allowedNodes=_list(_TEXT),
        pin={"enum": [str(pin) for pin in Pin]},
        addedNodeSelector=_TEXT_MAP,
        memoryBytes=_COUNT,
        estimatedSeconds=_COUNT,
        wave=_COUNT,
        why=_TEXT,
        checks=_list(
            _object(
                name=_TEXT, outcome={"enum": [str(outcome) for outcome in Outcome]}, message=_TEXT
            )
        ),
    )


def _hold() -> dict[str, Any]:
    return _object(
        request=_TEXT,
        intent=_intent(),
        vm=_vm(),
        code=_TEXT,
        reason=_TEXT,
        hint=_TEXT,
        asked={"type": "boolean"},
        nodes=_list(_object(node=_TEXT, reasons=_list(_TEXT))),
    )


def _rule() -> dict[str, Any]:
    return _object(
        intent=_intent(),
        required={"type": "boolean"},
        before=_COUNT,
        after=_COUNT,
        beforeMessages=_list(_TEXT),
        afterMessages=_list(_TEXT),
    )


def _intent() -> dict[str, Any]:
    return _object(kind=_TEXT, namespace=_TEXT, name=_TEXT, file=_TEXT, line=_COUNT)


def _vm() -> dict[str, Any]:
    return _object(namespace=_TEXT, name=_TEXT, uid=_TEXT)


def _node() -> dict[str, Any]:
    return _object(node=_TEXT, zone=_TEXT)


def _list(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


def _object(**properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
