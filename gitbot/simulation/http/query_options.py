"""The parameters of a write: query and body of a request, checked as kube-apiserver does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gitbot.simulation.http.routes import Route
from gitbot.simulation.simulated_api import FieldValidation, WriteOptions
from gitbot.simulation.status_errors import bad_request, wrong_options

_KINDS = {"POST": "CreateOptions", "PUT": "UpdateOptions", "PATCH": "PatchOptions"}
_POLICIES = ("Foreground", "Background", "Orphan")


def asked_of(method: str, query: Mapping[str, str], user: str) -> WriteOptions:
    """Dry run, field validation and user; raises 422 for values that do not exist."""
    kind = _KINDS.get(method, "DeleteOptions")
    validation = query.get("fieldValidation") or "Warn"
    if validation not in ("Ignore", "Warn", "Strict"):
        supported = '"", "Ignore", "Strict", "Warn"'
        _unsupported(kind, "fieldValidation", f'"{validation}"', supported)
    dry_run = query.get("dryRun") or ""
    if dry_run not in ("", "All"):
        _unsupported(kind, "dryRun", f'["{dry_run}"]', '"All"')
    chosen: FieldValidation = validation  # type: ignore[assignment]
    return WriteOptions(user=user, dry_run=dry_run == "All", validation=chosen)


def _unsupported(kind: str, field: str, found: str, supported: str) -> None:
    message = f"Unsupported value: {found}: supported values: {supported}"
    raise wrong_options(kind, field, "FieldValueNotSupported", message)


def delete_options(query: Mapping[str, str], body: Any) -> dict[str, Any]:
    options = dict(body) if isinstance(body, Mapping) else {}
    if query.get("gracePeriodSeconds"):
        options.setdefault("gracePeriodSeconds", int(query["gracePeriodSeconds"]))
    if query.get("propagationPolicy"):
        options.setdefault("propagationPolicy", query["propagationPolicy"])
    policy = options.get("propagationPolicy")
    if policy is not None and policy not in _POLICIES:
        supported = '"Foreground", "Background", "Orphan", "nil"'
        _unsupported("DeleteOptions", "propagationPolicy", f'"{policy}"', supported)
    return options


def completed(body: Any, route: Route) -> dict[str, Any]:
    """The body with apiVersion, kind and namespace, which clients may omit; raises 400."""
    kind, version = route.resource.kind, route.resource.api_version
    if not isinstance(body, Mapping):
        why = "unexpected end of JSON input" if body is None else "it is not a JSON object"
        raise bad_request(
            f"the object provided is unrecognized (must be of type {kind}): couldn't get "
            f"version/kind; json parse error: {why}"
        )
    found_kind, found_version = body.get("kind") or kind, body.get("apiVersion") or version
    metadata = dict(body.get("metadata") or {})
    if (found_kind, found_version) != (kind, version):
        _refuse_type(route, str(found_kind), str(found_version))
    if route.namespace:
        metadata.setdefault("namespace", route.namespace)
    return {**body, "apiVersion": version, "kind": kind, "metadata": metadata}


def _refuse_type(route: Route, kind: str, version: str) -> None:
    wanted = route.resource.kind
    if kind != wanted and version == route.resource.api_version:
        why = f"converting ({version}.{kind}) to ({wanted}): unknown conversion"
    else:
        why = f'no kind "{kind}" is registered for version "{version}"'
    raise bad_request(f'{kind} in version "{version}" cannot be handled as a {wanted}: {why}')


def check_apply(query: Mapping[str, str], body: Any, route: Route, *, existed: bool) -> None:
    """Raise 422 for an apply without field manager, 400 for a new object without a name."""
    if not query.get("fieldManager"):
        message = "Required value: is required for apply patch"
        raise wrong_options("PatchOptions", "fieldManager", "FieldValueRequired", message)
    named = isinstance(body, Mapping) and (body.get("metadata") or {}).get("name")
    if not named and not existed:
        raise bad_request(
            f"the name of the object ({route.name} based on URL) was undeterminable: name must be "
            "provided"
        )
