"""The kinds of intents, sorted by name. A new kind is one file and one line here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, Field, WithJsonSchema, create_model

from gitbot.documents import Report, formats, schemas
from gitbot.documents.fields import Value
from gitbot.errors import UsageError
from gitbot.intents.kinds.freeze_window import spec as freeze_window
from gitbot.intents.kinds.load_rule import spec as load_rule
from gitbot.intents.kinds.maintenance_window import spec as maintenance_window
from gitbot.intents.kinds.migration_request import spec as migration_request
from gitbot.intents.kinds.placement_proposal import spec as placement_proposal
from gitbot.intents.kinds.placement_rule import spec as placement_rule
from gitbot.intents.kinds.zone_anti_affinity import spec as zone_anti_affinity
from gitbot.intents.spec_fields import IntentName, LabelKey, Labels, Namespace
from gitbot.model.text.names import API_VERSION


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One kind: its spec, whether it has a namespace, its checks, its description."""

    name: str
    spec: type[Value]
    namespaced: bool
    check: Callable[[Report], None]
    description: str


KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind(
            name="FreezeWindow",
            spec=freeze_window.FreezeWindowSpec,
            namespaced=False,
            check=freeze_window.check,
            description="Nothing of gitbot's moves here; freeze wins over every window.",
        ),
        Kind(
            name="LoadRule",
            spec=load_rule.LoadRuleSpec,
            namespaced=False,
            check=load_rule.check,
            description="A standing wish: a node above a measured load is relieved by one VM.",
        ),
        Kind(
            name="MaintenanceWindow",
            spec=maintenance_window.MaintenanceWindowSpec,
            namespaced=False,
            check=maintenance_window.check,
            description="Nodes leave service; without nodes, a change window for requests.",
        ),
        Kind(
            name="MigrationRequest",
            spec=migration_request.MigrationRequestSpec,
            namespaced=True,
            check=migration_request.check,
            description="A one-off move of VMs; runs exactly once.",
        ),
        Kind(
            name="PlacementProposal",
            spec=placement_proposal.PlacementProposalSpec,
            namespaced=False,
            check=placement_proposal.check,
            description="A plan in a bot pull request; merging it approves its digest.",
        ),
        Kind(
            name="PlacementRule",
            spec=placement_rule.PlacementRuleSpec,
            namespaced=True,
            check=placement_rule.check,
            description="A standing rule in Kubernetes' own words over a VM selector.",
        ),
        Kind(
            name="ZoneAntiAffinity",
            spec=zone_anti_affinity.ZoneAntiAffinitySpec,
            namespaced=True,
            check=zone_anti_affinity.check,
            description="A standing rule: at most N of the selected VMs in one zone.",
        ),
    )
}


@cache
def document_model(name: str) -> type[BaseModel]:
    """The model of a whole document of a kind: apiVersion, kind, metadata, spec."""
    kind = KINDS[name]
    metadata: Any = NamespacedMetadata if kind.namespaced else ClusterMetadata
    if name == "PlacementProposal":
        metadata = ProposalMetadata
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
        raise UsageError(f"{kind} is not a kind of intent", hint=f"expected {', '.join(KINDS)}")
    return document_schema(kind)


Annotations = Annotated[
    dict[LabelKey, Annotated[str, Field(max_length=16_384)]],
    WithJsonSchema(
        {
            "type": "object",
            "propertyNames": schemas.LABEL_KEY,
            "additionalProperties": {"type": "string", "maxLength": 16_384},
        }
    ),
]


class ClusterMetadata(Value):
    """Metadata of a kind that has no namespace."""

    name: IntentName = Field(description="Name, unique in its kind.")
    labels: Labels = Field(default_factory=dict, description="Free for your own use.")
    annotations: Annotations = Field(default_factory=dict, description="Free for your own use.")


class ProposalMetadata(ClusterMetadata):
    """Metadata of a proposal; its name is its concern."""

    name: Annotated[str, AfterValidator(formats.concern), WithJsonSchema(schemas.CONCERN)] = Field(
        description="The concern, as the file is called."
    )


class NamespacedMetadata(Value):
    """Metadata of a kind that acts inside one namespace."""

    name: IntentName = Field(description="Name, unique in its kind and namespace.")
    namespace: Namespace = Field(description="Namespace of the VMs.")
    labels: Labels = Field(default_factory=dict, description="Free for your own use.")
    annotations: Annotations = Field(default_factory=dict, description="Free for your own use.")
