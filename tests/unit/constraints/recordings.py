"""Verdicts recorded from kube-scheduler (see the first line of each file for its source).

One line is one scenario: plain objects as read back from an API server, pods to judge, results.
`verdict` has a number for each node in the order of `nodes`: 0 passes, k is `rejections[k-1]`,
the first plugin that rejects; `all` lists every plugin where there is more than the first;
`normalised` and `total` hold scores in the order of `feasible`.
"""

import gzip
import json
from functools import cache
from pathlib import Path
from typing import Any

from gitbot.model.cluster.cluster import ClusterSnapshot

_FOLDER = Path(__file__).parent / "recorded"
_KINDS = {
    "csiNodes": "CSINode",
    "namespaces": "Namespace",
    "nodes": "Node",
    "persistentVolumeClaims": "PersistentVolumeClaim",
    "persistentVolumes": "PersistentVolume",
    "pods": "Pod",
    "replicaSets": "ReplicaSet",
    "runtimeClasses": "RuntimeClass",
    "services": "Service",
    "storageClasses": "StorageClass",
}


@cache
def recorded(version: str = "1.36.3") -> tuple[dict[str, Any], ...]:
    """The scenarios."""
    path = _FOLDER / f"kube-scheduler-{version}.jsonl.gz"
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        head = json.loads(next(lines))
        scenarios = tuple(json.loads(line) for line in lines)
    assert head["version"] == version
    assert head["scenarios"] == len(scenarios)
    return tuple({**scenario, "version": version} for scenario in scenarios)


def scenario_snapshot(scenario: dict[str, Any]) -> ClusterSnapshot:
    """The cluster of one scenario."""
    objects = {kind: tuple(scenario[key]) for key, kind in _KINDS.items() if key in scenario}
    return ClusterSnapshot(
        cluster="recorded",
        taken_at=0,
        objects=objects,
        digest="",
        kubernetes_version=f"v{scenario['version']}",
    )
