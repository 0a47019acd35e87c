"""metadata of an intent: name, namespace, labels, annotations."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from gitbot.intents.fields import IntentName, LabelKey, Labels, Namespace, Value

Annotations = dict[LabelKey, Annotated[str, Field(max_length=16_384)]]


class ClusterMetadata(Value):
    """Metadata of a kind that has no namespace."""

    name: IntentName = Field(description="Name, unique in its kind.")
    labels: Labels = Field(default={}, description="Free for your own use.")
    annotations: Annotations = Field(default={}, description="Free for your own use.")


class NamespacedMetadata(Value):
    """Metadata of a kind that acts inside one namespace."""

    name: IntentName = Field(description="Name, unique in its kind and namespace.")
    namespace: Namespace = Field(description="Namespace of the VMs.")
    labels: Labels = Field(default={}, description="Free for your own use.")
    annotations: Annotations = Field(default={}, description="Free for your own use.")
