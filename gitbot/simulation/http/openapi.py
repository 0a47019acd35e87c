"""OpenAPI v3, only as much as `kubectl create`, `apply` and `explain` need."""

from __future__ import annotations

from typing import Any

from gitbot.constraints.scheduler.versions import TAG
from gitbot.simulation.http.discovery import group_versions
from gitbot.simulation.schemas import schema_of
from gitbot.simulation.served_resources import RESOURCES, ServedResource


def index() -> dict[str, Any]:
    """`/openapi/v3`: where the document of each group and version is."""
    paths = {}
    for group, version in group_versions():
        path = f"apis/{group}/{version}" if group else f"api/{version}"
        paths[path] = {"serverRelativeURL": f"/openapi/v3/{path}?hash=simulated"}
    return {"paths": paths}


def document(group: str, version: str) -> dict[str, Any]:
    """`/openapi/v3/apis/<group>/<version>`."""
    resources = [item for item in RESOURCES if (item.group, item.version) == (group, version)]
    paths: dict[str, Any] = {}
    for resource in resources:
        paths.update(_paths(resource))
    return {
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes (simulated)", "version": TAG},
        "paths": paths,
        "components": {"schemas": {_schema_name(item): _schema(item) for item in resources}},
    }


def _schema_name(resource: ServedResource) -> str:
    reverse = ".".join(reversed(resource.group.split("."))) or "io.k8s.api.core"
    return f"{reverse}.{resource.version}.{resource.kind}"


def _gvk(resource: ServedResource) -> dict[str, str]:
    return {"group": resource.group, "version": resource.version, "kind": resource.kind}


def _schema(resource: ServedResource) -> dict[str, Any]:
    schema = dict(schema_of(resource.kind))
    return {**schema, "x-kubernetes-group-version-kind": [_gvk(resource)]}


def _paths(resource: ServedResource) -> dict[str, Any]:
    root = f"/apis/{resource.group}/{resource.version}" if resource.group else "/api/v1"
    inside = "/namespaces/{namespace}" if resource.namespaced else ""
    collection = f"{root}{inside}/{resource.plural}"
    return {
        collection: {"get": _operation(resource, "list"), "post": _operation(resource, "post")},
        f"{collection}/{{name}}": {
            action: _operation(resource, action) for action in ("get", "put", "patch", "delete")
        },
    }


def _operation(resource: ServedResource, action: str) -> dict[str, Any]:
    names = ["pretty", "dryRun", "fieldManager", "fieldValidation"]
    parameters = [
        {"name": name, "in": "query", "schema": {"type": "string", "uniqueItems": True}}
        for name in names
    ]
    reference = {"$ref": f"#/components/schemas/{_schema_name(resource)}"}
    answer = {"content": {"application/json": {"schema": reference}}, "description": "OK"}
    operation: dict[str, Any] = {
        "operationId": f"{action}{resource.kind}",
        "x-kubernetes-action": action,
        "x-kubernetes-group-version-kind": _gvk(resource),
        "parameters": parameters if action in ("post", "put", "patch") else [],
        "responses": {"200": answer},
    }
    if action in ("post", "put"):
        operation["requestBody"] = {"content": {"*/*": {"schema": reference}}}
    return operation
