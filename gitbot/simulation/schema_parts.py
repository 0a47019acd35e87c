"""Parts of schemas: a subset of OpenAPI v3, as in CustomResourceDefinitions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Schema = Mapping[str, Any]

STRING: Schema = {"type": "string"}
INTEGER: Schema = {"type": "integer"}
BOOLEAN: Schema = {"type": "boolean"}
INT_OR_STRING: Schema = {"x-kubernetes-int-or-string": True}
ANY: Schema = {"x-kubernetes-preserve-unknown-fields": True}
OPEN: Schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def fields(*, required: tuple[str, ...] = (), **properties: Schema) -> Schema:
    """An object with these fields and no other."""
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    return {**schema, "required": list(required)} if required else schema


def opened(**properties: Schema) -> Schema:
    """An object with these fields and any other."""
    return {**OPEN, "properties": properties}


def list_of(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def map_of(values: Schema) -> Schema:
    return {"type": "object", "additionalProperties": values}
