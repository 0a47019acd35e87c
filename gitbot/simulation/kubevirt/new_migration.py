"""The migration that `virtctl migrate` creates, field for field."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gitbot.kubevirt.names import API_VERSION


def new_migration(
    *, namespace: str, vmi_name: str, added_node_selector: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """A VirtualMachineInstanceMigration without a name.

    Source: KubeVirt, pkg/virt-api/rest/lifecycle.go, which names it with generateName
    `kubevirt-migrate-vm-`. An empty selector is left out. It never has a priority: only
    virt-controller may set one.
    """
    spec: dict[str, Any] = {"vmiName": vmi_name}
    if added_node_selector:
        spec["addedNodeSelector"] = dict(added_node_selector)
    return {
        "apiVersion": API_VERSION,
        "kind": "VirtualMachineInstanceMigration",
        "metadata": {"namespace": namespace},
        "spec": spec,
    }
