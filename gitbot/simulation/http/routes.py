"""Paths of the Kubernetes API: the resource, namespace, object and subresource that they name."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import unquote

from gitbot.simulation.served_resources import BY_PATH, ServedResource
from gitbot.simulation.status_errors import ApiError


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """A path of one resource; `name` is "" for a collection."""

    resource: ServedResource
    namespace: str = ""
    name: str = ""
    subresource: str = ""

    @property
    def key(self) -> tuple[str, str]:
        return (self.namespace, self.name)


class UnknownGroup(Exception):
    """A path outside all served groups: kube-apiserver answers it in plain text."""


def unknown_path() -> ApiError:
    """404 for a path that the server does not serve."""
    return ApiError(
        "the server could not find the requested resource",
        code=404,
        reason="NotFound",
    )


def find_route(path: str) -> Route:
    """The route of `/api/v1/...` or `/apis/<group>/<version>/...`; raises 404 or UnknownGroup."""
    parts = [unquote(part) for part in path.strip("/").split("/")]
    if parts[0] == "api":
        group, rest = "", parts[1:]
    elif parts[0] == "apis" and len(parts) > 1:
        group, rest = parts[1], parts[2:]
    else:
        raise UnknownGroup(path)
    if len(rest) < 2:
        raise UnknownGroup(path)
    version, rest = rest[0], rest[1:]
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 2 and rest[2] not in ("status", "finalize"):
        namespace, rest = rest[1], rest[2:]
    resource = BY_PATH.get((group, version, rest[0]))
    if not any((group, version) == known[:2] for known in BY_PATH):
        raise UnknownGroup(f"{group}/{version}")
    if resource is None or len(rest) > 3 or (namespace and not resource.namespaced):
        raise unknown_path()
    name = rest[1] if len(rest) > 1 else ""
    subresource = rest[2] if len(rest) > 2 else ""
    if subresource not in _subresources(resource):
        raise unknown_path()
    return Route(resource=resource, namespace=namespace, name=name, subresource=subresource)


def _subresources(resource: ServedResource) -> tuple[str, ...]:
    status = ("status",) if resource.status else ()
    return ("", *status, "eviction") if resource.kind == "Pod" else ("", *status)
