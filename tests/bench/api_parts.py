"""What nodes and pods of the synthetic API have in common."""

from __future__ import annotations

import random
from typing import Any

_HEX = "0123456789abcdef"


def digits(draw: random.Random, count: int) -> str:
    """Random hexadecimal digits."""
    return "".join(draw.choices(_HEX, k=count))


def uid(draw: random.Random) -> str:
    """A UID."""
    return "-".join(digits(draw, count) for count in (8, 4, 4, 4, 12))


def moment(draw: random.Random) -> str:
    """A moment in November."""
    day, second = draw.randrange(1, 29), draw.randrange(86_400)
    return f"2025-11-{day:02}T{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}Z"


def fields(keys: list[str]) -> dict[str, Any]:
    """Keys as managedFields writes them."""
    return {f"f:{key}": {} for key in keys}


def managed(draw: random.Random, manager: str, tree: dict[str, Any], status: str = "") -> Any:
    """One entry of managedFields."""
    entry = {
        "manager": manager,
        "operation": "Update",
        "apiVersion": "v1",
        "time": moment(draw),
        "fieldsType": "FieldsV1",
        "fieldsV1": tree,
    }
    return entry | ({"subresource": status} if status else {})


def node_name(number: int) -> str:
    """The name of a node by its number."""
    return f"worker-{number:05}.example"
