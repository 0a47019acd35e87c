"""Small objects for tables."""

from typing import Any

Object = dict[str, Any]

KUBEVIRT: Object = {"metadata": {"namespace": "kubevirt"}, "spec": {"configuration": {}}}


def condition(name: str, status: str, reason: str = "", message: str = "") -> Object:
    return {"type": name, "status": status, "reason": reason, "message": message}


def vmi(name: str = "db-1", **status: Any) -> Object:
    """A running VMI that can migrate; keywords replace parts of its status."""
    conditions = [condition("LiveMigratable", "True"), condition("Ready", "True")]
    known = {
        "phase": "Running",
        "nodeName": "n1",
        "selinuxContext": "none",
        "conditions": conditions,
    }
    return {
        "kind": "VirtualMachineInstance",
        "apiVersion": "kubevirt.io/v1",
        "metadata": {"name": name, "namespace": "shop", "uid": f"uid-{name}"},
        "spec": {
            "architecture": "amd64",
            "domain": {"cpu": {"cores": 1, "model": "host-model"}, "memory": {"guest": "1Gi"}},
        },
        "status": {**known, **status},
    }


def migration(name: str, vmi_name: str = "db-1", phase: str = "Pending", **more: Any) -> Object:
    return {
        "kind": "VirtualMachineInstanceMigration",
        "metadata": {"name": name, "namespace": "shop", "uid": f"uid-{name}", **more},
        "spec": {"vmiName": vmi_name},
        "status": {"phase": phase},
    }


def node(name: str = "n1", **labels: str) -> Object:
    return {"kind": "Node", "metadata": {"name": name, "labels": labels}, "spec": {}}


def vmi_spec(strategy: str) -> Object:
    return {
        "architecture": "amd64",
        "evictionStrategy": strategy,
        "domain": {
            "cpu": {"cores": 1, "model": "host-model"},
            "machine": {"type": "q35"},
            "memory": {"guest": "1Gi"},
            "devices": {"interfaces": [{"name": "default", "masquerade": {}}]},
        },
        "networks": [{"name": "default", "pod": {}}],
    }
