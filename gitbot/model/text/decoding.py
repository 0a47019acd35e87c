"""Turns a malformed object into an error that names it, never into a traceback."""

from __future__ import annotations

from typing import Literal

from gitbot.errors import SnapshotError
from gitbot.kubernetes.objects import KubernetesObject, name_of

_FOUND = (AttributeError, KeyError, TypeError, ValueError)


class decoding:  # noqa: N801 - used like a function
    """Turn errors while an object is decoded into a SnapshotError with its name.

    A class, because every pod of a cluster passes here: a generator takes ten times as long.
    """

    __slots__ = ("_kind", "_obj")

    def __init__(self, kind: str, obj: KubernetesObject) -> None:
        self._kind, self._obj = kind, obj

    def __enter__(self) -> None:
        pass

    def __exit__(self, _of: object, error: BaseException | None, _at: object) -> Literal[False]:
        if isinstance(error, _FOUND):
            raise SnapshotError(
                f"{self._kind} {_name(self._obj)} cannot be read: {_words(error)}",
                hint="compare it with kubectl get -o yaml of the cluster",
            ) from error
        return False


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
