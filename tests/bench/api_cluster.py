"""A cluster as the API server sends it: pages of nodes and launcher pods, made from a seed.

Sizes follow what KubeVirt clusters show: a node of 120 CPU labels and 50 images is about 23 kB of
JSON, a virt-launcher pod with ten volumes and three entries of managedFields about 12 kB.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

PAGE = 200
ZONES = ("zone-a", "zone-b", "zone-c")
GIB = (4, 8, 16, 32, 64)
_HEX = "0123456789abcdef"


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


def _hex(draw: random.Random, count: int) -> str:
    return "".join(draw.choices(_HEX, k=count))


def _uid(draw: random.Random) -> str:
    return "-".join(_hex(draw, count) for count in (8, 4, 4, 4, 12))


def _time(draw: random.Random) -> str:
    day, second = draw.randrange(1, 29), draw.randrange(86_400)
    return f"2025-11-{day:02}T{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}Z"


def _fields(keys: list[str]) -> dict[str, Any]:
    return {f"f:{key}": {} for key in keys}


def _managed(draw: random.Random, manager: str, tree: dict[str, Any], status: str = "") -> Any:
    entry = {
        "manager": manager,
        "operation": "Update",
        "apiVersion": "v1",
        "time": _time(draw),
        "fieldsType": "FieldsV1",
        "fieldsV1": tree,
    }
    return entry | ({"subresource": status} if status else {})


def node_name(number: int) -> str:
    """The name of a node by its number."""
    return f"worker-{number:05}.example"


def _node(draw: random.Random, number: int, _nodes: int) -> dict[str, Any]:
    name = node_name(number)
    labels = {
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
    }
    labels |= {f"cpu-feature.node.kubevirt.io/feature-{item:03}": "true" for item in range(110)}
    amounts = {
        "cpu": "64",
        "memory": f"{512 * 1024 * 1024 - draw.randrange(4) * 1024}Ki",
        "pods": "250",
        "ephemeral-storage": "420188323840",
        "hugepages-1Gi": "0",
        "hugepages-2Mi": "0",
        **dict.fromkeys(("devices.kubevirt.io/kvm", "devices.kubevirt.io/tun"), "1k"),
        "devices.kubevirt.io/vhost-net": "1k",
    }
    images = [
        {
            "names": [
                f"registry.example/team/image-{item:02}@sha256:{item:064x}",
                f"registry.example/team/image-{item:02}:v1.{item}",
            ],
            "sizeBytes": 50_000_000 + 1_000_003 * item,
        }
        for item in range(50)
    ]
    beat = _time(draw)
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
    managed = [
        _managed(draw, "virt-handler", {"f:metadata": {"f:labels": _fields(list(labels))}}),
        _managed(draw, "kubelet", {"f:status": {"f:images": {}, "f:conditions": {}}}, "status"),
    ]
    return {
        "metadata": {
            "name": name,
            "uid": _uid(draw),
            "resourceVersion": str(draw.randrange(10**8)),
            "creationTimestamp": _time(draw),
            "labels": labels,
            "annotations": {
                "kubevirt.io/heartbeat": beat,
                "node.alpha.kubernetes.io/ttl": "0",
                "volumes.kubernetes.io/controller-managed-attach-detach": "true",
            },
            "managedFields": managed,
        },
        "spec": {
            "podCIDR": f"10.{number // 250 % 250}.{number % 250}.0/24",
            "podCIDRs": [f"10.{number // 250 % 250}.{number % 250}.0/24"],
            "providerID": f"metal://{name}",
            **(
                {"taints": [{"key": "dedicated", "value": "db", "effect": "NoSchedule"}]}
                if number % 20 == 7
                else {}
            ),
            **({"unschedulable": True} if number % 97 == 13 else {}),
        },
        "status": {
            "capacity": amounts,
            "allocatable": amounts,
            "conditions": conditions,
            "addresses": [
                {"type": "InternalIP", "address": f"192.0.2.{number % 250}"},
                {"type": "Hostname", "address": name},
            ],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
            "nodeInfo": {
                "machineID": _hex(draw, 32),
                "systemUUID": _uid(draw),
                "bootID": _uid(draw),
                "kernelVersion": "6.12.0-55.el10.x86_64",
                "osImage": "Example Linux 10",
                "containerRuntimeVersion": "cri-o://1.36.1",
                "kubeletVersion": "v1.36.3",
                "kubeProxyVersion": "",
                "operatingSystem": "linux",
                "architecture": "amd64",
            },
            "images": images,
        },
    }


_EMPTY_DIRS = (
    "private",
    "public",
    "sockets",
    "virt-bin-share-dir",
    "libvirt-runtime",
    "ephemeral-disks",
    "container-disks",
)


def _anti_affinity(app: str) -> dict[str, Any]:
    term = {
        "labelSelector": {"matchLabels": {"app": app}},
        "topologyKey": "topology.kubernetes.io/zone",
    }
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


_HOST_MODEL = {
    "nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [
                {
                    "matchExpressions": [
                        {
                            "key": "node-labeller.kubevirt.io/obsolete-host-model",
                            "operator": "DoesNotExist",
                        }
                    ]
                }
            ]
        }
    }
}
_SECURITY = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"add": ["NET_BIND_SERVICE"], "drop": ["ALL"]},
    "privileged": False,
    "runAsGroup": 107,
    "runAsNonRoot": True,
    "runAsUser": 107,
}


_IMAGE = "registry.example/kubevirt/virt-launcher:v1.9.0"
_CONSOLE: dict[str, Any] = {
    "name": "guest-console-log",
    "image": _IMAGE,
    "imagePullPolicy": "IfNotPresent",
    "command": ["/usr/bin/virt-tail"],
    "args": ["--logfile", "/var/run/kubevirt-private/virt-serial0-log"],
    "resources": {
        "limits": {"cpu": "15m", "memory": "60M"},
        "requests": {"cpu": "5m", "memory": "35M"},
    },
    "restartPolicy": "Always",
    "env": [{"name": "VIRT_LAUNCHER_LOG_VERBOSITY", "value": "2"}],
    "securityContext": _SECURITY,
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
    "volumeMounts": [
        {"mountPath": "/var/run/kubevirt-private", "name": "private", "readOnly": True}
    ],
}


def _requests(gib: int) -> dict[str, str]:
    devices = {f"devices.kubevirt.io/{name}": "1" for name in ("kvm", "tun", "vhost-net")}
    return {
        "cpu": f"{100 * max(1, gib // 4)}m",
        "ephemeral-storage": "50M",
        "memory": f"{gib * 1024 + 260}Mi",
        **devices,
    }


def _container(vm: str, namespace: str, uid: str, gib: int) -> dict[str, Any]:
    requests = _requests(gib)
    devices = {name: value for name, value in requests.items() if "/" in name}
    return {
        "name": "compute",
        "image": _IMAGE,
        "imagePullPolicy": "IfNotPresent",
        "command": [
            *("/usr/bin/virt-launcher-monitor", "--qemu-timeout", "277s", "--name", vm),
            *("--uid", uid, "--namespace", namespace, "--kubevirt-share-dir"),
            *("/var/run/kubevirt", "--ephemeral-disk-dir", "/var/run/kubevirt-ephemeral-disks"),
            *("--container-disk-dir", "/var/run/kubevirt/container-disks", "--grace-period"),
            *("45", "--hook-sidecars", "0", "--ovmf-path", "/usr/share/OVMF", "--run-as-nonroot"),
        ],
        "env": [
            {"name": "XDG_CACHE_HOME", "value": "/var/run/kubevirt-private"},
            {"name": "XDG_CONFIG_HOME", "value": "/var/run/kubevirt-private"},
            {"name": "XDG_RUNTIME_DIR", "value": "/var/run"},
            {
                "name": "POD_NAME",
                "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.name"}},
            },
        ],
        "resources": {
            "limits": devices,
            "requests": requests,
        },
        "securityContext": _SECURITY,
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
        "volumeMounts": [
            {"mountPath": f"/var/run/kubevirt/{name}", "name": name, "mountPropagation": "None"}
            for name in _EMPTY_DIRS
        ],
        "volumeDevices": [{"devicePath": "/dev/rootdisk", "name": "rootdisk"}],
    }


def _pod_managed(draw: random.Random, labels: list[str]) -> list[Any]:
    mounts: dict[str, Any] = {
        f'k:{{"mountPath":"/var/run/kubevirt/{name}"}}': {
            ".": {},
            "f:mountPath": {},
            "f:name": {},
        }
        for name in _EMPTY_DIRS
    }
    container = {
        ".": {},
        **_fields(["command", "env", "image", "imagePullPolicy", "name", "securityContext"]),
        "f:resources": {".": {}, "f:limits": {".": {}}, "f:requests": {".": {}}},
        "f:volumeMounts": {".": {}, **mounts},
    }
    console = {".": {}, **_fields(list(_CONSOLE))}
    volumes: dict[str, Any] = {
        f'k:{{"name":"{name}"}}': {".": {}, "f:emptyDir": {}, "f:name": {}} for name in _EMPTY_DIRS
    }
    spec = {
        **_fields(["affinity", "automountServiceAccountToken", "dnsPolicy", "enableServiceLinks"]),
        "f:containers": {'k:{"name":"compute"}': container},
        "f:initContainers": {'k:{"name":"guest-console-log"}': console},
        **_fields(["hostname", "nodeSelector", "restartPolicy", "schedulerName", "tolerations"]),
        "f:volumes": {".": {}, **volumes},
    }
    owner: dict[str, Any] = {f'k:{{"uid":"{_uid(draw)}"}}': {}}
    metadata = {"f:labels": _fields(labels), "f:ownerReferences": {".": {}, **owner}}
    conditions = {
        f'k:{{"type":"{kind}"}}': {".": {}, **_fields(["lastTransitionTime", "status", "type"])}
        for kind in ("Ready", "Initialized", "ContainersReady", "PodReadyToStartContainers")
    }
    status = {"f:conditions": conditions, **_fields(["hostIP", "phase", "podIP", "startTime"])}
    return [
        _managed(draw, "virt-controller", {"f:metadata": metadata, "f:spec": spec}),
        _managed(draw, "multus", {"f:metadata": {"f:annotations": _fields(labels)}}, "status"),
        _managed(draw, "kubelet", {"f:status": status}, "status"),
    ]


def _status(
    draw: random.Random, name: str, started: str, requests: dict[str, str]
) -> dict[str, Any]:
    return {
        "name": name,
        "state": {"running": {"startedAt": started}},
        "lastState": {},
        "ready": True,
        "restartCount": 0,
        "image": _IMAGE,
        "imageID": f"registry.example/kubevirt/virt-launcher@sha256:{7:064x}",
        "containerID": f"cri-o://{_hex(draw, 64)}",
        "started": True,
        "allocatedResources": requests,
        "resources": {"requests": requests},
        "volumeMounts": [
            {"mountPath": f"/var/run/kubevirt/{name}", "name": name} for name in _EMPTY_DIRS
        ],
    }


def _pod(draw: random.Random, number: int, nodes: int) -> dict[str, Any]:
    group = number // 3
    namespace, app, gib = f"team-{group % 200:03}", f"app-{group:05}", draw.choice(GIB)
    vm, instance_uid, started = f"vm-{number:06}", _uid(draw), _time(draw)
    node = node_name(draw.randrange(nodes))
    labels = {
        "app": app,
        "kubevirt.io": "virt-launcher",
        "kubevirt.io/created-by": instance_uid,
        "kubevirt.io/nodeName": node,
        "vm.kubevirt.io/name": vm,
    }
    claims = [f"{vm}-rootdisk", *([f"{vm}-data"] if number % 2 else [])]
    volumes = [
        *({"name": name, "emptyDir": {}} for name in _EMPTY_DIRS),
        *(
            {"name": claim[len(vm) + 1 :], "persistentVolumeClaim": {"claimName": claim}}
            for claim in claims
        ),
        {"name": "hotplug-disks", "emptyDir": {}},
    ]
    conditions = [
        {
            "type": kind,
            "status": "True",
            "lastProbeTime": None,
            "lastTransitionTime": started,
            "observedGeneration": 1,
        }
        for kind in (
            "PodReadyToStartContainers",
            "Initialized",
            "Ready",
            "ContainersReady",
            "PodScheduled",
        )
    ]
    address = f"10.{number // 62_500}.{number // 250 % 250}.{number % 250}"
    return {
        "metadata": {
            "name": f"virt-launcher-{vm}-{_hex(draw, 5)}",
            "generateName": f"virt-launcher-{vm}-",
            "namespace": namespace,
            "uid": _uid(draw),
            "resourceVersion": str(draw.randrange(10**8)),
            "generation": 1,
            "creationTimestamp": started,
            "labels": labels,
            "annotations": {
                "kubectl.kubernetes.io/default-container": "compute",
                "kubevirt.io/domain": vm,
                "kubevirt.io/memory-overhead-bytes": "272629760",
                "kubevirt.io/migrationTransportUnix": "true",
                "post.hook.backup.velero.io/command": f'["/usr/bin/virt-freezer", "{vm}"]',
                "k8s.v1.cni.cncf.io/network-status": f'[{{"ips": ["{address}"]}}]',
            },
            "ownerReferences": [
                {
                    "apiVersion": "kubevirt.io/v1",
                    "kind": "VirtualMachineInstance",
                    "name": vm,
                    "uid": instance_uid,
                    "controller": True,
                    "blockOwnerDeletion": True,
                }
            ],
            "managedFields": _pod_managed(draw, list(labels)),
        },
        "spec": {
            "volumes": volumes,
            "initContainers": [_CONSOLE],
            "containers": [_container(vm, namespace, instance_uid, gib)],
            "restartPolicy": "Never",
            "terminationGracePeriodSeconds": 60,
            "dnsPolicy": "ClusterFirst",
            "nodeSelector": {"kubernetes.io/arch": "amd64", "kubevirt.io/schedulable": "true"},
            "automountServiceAccountToken": False,
            "nodeName": node,
            "securityContext": {"fsGroup": 107, "runAsGroup": 107, "runAsUser": 107},
            "hostname": vm,
            "affinity": {**_HOST_MODEL, **(_anti_affinity(app) if group % 5 < 3 else {})},
            "schedulerName": "default-scheduler",
            "tolerations": [
                {
                    "key": f"node.kubernetes.io/{what}",
                    "operator": "Exists",
                    "effect": "NoExecute",
                    "tolerationSeconds": 300,
                }
                for what in ("not-ready", "unreachable")
            ],
            "priority": 0,
            "enableServiceLinks": False,
            "preemptionPolicy": "PreemptLowerPriority",
            "readinessGates": [{"conditionType": "kubevirt.io/virtual-machine-unpaused"}],
        },
        "status": {
            "phase": "Running",
            "conditions": conditions,
            "hostIP": f"192.0.2.{number % 250}",
            "podIP": address,
            "podIPs": [{"ip": address}],
            "startTime": started,
            "containerStatuses": [_status(draw, "compute", started, _requests(gib))],
            "initContainerStatuses": [
                _status(draw, "guest-console-log", started, _CONSOLE["resources"]["requests"])
            ],
            "qosClass": "Burstable",
        },
    }
