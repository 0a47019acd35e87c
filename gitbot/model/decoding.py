"""A malformed object becomes an error that names it, never a traceback."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from gitbot.errors import SnapshotError
from gitbot.kubernetes.objects import KubernetesObject, name_of


@contextmanager
def decoding(kind: str, obj: KubernetesObject) -> Iterator[None]:
    """Turn errors while an object is decoded into a SnapshotError with its name."""
    try:
        yield
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise SnapshotError(
            f"{kind} {_name(obj)} cannot be read: {_words(error)}",
            hint="compare it with kubectl get -o yaml of the cluster",
        ) from error


def _words(error: Exception) -> str:
    """The error without Python's words for a wrong number or a missing key."""
    if isinstance(error, KeyError):
        return f"found no {error}"
    python = "invalid literal for int() with base 10:"
    return str(error).replace(python, "expected a whole number, found")


def _name(obj: KubernetesObject) -> str:
    try:
        name = name_of(obj)
    except (AttributeError, TypeError):
        return "without a name"
    return str(name) if name.namespace else name.name
