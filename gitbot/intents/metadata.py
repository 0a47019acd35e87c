"""The metadata of an intent, as its file has it."""

from typing import Annotated

from pydantic import Field, WithJsonSchema

from gitbot.documents import schemas
from gitbot.documents.fields import Value
from gitbot.intents.spec_fields import IntentName, LabelKey, Labels, Namespace

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


class NamespacedMetadata(Value):
    """Metadata of a kind that acts inside one namespace."""

    name: IntentName = Field(description="Name, unique in its kind and namespace.")
    namespace: Namespace = Field(description="Namespace of the VMs.")
    labels: Labels = Field(default_factory=dict, description="Free for your own use.")
    annotations: Annotations = Field(default_factory=dict, description="Free for your own use.")
