"""A cluster as the API server sends it: pages of nodes and launcher pods, made from a seed.

Sizes follow what KubeVirt clusters show: a node of 120 CPU labels and 50 images is about 23 kB of
JSON, a virt-launcher pod with ten volumes and three entries of managedFields about 12 kB. Folder
`api` has one of each, with words to be replaced; @UID@, @MOMENT@ and @HEX5@ are drawn each time.
"""

import json
import random
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml

PAGE = 200
GIB = (4, 8, 16, 32, 64)
_ZONES = ("zone-a", "zone-b", "zone-c")
_FEATURES = {f"cpu-feature.node.kubevirt.io/feature-{item:03}": "true" for item in range(110)}
_IMAGES = [
    {
        "names": [
            f"registry.example/team/image-{item:02}@sha256:{item:064x}",
            f"registry.example/team/image-{item:02}:v1.{item}",
        ],
        "sizeBytes": 50_000_000 + 1_000_003 * item,
    }
    for item in range(50)
]


def pages(kind: str, count: int, *, nodes: int, seed: int = 1) -> Iterator[bytes]:
    """The pages of a list answer for Node or Pod, in the server's order, each with its token."""
    draw = random.Random(f"{seed}/{kind}")
    make = _node if kind == "Node" else _pod
    for start in range(0, count, PAGE):
        end = min(start + PAGE, count)
        metadata: dict[str, Any] = {"resourceVersion": "90000001"}
        if end < count:
            metadata |= {"continue": f"token-{end}", "remainingItemCount": count - end}
        items = [make(draw, number, nodes) for number in range(start, end)]
        page = {"kind": f"{kind}List", "apiVersion": "v1", "metadata": metadata, "items": items}
        yield json.dumps(page, separators=(",", ":")).encode()


@cache
def _text(kind: str) -> str:
    plain = yaml.safe_load((Path(__file__).parent / "api" / f"{kind}.yaml").read_text("utf-8"))
    return json.dumps(plain)


def _filled(kind: str, draw: random.Random, words: Mapping[str, str]) -> dict[str, Any]:
    known = {**words, "VERSION": str(draw.randrange(10**8))}

    def word(found: re.Match[str]) -> str:
        name = found[1]
        if name == "UID":
            return _uid(draw)
        if name == "MOMENT":
            return _moment(draw)
        return _digits(draw, int(name[3:])) if name.startswith("HEX") else known[name]

    made: dict[str, Any] = json.loads(re.sub("@([A-Z0-9_]+)@", word, _text(kind)))
    return made


def filled(kind: str, draw: random.Random) -> dict[str, Any]:
    """One node or launcher pod, whatever it is called."""
    return (_node if kind == "node" else _pod)(draw, 1, 1)


def _digits(draw: random.Random, count: int) -> str:
    return "".join(draw.choices("0123456789abcdef", k=count))


def _uid(draw: random.Random) -> str:
    return "-".join(_digits(draw, count) for count in (8, 4, 4, 4, 12))


def _moment(draw: random.Random) -> str:
    """A moment in November."""
    day, second = draw.randrange(1, 29), draw.randrange(86_400)
    return f"2025-11-{day:02}T{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}Z"


def _node_name(number: int) -> str:
    return f"worker-{number:05}.example"


def _node(draw: random.Random, number: int, _nodes: int) -> dict[str, Any]:
    words = {
        "NODE": _node_name(number),
        "ZONE": _ZONES[number % len(_ZONES)],
        "RACK": f"rack-{number // 40:03}",
        "NETWORK": f"10.{number // 250 % 250}.{number % 250}.0/24",
        "IP": f"192.0.2.{number % 250}",
        "MEMORY": f"{512 * 1024 * 1024 - draw.randrange(4) * 1024}Ki",
        "BEAT": _moment(draw),
    }
    made = _filled("node", draw, words)
    made["metadata"]["labels"] |= _FEATURES
    labels = made["metadata"]["managedFields"][0]["fieldsV1"]["f:metadata"]["f:labels"]
    labels |= {f"f:{key}": {} for key in _FEATURES}
    made["status"]["images"] = _IMAGES
    if number % 20 == 7:
        made["spec"]["taints"] = [{"key": "dedicated", "value": "db", "effect": "NoSchedule"}]
    if number % 97 == 13:
        made["spec"]["unschedulable"] = True
    return made


def _pod(draw: random.Random, number: int, nodes: int) -> dict[str, Any]:
    group, gib = number // 3, draw.choice(GIB)
    words = {
        "VM": f"vm-{number:06}",
        "TEAM": f"team-{group % 200:03}",
        "APP": f"app-{group:05}",
        "OWNER": _uid(draw),
        "STARTED": _moment(draw),
        "NODE": _node_name(draw.randrange(nodes)),
        "CPU": f"{100 * max(1, gib // 4)}m",
        "MEMORY": f"{gib * 1024 + 260}Mi",
        "POD_IP": f"10.{number // 62_500}.{number // 250 % 250}.{number % 250}",
        "HOST_IP": f"192.0.2.{number % 250}",
    }
    made = _filled("pod", draw, words)
    if number % 2 == 0:
        volumes = made["spec"]["volumes"]
        made["spec"]["volumes"] = [item for item in volumes if item["name"] != "data"]
    if group % 5 >= 3:
        del made["spec"]["affinity"]["podAntiAffinity"]
    return made
