"""KubeVirt on either API server: VMs, their migrations, and what both are asked."""

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from gitbot.kubernetes.objects import at
from gitbot.simulation.building import ZONE, guest, machine, node
from gitbot.simulation.kubevirt.new_migration import new_migration
from tests.contracts.api_server.faces import ApiFace, Object

GROUP = "kubevirt.io"
MACHINES, INSTANCES = "virtualmachines", "virtualmachineinstances"
MIGRATIONS = "virtualmachineinstancemigrations"
HOSTNAME = "kubernetes.io/hostname"
FINAL = ("Succeeded", "Failed")
NODES = {"w1": "a", "w2": "a", "w3": "b", "w4": "b"}


class Player(Protocol):
    """What plays KubeVirt's controllers."""

    def set_dials(self, **changes: Any) -> None:
        """Turn dials of `gitbot.simulation.simulation_settings`."""

    def before_1_6(self) -> None:
        """From now on serve the definitions of KubeVirt 1.5, until the test ends."""


class KubeVirtFace:
    """Four nodes in two zones, no VM yet."""

    def __init__(self, face: ApiFace, player: Player) -> None:
        self.face = face
        self.set_dials = player.set_dials
        self.before_1_6 = player.before_1_6
        face.host.add_nodes(*(node(name, labels={ZONE: zone}) for name, zone in NODES.items()))

    # VMs

    def start(self, *names: str, **spec: Any) -> None:
        """Start VMs and wait until they run."""
        for name in names:
            wanted = {"domain": guest(memory="1Gi"), **spec}
            labels = {"app": name}
            made = machine(name, namespace=self.face.namespace, labels=labels, spec=wanted)
            self.face.create(made)
        for name in names:
            self.face.host.eventually(lambda vmi=name: self.runs(vmi))  # type: ignore[misc]

    def runs(self, vmi: str) -> bool:
        """Whether a VMI runs and may be moved."""
        conditions = at(self.instance(vmi), "status", "conditions", default=[])
        movable = {"LiveMigratable", "Ready"} <= {
            each["type"] for each in conditions if each["status"] == "True"
        }
        return movable and at(self.instance(vmi), "status", "phase") == "Running"

    def instance(self, name: str) -> Object:
        """A VMI."""
        return self.face.get(INSTANCES, name, GROUP)

    def node_of(self, vmi: str) -> str:
        """Where a VMI runs."""
        return str(at(self.instance(vmi), "status", "nodeName"))

    def elsewhere(self, vmi: str) -> str:
        """A node where it does not run."""
        return next(name for name in NODES if name != self.node_of(vmi))

    def pods_of(self, vmi: str) -> list[Object]:
        """The launcher pods of a VMI."""
        query = {"labelSelector": f"vm.kubevirt.io/name={vmi}"}
        path = self.face.path("pods")
        items: list[Object] = self.face.connection.request("GET", path, query=query)["items"]
        return items

    # Migrations

    def migrate(
        self,
        vmi: str,
        name: str,
        *,
        selector: Mapping[str, str] | None = None,
        annotations: Mapping[str, str] | None = None,
        **query: str,
    ) -> Object:
        """Create a migration."""
        made = new_migration(
            namespace=self.face.namespace, vmi_name=vmi, added_node_selector=selector
        )
        made["metadata"]["name"] = name
        if annotations:
            made["metadata"]["annotations"] = dict(annotations)
        path = self.face.path(MIGRATIONS, group=GROUP)
        return self.face.connection.request("POST", path, made, query=query)

    def migration(self, name: str) -> Object:
        """A migration."""
        return self.face.get(MIGRATIONS, name, GROUP)

    def migrations(self) -> list[Object]:
        """All migrations of the namespace."""
        path = self.face.path(MIGRATIONS, group=GROUP)
        return list(self.face.connection.request("GET", path)["items"])

    def phase(self, name: str) -> str:
        """The phase of a migration, "" where it has none yet."""
        return str(at(self.migration(name), "status", "phase", default=""))

    def ends(self, name: str) -> str:
        """Wait for the end of a migration; Succeeded or Failed."""

        def final() -> str:
            phase = self.phase(name)
            return phase if phase in FINAL else ""

        return str(self.eventually(final))

    def is_at(self, name: str, phase: str) -> None:
        """Wait until a migration is in a phase."""
        self.eventually(lambda: self.phase(name) == phase)

    def cancel(self, name: str) -> None:
        """Delete a migration."""
        self.face.connection.request("DELETE", self.face.path(MIGRATIONS, name, group=GROUP))

    def is_gone(self, name: str) -> None:
        """Wait until a migration is no more."""

        def gone() -> bool:
            return name not in [each["metadata"]["name"] for each in self.migrations()]

        self.eventually(gone)

    def eventually(self, call: Callable[[], Any]) -> Any:
        """The first true answer."""
        return self.face.host.eventually(call)
