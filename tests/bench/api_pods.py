"""A virt-launcher pod as the API server sends it."""

from __future__ import annotations

import random
from typing import Any

from tests.bench.api_parts import digits, fields, managed, moment, node_name, uid

GIB = (4, 8, 16, 32, 64)

_EMPTY_DIRS = (
    "private", "public", "sockets", "virt-bin-share-dir", "libvirt-runtime", "ephemeral-disks",
    "container-disks",
)  # fmt: skip


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
        **fields(["command", "env", "image", "imagePullPolicy", "name", "securityContext"]),
        "f:resources": {".": {}, "f:limits": {".": {}}, "f:requests": {".": {}}},
        "f:volumeMounts": {".": {}, **mounts},
    }
    console = {".": {}, **fields(list(_CONSOLE))}
    volumes: dict[str, Any] = {
        f'k:{{"name":"{name}"}}': {".": {}, "f:emptyDir": {}, "f:name": {}} for name in _EMPTY_DIRS
    }
    spec = {
        **fields(["affinity", "automountServiceAccountToken", "dnsPolicy", "enableServiceLinks"]),
        "f:containers": {'k:{"name":"compute"}': container},
        "f:initContainers": {'k:{"name":"guest-console-log"}': console},
        **fields(["hostname", "nodeSelector", "restartPolicy", "schedulerName", "tolerations"]),
        "f:volumes": {".": {}, **volumes},
    }
    owner: dict[str, Any] = {f'k:{{"uid":"{uid(draw)}"}}': {}}
    metadata = {"f:labels": fields(labels), "f:ownerReferences": {".": {}, **owner}}
    conditions = {
        f'k:{{"type":"{kind}"}}': {".": {}, **fields(["lastTransitionTime", "status", "type"])}
        for kind in ("Ready", "Initialized", "ContainersReady", "PodReadyToStartContainers")
    }
    status = {"f:conditions": conditions, **fields(["hostIP", "phase", "podIP", "startTime"])}
    return [
        managed(draw, "virt-controller", {"f:metadata": metadata, "f:spec": spec}),
        managed(draw, "multus", {"f:metadata": {"f:annotations": fields(labels)}}, "status"),
        managed(draw, "kubelet", {"f:status": status}, "status"),
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
        "containerID": f"cri-o://{digits(draw, 64)}",
        "started": True,
        "allocatedResources": requests,
        "resources": {"requests": requests},
        "volumeMounts": [
            {"mountPath": f"/var/run/kubevirt/{name}", "name": name} for name in _EMPTY_DIRS
        ],
    }


def _pod_metadata(
    draw: random.Random, vm: str, labels: dict[str, str], namespace: str, started: str
) -> dict[str, Any]:
    owner = {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachineInstance",
        "name": vm,
        "uid": labels["kubevirt.io/created-by"],
        "controller": True,
        "blockOwnerDeletion": True,
    }
    return {
        "name": f"virt-launcher-{vm}-{digits(draw, 5)}",
        "generateName": f"virt-launcher-{vm}-",
        "namespace": namespace,
        "uid": uid(draw),
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
            "k8s.v1.cni.cncf.io/network-status": f'[{{"name": "{vm}", "ips": ["10.0.0.1"]}}]',
        },
        "ownerReferences": [owner],
        "managedFields": _pod_managed(draw, list(labels)),
    }


def _pod_spec(vm: str, claims: list[str]) -> dict[str, Any]:
    volumes = [
        *({"name": name, "emptyDir": {}} for name in _EMPTY_DIRS),
        *(
            {"name": name, "persistentVolumeClaim": {"claimName": f"{vm}-{name}"}}
            for name in claims
        ),
        {"name": "hotplug-disks", "emptyDir": {}},
    ]
    return {
        "volumes": volumes,
        "initContainers": [_CONSOLE],
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": 60,
        "dnsPolicy": "ClusterFirst",
        "nodeSelector": {"kubernetes.io/arch": "amd64", "kubevirt.io/schedulable": "true"},
        "automountServiceAccountToken": False,
        "securityContext": {"fsGroup": 107, "runAsGroup": 107, "runAsUser": 107},
        "hostname": vm,
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
    }


_POD_CONDITIONS = (
    "PodReadyToStartContainers",
    "Initialized",
    "Ready",
    "ContainersReady",
    "PodScheduled",
)


def _pod_status(draw: random.Random, number: int, gib: int, started: str) -> dict[str, Any]:
    address = f"10.{number // 62_500}.{number // 250 % 250}.{number % 250}"
    console = _CONSOLE["resources"]["requests"]
    return {
        "phase": "Running",
        "conditions": [
            {
                "type": kind,
                "status": "True",
                "lastProbeTime": None,
                "lastTransitionTime": started,
                "observedGeneration": 1,
            }
            for kind in _POD_CONDITIONS
        ],
        "hostIP": f"192.0.2.{number % 250}",
        "podIP": address,
        "podIPs": [{"ip": address}],
        "startTime": started,
        "containerStatuses": [_status(draw, "compute", started, _requests(gib))],
        "initContainerStatuses": [_status(draw, "guest-console-log", started, console)],
        "qosClass": "Burstable",
    }


def api_pod(draw: random.Random, number: int, nodes: int) -> dict[str, Any]:
    group = number // 3
    namespace, app, gib = f"team-{group % 200:03}", f"app-{group:05}", draw.choice(GIB)
    vm, owner, started = f"vm-{number:06}", uid(draw), moment(draw)
    node = node_name(draw.randrange(nodes))
    labels = {
        "app": app,
        "kubevirt.io": "virt-launcher",
        "kubevirt.io/created-by": owner,
        "kubevirt.io/nodeName": node,
        "vm.kubevirt.io/name": vm,
    }
    return {
        "metadata": _pod_metadata(draw, vm, labels, namespace, started),
        "spec": {
            **_pod_spec(vm, ["rootdisk", "data"] if number % 2 else ["rootdisk"]),
            "containers": [_container(vm, namespace, owner, gib)],
            "nodeName": node,
            "affinity": {**_HOST_MODEL, **(_anti_affinity(app) if group % 5 < 3 else {})},
        },
        "status": _pod_status(draw, number, gib, started),
    }
