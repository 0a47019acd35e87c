"""Status errors: the simulated API server's answers when it refuses.

Codes, reasons and messages follow k8s.io/apimachinery/pkg/api/errors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gitbot.errors import ClusterRefused
from gitbot.simulation.served_resources import ServedResource


class ApiError(ClusterRefused):
    """A refusal with the `details` of a Kubernetes Status."""

    def __init__(
        self, message: str, *, code: int, reason: str, details: dict[str, Any] | None = None
    ) -> None:
        super().__init__(message, code=code, reason=reason)
        self.details = details or {}

    def status(self) -> dict[str, Any]:
        return {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
            **({"reason": self.reason} if self.reason else {}),
            **({"details": self.details} if self.details else {}),
            "code": self.code,
        }


def _details(resource: ServedResource, name: str) -> dict[str, Any]:
    details = {"name": name, "kind": resource.plural}
    return {**details, "group": resource.group} if resource.group else details


def not_found(resource: ServedResource, name: str) -> ApiError:
    return ApiError(
        f'{resource.qualified} "{name}" not found',
        code=404,
        reason="NotFound",
        details=_details(resource, name),
    )


def already_exists(resource: ServedResource, name: str) -> ApiError:
    return ApiError(
        f'{resource.qualified} "{name}" already exists',
        code=409,
        reason="AlreadyExists",
        details=_details(resource, name),
    )


def conflict(resource: ServedResource, name: str, why: str) -> ApiError:
    """409 Conflict: a resourceVersion or UID that is not the stored one."""
    return ApiError(
        f'Operation cannot be fulfilled on {resource.qualified} "{name}": {why}',
        code=409,
        reason="Conflict",
        details=_details(resource, name),
    )


def precondition_failed(
    resource: ServedResource, stored: Mapping[str, Any], what: str, wanted: str
) -> ApiError:
    """409 for a precondition of a delete; `what` is UID or ResourceVersion."""
    found = stored["metadata"]["uid" if what == "UID" else "resourceVersion"]
    since = "deleted and then recreated" if what == "UID" else "modified"
    name = stored["metadata"]["name"]
    return ApiError(
        f'Operation cannot be fulfilled on {resource.kind} "{name}": the {what} in the '
        f"precondition ({wanted}) does not match the {what} in record ({found}). The object might "
        f"have been {since}",
        code=409,
        reason="Conflict",
        details={"name": name, "kind": resource.kind},
    )


def wrong_options(kind: str, field: str, reason: str, message: str) -> ApiError:
    """422 for a parameter of a request: `kind` is CreateOptions, PatchOptions, ListOptions ..."""
    cause = {"reason": reason, "message": message, "field": field}
    return ApiError(
        f'{kind}.meta.k8s.io "" is invalid: {field}: {message}',
        code=422,
        reason="Invalid",
        details={"group": "meta.k8s.io", "kind": kind, "causes": [cause]},
    )


STALE = (
    "the object has been modified; please apply your changes to the latest version and try again"
)


def bad_request(message: str) -> ApiError:
    return ApiError(message, code=400, reason="BadRequest")


def invalid(
    resource: ServedResource, name: str, causes: Sequence[tuple[str, str, str]]
) -> ApiError:
    """422 Invalid; causes are (field, reason, message)."""
    text = ", ".join(f"{field}: {message}" for field, _, message in causes)
    text = f"[{text}]" if len(causes) > 1 else text
    qualified = f"{resource.kind}.{resource.group}" if resource.group else resource.kind
    return ApiError(
        f'{qualified} "{name}" is invalid: {text}',
        code=422,
        reason="Invalid",
        details={
            **({"name": name} if name else {}),
            **({"group": resource.group} if resource.group else {}),
            "kind": resource.kind,
            "causes": [
                {"reason": reason, "message": message, "field": field}
                for field, reason, message in causes
            ],
        },
    )


def gone(message: str) -> ApiError:
    """410 Expired: the watch history or the continue token is too old."""
    return ApiError(message, code=410, reason="Expired")
