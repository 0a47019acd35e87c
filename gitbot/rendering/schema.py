"""The JSON Schema (2020-12) of rendered manifests as one Kubernetes List."""

from __future__ import annotations

from typing import Any

_API_VERSIONS = {
    "VirtualMachineInstanceMigration": "kubevirt.io/v1",
    "Node": "v1",
    "MutatingAdmissionPolicy": "admissionregistration.k8s.io/v1",
    "MutatingAdmissionPolicyBinding": "admissionregistration.k8s.io/v1",
}


def list_schema() -> dict[str, Any]:
    """The schema of `gitbot render -o json`. Kubernetes itself knows the schemas of the items."""
    items = [_item(kind, version) for kind, version in _API_VERSIONS.items()]
    properties: dict[str, Any] = {
        "apiVersion": {"const": "v1"},
        "kind": {"const": "List"},
        "items": {"type": "array", "items": {"oneOf": items}},
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "List",
        "description": "Migrations, node labels and admission policies, as kubectl takes them.",
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _item(kind: str, version: str) -> dict[str, Any]:
    named = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
    return {
        "type": "object",
        "properties": {
            "apiVersion": {"const": version},
            "kind": {"const": kind},
            "metadata": named,
        },
        "required": ["apiVersion", "kind", "metadata"],
    }
