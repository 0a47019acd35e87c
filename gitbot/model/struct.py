"""Frozen values as structs: each costs a quarter of a dataclass."""

from __future__ import annotations

from typing import Any, Self

import msgspec
from msgspec import field

__all__ = ["FrozenStruct", "field"]


class FrozenStruct(msgspec.Struct, frozen=True, kw_only=True):
    """Immutable; values with equal fields are equal."""

    def replace(self, **changes: Any) -> Self:
        """A copy with changed fields."""
        return msgspec.structs.replace(self, **changes)
