"""Which function gives the JSON Schema of which kind."""

from __future__ import annotations

import importlib
from typing import Any

from gitbot.errors import UsageError

_INTENTS = "gitbot.intents.registry:json_schema"
_PUBLISHED = "gitbot.published:schema_of"

# kind -> module:function that gives its JSON Schema; with several kinds it takes the kind
_OTHERS: dict[str, str] = {
    "ApplyResult": _PUBLISHED,
    "Audit": _PUBLISHED,
    "Calendar": _PUBLISHED,
    "Cluster": "gitbot.settings:cluster_schema",
    "ClusterLoad": _PUBLISHED,
    "ClusterMap": _PUBLISHED,
    "ClusterSnapshot": _PUBLISHED,
    "CommentResult": _PUBLISHED,
    "Configuration": "gitbot.settings:json_schema",
    "Diagnosis": _PUBLISHED,
    "ExecutorRights": _PUBLISHED,
    "Explanation": _PUBLISHED,
    "FindingList": _PUBLISHED,
    "Forecast": _PUBLISHED,
    "LedgerEntryList": "gitbot.published.ledger_lines:ledger_schema",
    "List": _PUBLISHED,
    "Listing": _PUBLISHED,
    "MaintenanceBoard": _PUBLISHED,
    "MoveHistory": _PUBLISHED,
    "Notice": _PUBLISHED,
    "OpenPlans": _PUBLISHED,
    "PlacementPlan": _PUBLISHED,
    "PlacementPolicy": "gitbot.policy.policy_files:json_schema",
    "PlacementPolicyExemption": "gitbot.policy.exemptions:json_schema",
    "PlacementPolicyTest": "gitbot.policy.cases:json_schema",
    "PolicyEvaluation": _PUBLISHED,
    "PolicyList": _PUBLISHED,
    "ProposeResult": _PUBLISHED,
    "ReconcileResult": _PUBLISHED,
    "Status": _PUBLISHED,
}


def schemas() -> dict[str, str]:
    """The kinds of intents and all others, by name: module:function of the JSON Schema."""
    from gitbot.intents import KINDS  # noqa: PLC0415 - keeps --help quick

    return dict(sorted({**_OTHERS, **dict.fromkeys(KINDS, _INTENTS)}.items()))


def schema_of(kind: str) -> dict[str, Any]:
    """The JSON Schema (2020-12) of a kind. Raises UsageError for an unknown one."""
    known = schemas()
    if kind not in known:
        from gitbot.model.text.wording import nearest  # noqa: PLC0415 - keeps --help quick

        near = nearest(kind, known)
        hint = f"did you mean {near}?" if near else f"expected {', '.join(known)}"
        raise UsageError(f"there is no kind {kind}", hint=hint)
    module, _, function = known[kind].partition(":")
    make = getattr(importlib.import_module(module), function)
    schema: dict[str, Any] = make(kind) if known[kind] in (_INTENTS, _PUBLISHED) else make()
    return schema
