"""How functions are declared. A value of a type that CEL lacks is a map that names its type."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

Opaque = Mapping[str, Any]
TYPE = "kubernetes"


@dataclass(frozen=True, slots=True, kw_only=True)
class CelFunction:
    """One form of a function. Types are CEL's names, `list(T)`, `optional(T)` or those of here.

    `make` raises ValueError if there is no answer.
    """

    id: str
    function: str
    parameters: tuple[str, ...]
    gives: str
    make: Callable[..., Any]
    member: bool = True


def opaque(kind: str, **fields: Any) -> Opaque:
    """Equal values are equal maps."""
    return {TYPE: kind, **fields}


def succeeds(read: Callable[..., object]) -> Callable[..., bool]:
    """Whether a reader takes a text."""

    def answer(*arguments: Any) -> bool:
        try:
            read(*arguments)
        except ValueError:
            return False
        return True

    return answer
