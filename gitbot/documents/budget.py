"""What one file may use."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """What one file may use: bytes, nesting depth, nodes (keys, values, items), scalar length."""

    bytes: int = 1024 * 1024
    depth: int = 32
    nodes: int = 20_000
    scalar: int = 16 * 1024


DEFAULT_BUDGET = Budget()
