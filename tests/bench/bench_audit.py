"""The whole process `gitbot audit --snapshot FILE`, from its start to the last byte of its output.

500 nodes with 3,000 VMs and 2,000 other pods; `--full`: 5,000 nodes, 30,000 VMs, 50,000 pods. Every
VM has its own required anti-affinity and a preference, one in five a topology spread; 1 % of the
nodes lost their rack label, and one VM in 500 shares its node with a foe. 300 rules (6,000).
"""

import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gitbot.snapshot import from_objects, write_snapshot
from tests.bench.bench_process import CHILD, NOW, bound, used
from tests.bench.large_cluster import TAKEN_AT, objects, write
from tests.bench.table import Figure, ms, show

SIZES = (500,)
FULL = 5_000
GOAL_SECONDS, GOAL_MIB = 10.0, 1536.0  # at 5,000 nodes
_RACK = "example.com/rack"
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_AUDIT = ("-m", "gitbot", "audit", "--now", NOW, "-o", "json", "--snapshot")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """What one cluster has."""

    nodes: int
    others: int
    rules: int


def _terms(app: str) -> dict[str, Any]:
    selector = {"matchLabels": {"app": app}}
    term = {"labelSelector": selector, "topologyKey": "kubernetes.io/hostname"}
    wish = {"weight": 10, "podAffinityTerm": {"labelSelector": selector, "topologyKey": _RACK}}
    even = {
        "maxSkew": 2,
        "topologyKey": "topology.kubernetes.io/zone",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": selector,
    }
    return {
        "affinity": {"podAntiAffinity": {_REQUIRED: [term], _PREFERRED: [wish]}},
        **({} if int(app.rpartition("-")[2]) % 5 else {"topologySpreadConstraints": [even]}),
    }


def asking(count: int) -> Iterator[dict[str, Any]]:
    """The objects of the large cluster, with terms of their own and the planted breaches."""
    for obj in objects(count):
        kind, labels = obj["kind"], obj["metadata"].get("labels") or {}
        if kind == "Node":
            number = int(obj["metadata"]["name"].rpartition("-")[2])
            rack = {_RACK: f"rack-{number % (count // 20)}"} if number % 100 else {}
            obj["metadata"]["labels"] = {**labels, **rack}
        elif kind in ("VirtualMachineInstance", "Pod"):
            obj["spec"] = {**obj["spec"], **_terms(labels["app"])}
        elif kind == "VirtualMachine":
            template = obj["spec"]["template"]
            template["spec"] = {**template["spec"], **_terms(template["metadata"]["labels"]["app"])}
        yield obj


def _others(sizes: Sizes) -> Iterator[dict[str, Any]]:
    """Pods that are not VMs: three of four by DaemonSets with a node affinity by name.

    The others are of ReplicaSets, whose members are spread.
    """
    for number in range(sizes.others):
        on = f"worker-{number % sizes.nodes:05}"
        field = {"key": "metadata.name", "operator": "In", "values": [on]}
        kind, app = "DaemonSet" if number % 4 else "ReplicaSet", f"agent-{number % 40}"
        nodes = {"nodeAffinity": {_REQUIRED: {"nodeSelectorTerms": [{"matchFields": [field]}]}}}
        yield {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": f"other-{number:06}",
                "namespace": "kube-system" if number % 4 else "team-00",
                "uid": f"other-{number}",
                "labels": {"app": app},
                "ownerReferences": [
                    {"apiVersion": "apps/v1", "kind": kind, "name": app, "uid": app}
                    | {"controller": True}
                ],
            },
            "spec": {
                "nodeName": on,
                "affinity": nodes if number % 4 else {},
                "containers": [{"name": "c", "resources": {"requests": {"cpu": "10m"}}}],
            },
            "status": {"phase": "Running", "startTime": "2026-12-01T00:00:00Z"},
        }


def _write(folder: Path, sizes: Sizes) -> Path:
    write(folder, 10, rules=sizes.rules)
    found = [*asking(sizes.nodes), *_others(sizes)]
    places = [obj for obj in found if obj["kind"] == "Pod" and obj["spec"].get("nodeName")]
    for number in range(0, sizes.nodes * 6, 500):  # onto the node of the next one, of its own app
        _join(found, places[number], places[number + 1]["spec"]["nodeName"])
    file = folder / "cluster.json.gz"
    snapshot = from_objects("prod", found, TAKEN_AT, kubernetes_version="v1.36.3")
    file.write_bytes(write_snapshot(snapshot))
    return file


def _join(found: list[dict[str, Any]], pod: dict[str, Any], node: str) -> None:
    uid = pod["metadata"]["labels"].get("kubevirt.io/created-by")
    pod["spec"]["nodeName"] = node
    for obj in found:
        if obj["kind"] == "VirtualMachineInstance" and obj["metadata"]["uid"] == uid:
            obj["status"]["nodeName"] = node
            obj["status"]["activePods"] = {pod["metadata"]["uid"]: node}


def _figures(sizes: Sizes, rounds: int) -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        file = str(_write(folder, sizes))
        sides = ((*_AUDIT, file), (*CHILD, "decode", file))
        taken = [[used(*side, folder=folder) for side in sides] for _ in range(rounds)]
    audit, decoded = (min(side, key=lambda one: one.seconds) for side in zip(*taken, strict=True))
    vms = sizes.nodes * 6
    what = f"gitbot audit, {sizes.nodes:,} nodes, {vms:,} VMs, {vms + sizes.others:,} pods"
    yield Figure(
        what=f"{what}: processor time",
        gitbot=ms(audit.seconds),
        peer=f"{ms(decoded.seconds)} (reading, decoding)",
        ratio=decoded.seconds / audit.seconds,
    )
    if sizes.nodes == FULL:
        yield bound(f"{what}: processor time", audit.seconds, GOAL_SECONDS, "s")
        yield bound(f"{what}: peak memory", audit.mib, GOAL_MIB, "MiB")
    else:
        yield Figure(what=f"{what}: peak memory", gitbot=f"{audit.mib:.0f} MiB")


def figures(*, full: bool = False) -> Iterator[Figure]:
    for nodes in (*SIZES, *((FULL,) if full else ())):
        sizes = Sizes(nodes=nodes, others=nodes * 4, rules=nodes * 6 // 5)
        yield from _figures(sizes, rounds=1 if nodes == FULL else 3)


if __name__ == "__main__":
    show(figures(full="--full" in sys.argv))
