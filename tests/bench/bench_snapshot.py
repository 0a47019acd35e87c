"""What reading a large cluster costs: 5,000 nodes, 50,000 pods, in pages of 1,000."""

from __future__ import annotations

import json
import resource
import time
from typing import Any

from gitbot.snapshot import from_pruned, read_snapshot, write_snapshot
from gitbot.snapshot.decode import decode_page

NODES = 5_000
PODS = 50_000
PAGE = 1_000


def node(number: int) -> dict[str, Any]:
    name = f"node-{number:05}"
    return {
        "metadata": {
            "name": name,
            "uid": f"uid-{name}",
            "labels": {"kubernetes.io/hostname": name} | {f"label-{n}": "x" for n in range(20)},
            "managedFields": [{"manager": "kubelet", "fieldsV1": {"f:status": {"f:x": {}}}}] * 4,
        },
        "spec": {},
        "status": {
            "allocatable": {"cpu": "64", "memory": "256Gi", "pods": "110"},
            "conditions": [{"type": "Ready", "status": "True"}],
            "images": [{"names": [f"registry.example/{n}:1"], "sizeBytes": n} for n in range(20)],
        },
    }


def pod(number: int) -> dict[str, Any]:
    name = f"virt-launcher-vm-{number:06}"
    env = [{"name": f"VARIABLE_{n}", "value": "value"} for n in range(10)]
    return {
        "metadata": {
            "name": name,
            "namespace": f"team-{number % 200}",
            "uid": f"uid-{name}",
            "labels": {"kubevirt.io": "virt-launcher", "kubevirt.io/created-by": f"vmi-{number}"},
            "managedFields": [{"manager": "x", "fieldsV1": {"f:spec": {"f:x": {}}}}] * 6,
        },
        "spec": {
            "nodeName": f"node-{number % NODES:05}",
            "containers": [
                {
                    "name": "compute",
                    "image": "registry.example/launcher:1",
                    "command": ["/usr/bin/virt-launcher-monitor"] * 6,
                    "env": env,
                    "resources": {"requests": {"cpu": "400m", "memory": "2340Mi"}},
                }
            ],
            "tolerations": [{"key": "node.kubernetes.io/not-ready", "operator": "Exists"}],
        },
        "status": {"phase": "Running", "podIPs": [{"ip": "10.0.0.1"}] * 2},
    }


def pages(kind: str, count: int) -> list[bytes]:
    made = node if kind == "Node" else pod
    return [
        json.dumps(
            {"kind": f"{kind}List", "items": [made(n) for n in range(start, start + PAGE)]}
        ).encode()
        for start in range(0, count, PAGE)
    ]


def main() -> None:
    raw = {"Node": pages("Node", NODES), "Pod": pages("Pod", PODS)}
    megabytes = sum(len(page) for group in raw.values() for page in group) / 1e6
    started = time.perf_counter()
    objects = {
        kind: [obj for page in group for obj in decode_page(kind, page).objects]
        for kind, group in raw.items()
    }
    decoded = time.perf_counter()
    snapshot = from_pruned("bench", objects, 0)
    made = time.perf_counter()
    data = write_snapshot(snapshot)
    written = time.perf_counter()
    read_snapshot([("bench", data)], 0)
    read = time.perf_counter()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(
        f"snapshot of {NODES} nodes and {PODS} pods ({megabytes:.0f} MB of JSON): "
        f"decode {decoded - started:.2f} s, sort and digest {made - decoded:.2f} s, "
        f"write {written - made:.2f} s ({len(data) / 1e6:.1f} MB), read back "
        f"{read - written:.2f} s, peak of the process {peak} MiB"
    )


if __name__ == "__main__":
    main()
