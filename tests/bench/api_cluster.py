"""A cluster as the API server sends it: pages of nodes and launcher pods, made from a seed.

Sizes follow what KubeVirt clusters show: a node of 120 CPU labels and 50 images is about 23 kB of
JSON, a virt-launcher pod with ten volumes and three entries of managedFields about 12 kB.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

from tests.bench.api_nodes import api_node
from tests.bench.api_pods import api_pod

PAGE = 200


def pages(kind: str, count: int, *, nodes: int, seed: int = 1) -> Iterator[bytes]:
    """The pages of a list answer for Node or Pod, in the server's order, each with its token."""
    draw = random.Random(f"{seed}/{kind}")
    make = api_node if kind == "Node" else api_pod
    for start in range(0, count, PAGE):
        end = min(start + PAGE, count)
        metadata: dict[str, Any] = {"resourceVersion": "90000001"}
        if end < count:
            metadata |= {"continue": f"token-{end}", "remainingItemCount": count - end}
        items = [make(draw, number, nodes) for number in range(start, end)]
        page = {"kind": f"{kind}List", "apiVersion": "v1", "metadata": metadata, "items": items}
        yield json.dumps(page, separators=(",", ":")).encode()
