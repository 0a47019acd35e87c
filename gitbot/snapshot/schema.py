"""The JSON Schema (2020-12) of a snapshot file, unpacked."""

from __future__ import annotations

from typing import Any

from gitbot.model.cluster import KINDS
from gitbot.snapshot.versioned import API_VERSION, KIND

_TEXT = {"type": "string"}
_INSTANT = {"type": "string", "pattern": r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$"}


def snapshot_schema() -> dict[str, Any]:
    """The schema of what `gitbot snapshot -o FILE` writes, gzip taken off."""
    metadata = {"type": "object", "required": ["name"]}
    held = {"type": "object", "properties": {"metadata": metadata}, "required": ["metadata"]}
    properties: dict[str, Any] = {
        "apiVersion": {"const": API_VERSION},
        "kind": {"const": KIND},
        "metadata": {
            "type": "object",
            "properties": {"name": _TEXT},
            "required": ["name"],
            "additionalProperties": False,
        },
        "takenAt": _INSTANT,
        "digest": {"type": "string", "pattern": "^sha256:[0-9a-f]{64}$"},
        "kubernetesVersion": _TEXT,
        "resourceVersion": _TEXT,
        "absentKinds": {"type": "array", "items": _TEXT},
        "objects": {
            "type": "object",
            "properties": {kind: {"type": "array", "items": held} for kind in KINDS},
            "additionalProperties": False,
        },
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": KIND,
        "description": "The state of one cluster at one moment: Kubernetes objects by kind, cut "
        "down to what placement needs.",
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
