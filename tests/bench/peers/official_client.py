"""The official Python client's typed deserialisation of list pages (package kubernetes)."""

from collections.abc import Iterable
from importlib.metadata import version
from typing import Any

NAME = f"kubernetes {version('kubernetes')}, ApiClient.deserialize"


def client() -> Any:
    """An ApiClient whose models are imported and built, as after a first small list."""
    from kubernetes.client import ApiClient, Configuration  # noqa: PLC0415 - heavy: on purpose

    made = ApiClient(Configuration())
    for kind in ("Node", "Pod"):
        _typed(made, kind, b'{"items":[]}')
    return made


def deserialise(api: Any, pages: Iterable[tuple[str, bytes]]) -> dict[str, list[Any]]:
    """Kind to typed objects of (kind, page)."""
    found: dict[str, list[Any]] = {}
    for kind, page in pages:
        found.setdefault(kind, []).extend(_typed(api, kind, page).items)
    return found


def plain(api: Any, value: Any) -> Any:
    """A typed object as plain JSON data with the API's own field names."""
    return api.sanitize_for_serialization(value)


def _typed(api: Any, kind: str, page: bytes) -> Any:
    return api.deserialize(page.decode(), f"V1{kind}List", "application/json")
