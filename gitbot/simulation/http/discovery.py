"""Discovery documents: the first requests of kubectl."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from gitbot.constraints.scheduler.versions import FOLLOWED, TAG
from gitbot.simulation.served_resources import RESOURCES, ServedResource

VERBS = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]
VERSION = {
    "major": str(FOLLOWED[0]),
    "minor": str(FOLLOWED[1]),
    "gitVersion": TAG,
    "gitCommit": "",
    "gitTreeState": "clean",
    "buildDate": "2026-01-01T00:00:00Z",
    "goVersion": "",
    "compiler": "simulated",
    "platform": "linux/amd64",
}


def group_versions() -> list[tuple[str, str]]:
    """Every (group, version) that is served, core first, then by name."""
    return sorted({(resource.group, resource.version) for resource in RESOURCES})


def core_versions() -> dict[str, Any]:
    """`/api`."""
    return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []}


def group_list() -> dict[str, Any]:
    """`/apis`."""
    groups = [group_document(group) for group in sorted({g for g, _ in group_versions() if g})]
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}


def group_document(group: str) -> dict[str, Any]:
    """`/apis/<group>`, and one entry of `/apis`."""
    versions = [
        {"groupVersion": f"{name}/{version}", "version": version}
        for name, version in group_versions()
        if name == group
    ]
    return {
        "kind": "APIGroup",
        "apiVersion": "v1",
        "name": group,
        "versions": versions,
        "preferredVersion": versions[0],
    }


def _of(group: str, version: str) -> list[ServedResource]:
    found = [item for item in RESOURCES if (item.group, item.version) == (group, version)]
    return sorted(found, key=lambda item: item.plural)


def resource_list(group: str, version: str) -> dict[str, Any]:
    """`/api/v1` and `/apis/<group>/<version>`."""
    entries = [entry for resource in _of(group, version) for entry in _entries(resource)]
    return {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": f"{group}/{version}" if group else version,
        "resources": entries,
    }


def _entries(resource: ServedResource) -> Iterable[dict[str, Any]]:
    entry: dict[str, Any] = {
        "name": resource.plural,
        "singularName": resource.singular,
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": VERBS,
    }
    if resource.short_names:
        entry["shortNames"] = list(resource.short_names)
    if resource.categories:
        entry["categories"] = list(resource.categories)
    yield entry
    if resource.status:
        yield {**_sub(resource, "status"), "verbs": ["get", "patch", "update"]}
    if resource.kind == "Pod":
        eviction = {"group": "policy", "version": "v1", "kind": "Eviction", "verbs": ["create"]}
        yield {**_sub(resource, "eviction"), **eviction}


def _sub(resource: ServedResource, name: str) -> dict[str, Any]:
    return {
        "name": f"{resource.plural}/{name}",
        "singularName": "",
        "namespaced": resource.namespaced,
        "kind": resource.kind,
    }


def aggregated(*, core: bool) -> dict[str, Any]:
    """`/api` and `/apis` as APIGroupDiscoveryList (apidiscovery.k8s.io/v2)."""
    names = [""] if core else sorted({group for group, _ in group_versions() if group})
    return {
        "kind": "APIGroupDiscoveryList",
        "apiVersion": "apidiscovery.k8s.io/v2",
        "metadata": {},
        "items": [_aggregated_group(name) for name in names],
    }


def _aggregated_group(group: str) -> dict[str, Any]:
    versions = [
        {
            "version": version,
            "resources": [_aggregated_resource(item) for item in _of(group, version)],
            "freshness": "Current",
        }
        for name, version in group_versions()
        if name == group
    ]
    return {"metadata": {"name": group} if group else {}, "versions": versions}


def _aggregated_resource(resource: ServedResource) -> dict[str, Any]:
    kind = {"group": resource.group, "version": resource.version, "kind": resource.kind}
    subresources: list[dict[str, Any]] = []
    if resource.status:
        subresources.append(
            {
                "subresource": "status",
                "responseKind": kind,
                "verbs": ["get", "patch", "update"],
            }
        )
    if resource.kind == "Pod":
        eviction = {"group": "policy", "version": "v1", "kind": "Eviction"}
        subresources.append(
            {"subresource": "eviction", "responseKind": eviction, "verbs": ["create"]}
        )
    document: dict[str, Any] = {
        "resource": resource.plural,
        "responseKind": kind,
        "scope": "Namespaced" if resource.namespaced else "Cluster",
        "singularResource": resource.singular,
        "verbs": VERBS,
        "shortNames": list(resource.short_names),
        "categories": list(resource.categories),
    }
    return {**document, "subresources": subresources} if subresources else document
