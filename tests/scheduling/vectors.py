"""Recorded answers of the oracle: small clusters, pods to judge, verdicts and scores.

The file is gzipped JSON lines: a head, then every distinct object once (sorted, so that alike
lines stand together), then one line a scenario that names objects by line number. Pods are as
kube-apiserver stores them; fields that no rule refers to are cut off as in a snapshot.
"""

import gzip
import json
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from gitbot.snapshot.decode import prune
from tests.scheduling.comparison import stored_cluster

Object = dict[str, Any]
FILE = Path(__file__).parent / "recorded" / "kube-scheduler-1.36.3.jsonl.gz"
VERSION = "1.36.3"


@cache
def recorded() -> tuple[tuple[Object, Object], ...]:
    """Scenarios and results, in the forms that the oracle takes and gives. They are shared."""
    with gzip.open(FILE, "rb") as lines:
        return tuple(_recorded(map(msgspec.json.decode, lines)))


def _recorded(lines: Iterator[Any]) -> Iterator[tuple[Object, Object]]:
    head = next(lines)
    assert head["version"] == VERSION
    objects = [next(lines) for _ in range(head["objects"])]
    for name, cluster, judged, results in lines:
        nodes = sorted(
            objects[place]["metadata"]["name"]
            for place in cluster
            if objects[place]["kind"] == "Node"
        )
        scenario = {
            "name": name,
            "objects": [objects[place] for place in cluster],
            "judge": [objects[place] for place in judged],
        }
        yield scenario, {"results": [_verdict(item, nodes) for item in results]}


def write(answered: Iterable[tuple[Object, Object]]) -> bytes:
    """The file of these scenarios and results."""
    texts: dict[str, int] = {}
    rows = []
    for scenario, result in answered:
        pods = [{**prune("Pod", pod), "kind": "Pod"} for pod in result["judged"]]
        cluster = [
            {**prune(item["kind"], item), "kind": item["kind"]}
            for item in stored_cluster(scenario, result)
        ]
        nodes = sorted(item["metadata"]["name"] for item in cluster if item["kind"] == "Node")
        results = [_row(verdict, nodes) for verdict in result["results"]]
        rows.append(
            (scenario["name"], [_text(c) for c in cluster], [_text(p) for p in pods], results)
        )
        for text in (*rows[-1][1], *rows[-1][2]):
            texts.setdefault(text, 0)
    listed = sorted(texts, key=lambda text: (json.loads(text)["kind"], text))
    number = {text: place for place, text in enumerate(listed)}
    head = {
        "source": "the oracle of tests/controlplane",
        "version": VERSION,
        "objects": len(listed),
    }
    lines = [json.dumps(head), *listed]
    for name, objects, judged, results in rows:
        row = [name, [number[t] for t in objects], [number[t] for t in judged], results]
        lines.append(json.dumps(row, separators=(",", ":")))
    return gzip.compress(("\n".join(lines) + "\n").encode(), 9, mtime=0)


def _text(value: Object) -> str:
    return json.dumps(value, separators=(",", ":"), sort_keys=True)


def _row(verdict: Object, nodes: list[str]) -> Object:
    """A verdict with one number a node: 0 passes, k is rejection k - 1."""
    rejections: list[Object] = []
    numbers = []
    for node in nodes:
        found = (verdict.get("rejected") or {}).get(node)
        if found is not None and found not in rejections:
            rejections.append(found)
        numbers.append(rejections.index(found) + 1 if found else 0)
    kept = ("whole", "normalised", "total", "error", "scoreError")
    row = {key: verdict[key] for key in kept if verdict.get(key)}
    return row if "whole" in row else {**row, "nodes": numbers, "rejections": rejections}


def _verdict(row: Object, nodes: list[str]) -> Object:
    numbers, rejections = row.get("nodes", [-1] * len(nodes)), row.get("rejections", [])
    pairs = list(zip(nodes, numbers, strict=True))
    return {
        **row,
        "feasible": [node for node, number in pairs if number == 0],
        "rejected": {node: rejections[number - 1] for node, number in pairs if number > 0},
    }
