"""Refusals in GitHub's own shapes."""

from __future__ import annotations

from typing import Any

DOCUMENTATION = "https://docs.github.com/rest"


class Problem(Exception):
    """An answer of 4xx or 5xx."""

    def __init__(
        self,
        code: int,
        message: str,
        *,
        errors: list[Any] | None = None,
        headers: dict[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.errors = errors
        self.headers = headers or {}

    @property
    def body(self) -> dict[str, Any]:
        """The JSON of the answer."""
        body: dict[str, Any] = {"message": self.message}
        if self.errors is not None:
            body["errors"] = self.errors
        return {**body, "documentation_url": DOCUMENTATION, "status": str(self.code)}


def not_found() -> Problem:
    """What does not exist, and what the asker may not know of."""
    return Problem(404, "Not Found")


def no_access() -> Problem:
    """A job or an installation without the permission."""
    return Problem(403, "Resource not accessible by integration")


def invalid(resource: str, field: str, code: str = "invalid") -> Problem:
    """422 with one field."""
    error = {"resource": resource, "field": field, "code": code}
    return Problem(422, "Validation Failed", errors=[error])


def custom(resource: str, message: str, *, field: str = "") -> Problem:
    """422 with a text, as `A pull request already exists for acme:work.`."""
    error = {"resource": resource, "code": "custom", "message": message}
    if field:
        error["field"] = field
    return Problem(422, "Validation Failed", errors=[error])


def missing(resource: str, field: str) -> Problem:
    """422: a field that must be there."""
    return invalid(resource, field, "missing_field")
