"""Small verbs for tests with VMs on the control plane."""

from collections.abc import Mapping
from typing import Any

from gitbot.kubernetes.objects import KubernetesObject, at
from gitbot.simulation.building import guest, machine
from gitbot.simulation.kubevirt.new_migration import new_migration
from gitbot.simulation.served_resources import BY_KIND
from tests.controlplane.kubevirt.connection import Connection, path_of
from tests.controlplane.kubevirt.installation import put
from tests.controlplane.waiting import eventually

MIGRATION = "VirtualMachineInstanceMigration"
VMI = "VirtualMachineInstance"
VM = "VirtualMachine"
HOSTNAME = "kubernetes.io/hostname"
FINAL = ("Succeeded", "Failed")


class Vms:
    """The VMs of one namespace."""

    def __init__(self, api: Connection, namespace: str) -> None:
        self.api = api
        self.namespace = namespace

    def get(self, kind: str, name: str) -> KubernetesObject:
        """One object; raises ApiError."""
        return self.api.request("GET", path_of(BY_KIND[kind], self.namespace, name))

    def all(self, kind: str, selector: str = "") -> list[KubernetesObject]:
        """All objects of a kind, with these labels."""
        query = {"labelSelector": selector} if selector else {}
        return self.api.list(path_of(BY_KIND[kind], self.namespace), query)[0]

    def create(
        self, name: str, labels: Mapping[str, str] | None = None, **spec: Any
    ) -> KubernetesObject:
        """A VM that always runs; returned as stored."""
        wanted = {"domain": guest(memory="1Gi"), **spec}
        labels = labels or {"app": name}
        return put(self.api, machine(name, namespace=self.namespace, labels=labels, spec=wanted))

    def start(self, name: str, labels: Mapping[str, str] | None = None, **spec: Any) -> str:
        """Create a VM and wait until it runs; returns its node."""
        self.create(name, labels, **spec)
        return self.runs(name)

    def runs(self, name: str) -> str:
        """The node of a VM, once it runs."""
        eventually(lambda: self.phase(name) == "Running")
        return self.node(name)

    def phase(self, name: str) -> str:
        """The phase of a VMI."""
        return str(at(self.get(VMI, name), "status", "phase", default=""))

    def node(self, name: str) -> str:
        """The node of a VMI."""
        return str(at(self.get(VMI, name), "status", "nodeName", default=""))

    def pods(self, name: str) -> list[KubernetesObject]:
        """The launcher pods of a VMI."""
        return self.all("Pod", f"kubevirt.io/created-by={self.get(VMI, name)['metadata']['uid']}")

    def migrate(
        self,
        vmi: str,
        name: str,
        *,
        to: str = "",
        query: Mapping[str, str] | None = None,
        **more: Any,
    ) -> KubernetesObject:
        """Create a migration; `more` is metadata. Raises ApiError."""
        selector = {HOSTNAME: to} if to else None
        wanted = new_migration(namespace=self.namespace, vmi_name=vmi, added_node_selector=selector)
        wanted["metadata"] |= {"name": name, **more}
        return self.api.request(
            "POST", path_of(BY_KIND[MIGRATION], self.namespace), wanted, query=query
        )

    def ends(self, name: str, *, seconds: float = 30) -> str:
        """The final phase of a migration."""

        def phase() -> str:
            found = at(self.get(MIGRATION, name), "status", "phase", default="")
            return str(found) if found in FINAL else ""

        return eventually(phase, seconds=seconds)
