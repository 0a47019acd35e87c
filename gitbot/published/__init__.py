"""Documents for other programs: one struct for each defines bytes, reader and JSON Schema.

The structs read the attributes of model values (`published`), so that a document lists its fields
once. This room computes nothing and never decides the content of a document.
"""

from typing import Any

from gitbot.published.audit import AuditLine, PublishedAudit
from gitbot.published.document import (
    Document,
    Part,
    decoded,
    encoded,
    json_schema,
    json_text,
    kind_of,
    published,
    sorted_bytes,
)
from gitbot.published.explanation import PublishedExplanation, explanation_document
from gitbot.published.forecast import PublishedForecast
from gitbot.published.load import PublishedLoad
from gitbot.published.plan import PublishedPlan
from gitbot.published.plan_document import (
    PlanDocument,
    PlanInputs,
    estimates,
    moves_fields,
    plan_bytes,
    plan_digest,
    plan_document,
    plan_fields,
    plan_makers,
    read_plan,
    resilience_fields,
)
from gitbot.published.results import (
    DAILY,
    TRIAL,
    CommandOutcome,
    FindingList,
    ManifestList,
    PolicyEvaluation,
    PolicyList,
    PublishedApply,
    PublishedComment,
    PublishedDiagnosis,
    PublishedNotice,
    PublishedPropose,
    PublishedReconcile,
    PublishedRights,
    PublishedSnapshot,
    RightsAnswer,
    Verb,
    read_rights,
    snapshot_file,
)
from gitbot.published.site import (
    BoardNode,
    BoardWindow,
    OpenPlan,
    PastMove,
    PlaceLine,
    PublishedBoard,
    PublishedMap,
    PublishedMoves,
    PublishedPlans,
)
from gitbot.published.status import (
    ListingItem,
    PublishedCalendar,
    PublishedListing,
    PublishedStatus,
    PullLine,
    RequestLine,
)

__all__ = [
    "DAILY",
    "TRIAL",
    "AuditLine",
    "BoardNode",
    "BoardWindow",
    "CommandOutcome",
    "Document",
    "FindingList",
    "ListingItem",
    "ManifestList",
    "OpenPlan",
    "Part",
    "PastMove",
    "PlaceLine",
    "PlanDocument",
    "PlanInputs",
    "PolicyEvaluation",
    "PolicyList",
    "PublishedApply",
    "PublishedAudit",
    "PublishedBoard",
    "PublishedCalendar",
    "PublishedComment",
    "PublishedDiagnosis",
    "PublishedForecast",
    "PublishedListing",
    "PublishedMap",
    "PublishedMoves",
    "PublishedNotice",
    "PublishedPlans",
    "PublishedPropose",
    "PublishedReconcile",
    "PublishedRights",
    "PublishedStatus",
    "PullLine",
    "RequestLine",
    "RightsAnswer",
    "Verb",
    "decoded",
    "encoded",
    "estimates",
    "explanation_document",
    "json_schema",
    "json_text",
    "moves_fields",
    "plan_bytes",
    "plan_digest",
    "plan_document",
    "plan_fields",
    "plan_makers",
    "published",
    "read_plan",
    "read_rights",
    "resilience_fields",
    "schema_of",
    "snapshot_file",
    "sorted_bytes",
]

_DOCUMENTS: tuple[type[Part], ...] = (
    FindingList,
    ManifestList,
    PolicyEvaluation,
    PolicyList,
    PublishedApply,
    PublishedAudit,
    PublishedBoard,
    PublishedCalendar,
    PublishedComment,
    PublishedDiagnosis,
    PublishedExplanation,
    PublishedForecast,
    PublishedListing,
    PublishedLoad,
    PublishedMap,
    PublishedMoves,
    PublishedNotice,
    PublishedPlan,
    PublishedPlans,
    PublishedPropose,
    PublishedReconcile,
    PublishedRights,
    PublishedSnapshot,
    PublishedStatus,
)


def schema_of(kind: str) -> dict[str, Any]:
    by_kind = {kind_of(document): document for document in _DOCUMENTS}
    return json_schema(by_kind[kind])
