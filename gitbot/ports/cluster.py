"""The cluster: read a snapshot, create and delete migrations, label nodes, write Events.

No method writes a VirtualMachine or a VirtualMachineInstance.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from gitbot.kubernetes.names import NamespacedName
from gitbot.kubernetes.objects import KubernetesObject
from gitbot.model.cluster.cluster import ClusterSnapshot

EVENT_SOURCE = "gitbot"
"""The component that gitbot's own Events name."""

Gate = Callable[[], str]
"""Called right before a request leaves: why it must not leave any more, or "" to send it."""


def no_gate() -> str:
    return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterTraffic:
    """Requests to the API server, and bytes of the answers, since its connection was opened."""

    sent: int = 0
    received: int = 0

    def __add__(self, other: ClusterTraffic) -> ClusterTraffic:
        return ClusterTraffic(sent=self.sent + other.sent, received=self.received + other.received)


class Cluster(Protocol):
    """One cluster.

    Every method raises ClusterForbidden (with the RBAC rule in the hint) if a right is missing,
    ClusterRefused if the server or a webhook refuses, and ClusterError if the cluster cannot be
    reached. Writes raise OutcomeUnknown if the answer was lost, and NotSent if the request did not
    leave.
    """

    @property
    def name(self) -> str:
        """The cluster's name in the configuration."""

    @property
    def traffic(self) -> ClusterTraffic:
        """Of this connection; nothing where there is no API server."""

    def snapshot(self) -> ClusterSnapshot:
        """A complete consistent read. Raises SnapshotError instead of returning a part."""

    def server_time(self) -> int:
        """The API server's clock (Date header), seconds UTC."""

    def cluster_uid(self) -> str:
        """The UID of namespace kube-system, which identifies a cluster; "" where none is reached.

        It never changes, whatever the cluster and its address are called, and a restore of etcd
        keeps it.
        """

    def get_migration(self, name: NamespacedName) -> KubernetesObject | None: ...

    def list_migrations(self) -> tuple[KubernetesObject, ...]:
        """All VirtualMachineInstanceMigrations of all namespaces, sorted."""

    def get_instance(self, name: NamespacedName) -> KubernetesObject | None: ...

    def list_events(self, name: NamespacedName) -> tuple[KubernetesObject, ...]:
        """The Events about the VMI or VMIM of that name, oldest first; empty if forbidden."""

    def create_migration(
        self, migration: KubernetesObject, *, dry_run: bool = False, gate: Gate = no_gate
    ) -> KubernetesObject:
        """Create a VMIM with fieldValidation=Strict and return it as stored. Never retried.

        Calls `gate` right before the request leaves; raises NotSent with its reason.
        """

    def create_event(self, event: KubernetesObject) -> None:
        """Create a core/v1 Event, or keep the one that has its name."""

    def delete_migration(self, name: NamespacedName, *, uid: str) -> bool:
        """Delete (cancel) a VMIM if it still has that UID; False if it does not exist any more."""

    def patch_node_labels(self, node: str, labels: Mapping[str, str | None]) -> None:
        """Set or remove (None) labels below placement.gitbot.dev/ on a node."""

    def set_unschedulable(
        self, node: str, unschedulable: bool, labels: Mapping[str, str | None]
    ) -> bool:
        """Cordon or uncordon a node, and set or remove such labels, in one patch.

        False if only labels changed, because the cordon on the node is known to be foreign.
        """

    def hold_flag(self) -> str | None:
        """The reason in ConfigMap gitbot/gitbot-hold; None if absent. Unreadable raises."""

    def flag_and_time(self) -> tuple[str | None, int]:
        """`hold_flag` and `server_time` of one moment, from one response."""

    def set_hold_flag(self, reason: str | None) -> None:
        """Create (or update) or remove that ConfigMap."""

    def missing(self, group: str, namespace: str = "") -> tuple[str, ...]:
        """Rights of a group (read, watch, stop-flag, move, nodes) that gitbot's account lacks.

        A namespace asks for rights that need to hold only there.
        """

    def ledger_anchors(self) -> Mapping[str, str]:
        """The content of ConfigMap gitbot/gitbot-ledger: anchors by ledger name."""

    def set_ledger_anchor(self, ledger: str, head: str) -> None:
        """Create or update that ConfigMap with one entry."""


class FollowedCluster(Cluster, Protocol):
    """A cluster that is listed once and then watched: snapshots may be up to 5 minutes old.

    What these methods read, the server reads at that moment, unless they say otherwise.
    """

    def get_node(self, node: str) -> KubernetesObject | None: ...

    def pods_on(self, node: str) -> tuple[KubernetesObject, ...]:
        """The pods on a node as a snapshot holds them, sorted."""

    def unfinished_migrations(self) -> tuple[tuple[str, str], ...]:
        """Name and VMI of each migration without a final phase, of all namespaces, sorted."""

    def migrations_seen(self) -> tuple[KubernetesObject, ...] | None:
        """As list_migrations, as far as the watch has heard: only to know when to look again.

        None if they are not watched now.
        """

    def require(self, seconds: int) -> None:
        """No kind of the next snapshot is older."""

    def distrust(self, kind: str) -> None:
        """Something of that kind is not as the last snapshot showed it.

        The next snapshot has the kind as it is then.
        """
