"""A node as the API server sends it."""

from __future__ import annotations

import random
from typing import Any

from tests.bench.api_parts import digits, fields, managed, moment, node_name, uid

ZONES = ("zone-a", "zone-b", "zone-c")
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


def _node_labels(name: str, number: int) -> dict[str, str]:
    return {
        "kubernetes.io/hostname": name,
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/os": "linux",
        "topology.kubernetes.io/zone": ZONES[number % len(ZONES)],
        "topology.kubernetes.io/region": "region-1",
        "rack": f"rack-{number // 40:03}",
        "node-role.kubernetes.io/worker": "",
        "kubevirt.io/schedulable": "true",
        "cpu-vendor.node.kubevirt.io/Intel": "true",
        "host-model-cpu.node.kubevirt.io/Skylake-Server": "true",
        **_FEATURES,
    }


def _node_status(draw: random.Random, name: str, number: int, beat: str) -> dict[str, Any]:
    amounts = {
        "cpu": "64",
        "memory": f"{512 * 1024 * 1024 - draw.randrange(4) * 1024}Ki",
        "pods": "250",
        "ephemeral-storage": "420188323840",
        "hugepages-1Gi": "0",
        "hugepages-2Mi": "0",
        **{f"devices.kubevirt.io/{device}": "1k" for device in ("kvm", "tun", "vhost-net")},
    }
    conditions = [
        {
            "type": kind,
            "status": "True" if kind == "Ready" else "False",
            "lastHeartbeatTime": beat,
            "lastTransitionTime": "2025-10-01T06:00:00Z",
            "reason": f"Kubelet{kind}",
            "message": f"kubelet reports {kind} as it should be",
        }
        for kind in ("MemoryPressure", "DiskPressure", "PIDPressure", "Ready")
    ]
    return {
        "capacity": amounts,
        "allocatable": amounts,
        "conditions": conditions,
        "addresses": [
            {"type": "InternalIP", "address": f"192.0.2.{number % 250}"},
            {"type": "Hostname", "address": name},
        ],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
        "nodeInfo": {
            "machineID": digits(draw, 32),
            "systemUUID": uid(draw),
            "bootID": uid(draw),
            "kernelVersion": "6.12.0-55.el10.x86_64",
            "osImage": "Example Linux 10",
            "containerRuntimeVersion": "cri-o://1.36.1",
            "kubeletVersion": "v1.36.3",
            "kubeProxyVersion": "",
            "operatingSystem": "linux",
            "architecture": "amd64",
        },
        "images": _IMAGES,
    }


def api_node(draw: random.Random, number: int, _nodes: int) -> dict[str, Any]:
    name, beat = node_name(number), moment(draw)
    labels = _node_labels(name, number)
    taint = {"key": "dedicated", "value": "db", "effect": "NoSchedule"}
    network = f"10.{number // 250 % 250}.{number % 250}.0/24"
    return {
        "metadata": {
            "name": name,
            "uid": uid(draw),
            "resourceVersion": str(draw.randrange(10**8)),
            "creationTimestamp": moment(draw),
            "labels": labels,
            "annotations": {
                "kubevirt.io/heartbeat": beat,
                "node.alpha.kubernetes.io/ttl": "0",
                "volumes.kubernetes.io/controller-managed-attach-detach": "true",
            },
            "managedFields": [
                managed(draw, "virt-handler", {"f:metadata": {"f:labels": fields(list(labels))}}),
                managed(draw, "kubelet", {"f:status": fields(["images"])}, "status"),
            ],
        },
        "spec": {
            "podCIDR": network,
            "podCIDRs": [network],
            "providerID": f"metal://{name}",
            **({"taints": [taint]} if number % 20 == 7 else {}),
            **({"unschedulable": True} if number % 97 == 13 else {}),
        },
        "status": _node_status(draw, name, number, beat),
    }
