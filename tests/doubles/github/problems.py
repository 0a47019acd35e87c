"""Refusals in GitHub's own shapes."""

from typing import Any


class Problem(Exception):
    """An answer of 4xx or 5xx."""

    def __init__(self, code: int, message: str, *, errors: list[Any] | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.errors = errors

    @property
    def body(self) -> dict[str, Any]:
        more = {} if self.errors is None else {"errors": self.errors}
        return {"message": self.message, **more}


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


def custom(resource: str, message: str) -> Problem:
    """422 with a text, as `A pull request already exists for acme:work.`."""
    error = {"resource": resource, "code": "custom", "message": message}
    return Problem(422, "Validation Failed", errors=[error])


def missing(resource: str, field: str) -> Problem:
    """422: a field that must be there."""
    return invalid(resource, field, "missing_field")


def too_long(resource: str, field: str, value: object, most: int) -> str:
    """The text, unless it has more characters than GitHub takes. Raises Problem."""
    text = "" if value is None else str(value)
    if len(text) > most:
        raise custom(resource, f"{field} is too long (maximum is {most} characters)")
    return text
