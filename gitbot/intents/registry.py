"""The kinds of intents. A new kind is one folder in `kinds/` and one line here."""

from __future__ import annotations

from functools import cache
from typing import Any, Literal

from pydantic import BaseModel, Field, create_model

from gitbot.documents import schemas
from gitbot.documents.fields import Value
from gitbot.errors import UsageError
from gitbot.intents.kinds.balance_rule import describe as balance_rule
from gitbot.intents.kinds.freeze_window import describe as freeze_window
from gitbot.intents.kinds.kind import Kind
from gitbot.intents.kinds.load_rule import describe as load_rule
from gitbot.intents.kinds.maintenance_window import describe as maintenance_window
from gitbot.intents.kinds.migration_request import describe as migration_request
from gitbot.intents.kinds.placement_proposal import describe as placement_proposal
from gitbot.intents.kinds.placement_rule import describe as placement_rule
from gitbot.intents.kinds.table import TABLE
from gitbot.intents.kinds.zone_anti_affinity import describe as zone_anti_affinity
from gitbot.intents.metadata import ClusterMetadata, NamespacedMetadata
from gitbot.model.text.names import API_VERSION

# In the order in which `gitbot init` and the schema of a proposal present them.
_ALL: tuple[Kind[Any], ...] = (
    zone_anti_affinity.KIND,
    placement_rule.KIND,
    load_rule.KIND,
    balance_rule.KIND,
    maintenance_window.KIND,
    freeze_window.KIND,
    migration_request.KIND,
    placement_proposal.KIND,
)
KINDS: dict[str, Kind[Any]] = TABLE
KINDS.update((kind.name, kind) for kind in _ALL)


@cache
def document_model(name: str) -> type[BaseModel]:
    """The model of a whole document of a kind: apiVersion, kind, metadata, spec."""
    kind = KINDS[name]
    usual = NamespacedMetadata if kind.namespaced else ClusterMetadata
    metadata: Any = kind.metadata or usual
    fields: dict[str, Any] = {
        "api_version": (Literal[API_VERSION], Field(description="Version of the format.")),
        "kind": (Literal[name], Field(description=kind.description)),
        "metadata": (metadata, Field(description="Name, namespace, labels, annotations.")),
        "spec": (kind.spec, Field(description=kind.description)),
    }
    model: type[BaseModel] = create_model(name, __base__=Value, **fields)
    return model


@cache
def document_schema(name: str) -> dict[str, Any]:
    schema = document_model(name).model_json_schema(by_alias=True)
    return schemas.with_schema_frame(schema, kind=name, description=KINDS[name].description)


def json_schema(kind: str) -> dict[str, Any]:
    """The JSON Schema (2020-12) of one intent kind. Raises UsageError for another kind."""
    if kind not in KINDS:
        known = ", ".join(sorted(KINDS))
        raise UsageError(f"{kind} is not a kind of intent", hint=f"expected {known}")
    return document_schema(kind)
