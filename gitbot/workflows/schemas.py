"""JSON Schemas (2020-12) of what the commands print that read or change the world."""

from __future__ import annotations

from typing import Any

from gitbot.model.diagnosis import Health
from gitbot.model.ledger import MoveState
from gitbot.model.plan_json import API_VERSION

_TEXT = {"type": "string"}
_COUNT = {"type": "integer", "minimum": 0}
_FLAG = {"type": "boolean"}
_INSTANT = {"type": "string", "pattern": r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$"}
_MAYBE_INSTANT = {"anyOf": [_INSTANT, {"const": ""}]}


def _object(**properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": sorted(properties),
        "additionalProperties": False,
    }


def _list(items: Any) -> dict[str, Any]:
    return {"type": "array", "items": items}


def _document(kind: str, description: str, **properties: Any) -> dict[str, Any]:
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": kind,
        "description": description,
        **_object(apiVersion={"const": API_VERSION}, kind={"const": kind}, **properties),
    }


def apply_schema() -> dict[str, Any]:
    """The schema of `gitbot apply -o json`."""
    waiting = _object(request=_TEXT, move=_COUNT, vm=_TEXT, reason=_TEXT, until=_MAYBE_INSTANT)
    return _document(
        "ApplyResult",
        "What one pass of apply did.",
        created=_COUNT,
        entries=_COUNT,
        states={"type": "object", "additionalProperties": _COUNT},
        inFlight=_COUNT,
        stop=_TEXT,
        unfinished=_FLAG,
        interrupted=_FLAG,
        waiting=_list(waiting),
        stale=_list(_object(request=_TEXT, group=_TEXT, reasons=_list(_TEXT))),
        refused=_list(_object(pullRequest=_COUNT, reason=_TEXT)),
    )


def propose_schema() -> dict[str, Any]:
    """The schema of `gitbot propose -o json`."""
    concern = _object(concern=_TEXT, action=_TEXT, pullRequest=_COUNT, digest=_TEXT, reason=_TEXT)
    return _document(
        "ProposeResult", "What one run of propose did, by concern.", concerns=_list(concern)
    )


def reconcile_schema() -> dict[str, Any]:
    """The schema of `gitbot reconcile -o json`."""
    return _document(
        "ReconcileResult",
        "What one pass of reconcile did.",
        proposed=propose_schema(),
        applied=apply_schema(),
    )


def comment_schema() -> dict[str, Any]:
    """The schema of `gitbot comment -o json`."""
    from gitbot.workflows.comments.answer import Outcome  # noqa: PLC0415 - a schema is light
    from gitbot.workflows.comments.grammar import Verb  # noqa: PLC0415

    return _document(
        "CommentResult",
        "What became of one comment. With startPass somebody should start a pass now.",
        number=_COUNT,
        comment=_COUNT,
        verb={"enum": ["", *(str(verb) for verb in Verb)]},
        outcome={"enum": [str(outcome) for outcome in Outcome]},
        text=_TEXT,
        startPass=_FLAG,
    )


def status_schema() -> dict[str, Any]:
    """The schema of `gitbot status -o json`."""
    move = _object(
        id=_COUNT,
        vm=_TEXT,
        **{"from": _TEXT},
        to=_TEXT,
        state={"enum": [str(state) for state in MoveState]},
        landed=_TEXT,
        reason=_TEXT,
        waits=_TEXT,
        until=_MAYBE_INSTANT,
    )
    node = _object(node=_TEXT, state=_TEXT, since=_INSTANT, unplanned=_list(_TEXT), next=_TEXT)
    return _document(
        "Status",
        "What runs, what waits and for what, what failed. With notRead the cluster could not be "
        "read: what waits, and for what, is not known.",
        cluster=_TEXT,
        time=_INSTANT,
        notRead=_TEXT,
        stop=_TEXT,
        requests=_list(_object(id=_TEXT, state=_TEXT, next=_TEXT, moves=_list(move))),
        maintenance=_list(_object(window=_TEXT, occurrence=_TEXT, nodes=_list(node))),
        pullRequests=_list(_object(number=_COUNT, title=_TEXT, branch=_TEXT)),
        refused=_list(_TEXT),
        notApplied=_list(_object(pullRequest=_COUNT, request=_TEXT, next=_TEXT)),
        notPlanned=_list(_object(request=_TEXT, reason=_TEXT, next=_TEXT)),
    )


def diagnosis_schema() -> dict[str, Any]:
    """The schema of `gitbot doctor -o json`."""
    outcome = {"enum": [str(health) for health in Health]}
    check = _object(name=_TEXT, outcome=outcome, message=_TEXT, fix=_TEXT)
    return _document(
        "Diagnosis", "What works and what does not, each failure with its fix.", checks=_list(check)
    )


def ledger_schema() -> dict[str, Any]:
    """The schema of `gitbot ledger show -o json`; empty fields of a line are absent."""
    texts = [
        "file",
        "cluster",
        "state",
        "previous",
        "request",
        "vm",
        "vmUid",
        "from",
        "to",
        "landed",
        "reason",
        "note",
        "author",
        "merger",
        "commit",
        "digest",
        "migration",
        "migrationUid",
        "outcome",
    ]
    counts = ["seq", "move", "attempt", "pullRequest", "seconds"]
    line = {
        "type": "object",
        "properties": {
            "time": _INSTANT,
            **dict.fromkeys(texts, _TEXT),
            **dict.fromkeys(counts, _COUNT),
            "approvers": _list(_TEXT),
            "data": {"type": "object"},
        },
        "required": ["file", "time"],
        "additionalProperties": False,
    }
    return _document("LedgerEntryList", "Lines of the ledger, oldest first.", items=_list(line))
