"""Addresses as GitHub writes them into its answers."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Links:
    """`api` is the root of the REST API, `html` of the pages and of Git, both without a slash."""

    api: str
    html: str

    def repo(self, full_name: str, rest: str = "") -> str:
        """An address of the API below a repository."""
        return f"{self.api}/repos/{full_name}{rest}"

    def page(self, full_name: str, rest: str = "") -> str:
        """An address that people open."""
        return f"{self.html}/{full_name}{rest}"


def time_text(seconds: int) -> str:
    """RFC 3339 with Z."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def time_or_none(seconds: int) -> str | None:
    """The same; None for "not yet"."""
    return time_text(seconds) if seconds else None


def node_id(kind: str, identity: int | str) -> str:
    """An opaque id, as the ones of GraphQL are."""
    return f"{kind}_{identity}"
