"""Nodes and workloads as objects, with the labels and devices that KubeVirt looks for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gitbot.constraints.scheduler import versions as kubernetes
from gitbot.kubevirt.names import API_VERSION
from gitbot.kubevirt.versions import TAG
from gitbot.model.text.canonical import short_digest
from gitbot.simulation.controllers.instance_controller import MACHINE

REGION, ZONE = "topology.kubernetes.io/region", "topology.kubernetes.io/zone"
CPU_MODEL, CPU_VENDOR = "Skylake-Server", "Intel"
_READY = {
    "type": "Ready",
    "status": "True",
    "reason": "KubeletReady",
    "message": "kubelet is ready",
    "lastTransitionTime": "2025-11-01T00:00:00Z",
}


def node(
    name: str,
    *,
    labels: Mapping[str, str] | None = None,
    taints: Sequence[Mapping[str, str]] = (),
    cpu: str = "32",
    memory: str = "128Gi",
    pods: str = "110",
    virtualization: bool = True,
) -> dict[str, Any]:
    """A Ready node; with virtualization it carries what virt-handler and node-labeller write."""
    resources = {"cpu": cpu, "memory": memory, "pods": pods, "ephemeral-storage": "100Gi"}
    found = {
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
    }
    if virtualization:
        found |= _virtualization_labels()
        devices = ("kvm", "tun", "vhost-net")
        resources |= {f"devices.kubevirt.io/{device}": "1k" for device in devices}
    spec: dict[str, Any] = {"taints": [dict(taint) for taint in taints]} if taints else {}
    boot = short_digest(f"boot/{name}", 32)
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {**found, **(labels or {})}},
        "spec": spec,
        "status": {
            "allocatable": resources,
            "capacity": resources,
            "conditions": [dict(_READY)],
            "nodeInfo": {
                "architecture": "amd64",
                "bootID": "-".join((boot[:8], boot[8:12], boot[12:16], boot[16:20], boot[20:])),
                "containerRuntimeVersion": "containerd://2.2.0",
                "kernelVersion": "6.12.0",
                "kubeProxyVersion": kubernetes.TAG,
                "kubeletVersion": kubernetes.TAG,
                "machineID": short_digest(f"machine/{name}", 32),
                "operatingSystem": "linux",
                "osImage": "simulated",
                "systemUUID": short_digest(f"system/{name}", 32),
            },
        },
    }


def _virtualization_labels() -> dict[str, str]:
    keys = (
        f"cpu-model-migration.node.kubevirt.io/{CPU_MODEL}",
        f"cpu-model.node.kubevirt.io/{CPU_MODEL}",
        f"cpu-vendor.node.kubevirt.io/{CPU_VENDOR}",
        f"host-model-cpu.node.kubevirt.io/{CPU_MODEL}",
        "kubevirt.io/schedulable",
        f"machine-type.node.kubevirt.io/{MACHINE}",
        "machine-type.node.kubevirt.io/q35",
    )
    return dict.fromkeys(keys, "true")


def namespace(name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def kubevirt(**configuration: Any) -> dict[str, Any]:
    """The KubeVirt object, Deployed, of the version that the rules follow."""
    return {
        "apiVersion": API_VERSION,
        "kind": "KubeVirt",
        "metadata": {"name": "kubevirt", "namespace": "kubevirt"},
        "spec": {"configuration": configuration},
        "status": {
            "phase": "Deployed",
            "observedKubeVirtVersion": TAG,
            "targetKubeVirtVersion": TAG,
            "outdatedVirtualMachineInstanceWorkloads": 0,
        },
    }


def guest(*, memory: str, cores: int = 1, requests: bool = True) -> dict[str, Any]:
    """`spec.domain` of a VMI: memory as request (or as guest memory), cores."""
    domain: dict[str, Any] = {"cpu": {"cores": cores}, "devices": {}}
    if requests:
        return {**domain, "resources": {"requests": {"memory": memory}}}
    return {**domain, "memory": {"guest": memory}}


def template(labels: Mapping[str, str], spec: Mapping[str, Any]) -> dict[str, Any]:
    return {"metadata": {"labels": dict(labels)}, "spec": dict(spec)}


def instance_replica_set(
    name: str, *, namespace: str, replicas: int, labels: Mapping[str, str], spec: Mapping[str, Any]
) -> dict[str, Any]:
    return {
        "apiVersion": API_VERSION,
        "kind": "VirtualMachineInstanceReplicaSet",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": dict(labels)},
            "template": template(labels, spec),
        },
    }


def machine(
    name: str, *, namespace: str, labels: Mapping[str, str], spec: Mapping[str, Any]
) -> dict[str, Any]:
    return {
        "apiVersion": API_VERSION,
        "kind": "VirtualMachine",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"runStrategy": "Always", "template": template(labels, spec)},
    }
