"""How tightly a move is pinned to its target."""

from __future__ import annotations

from enum import StrEnum


class Pin(StrEnum):
    """What addedNodeSelector will demand of a move."""

    NODE = "Node"
    ZONE = "Zone"
    NONE = "None"
