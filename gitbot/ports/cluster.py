"""The cluster: read a whole snapshot, create and delete migrations, label nodes. Nothing else.

No method writes a VirtualMachine or a VirtualMachineInstance.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from gitbot.model.cluster import ClusterSnapshot
from gitbot.model.names import NamespacedName
from gitbot.model.objects import KubernetesObject


class Cluster(Protocol):
    """One cluster.

    Every method raises ClusterForbidden (with the RBAC rule in the hint) where a right is missing,
    ClusterRefused where the server or a webhook says no, ClusterError where it cannot be reached,
    and writes raise OutcomeUnknown where the answer was lost.
    """

    @property
    def name(self) -> str:
        """The cluster's name in the configuration."""

    def snapshot(self) -> ClusterSnapshot:
        """A complete consistent read. Raises SnapshotError rather than return a part."""

    def server_time(self) -> int:
        """The API server's clock (Date header), seconds UTC."""

    def get_migration(self, name: NamespacedName) -> KubernetesObject | None:
        """One VirtualMachineInstanceMigration, None where there is none."""

    def list_migrations(self) -> tuple[KubernetesObject, ...]:
        """All VirtualMachineInstanceMigrations of all namespaces, sorted."""

    def get_instance(self, name: NamespacedName) -> KubernetesObject | None:
        """One VirtualMachineInstance, None where there is none."""

    def list_events(self, name: NamespacedName) -> tuple[KubernetesObject, ...]:
        """The Events about the VMI or VMIM of that name, oldest first; empty where forbidden."""

    def create_migration(
        self, migration: KubernetesObject, *, dry_run: bool = False
    ) -> KubernetesObject:
        """Create a VMIM with fieldValidation=Strict; returns it as stored. Never repeated."""

    def delete_migration(self, name: NamespacedName, *, uid: str) -> bool:
        """Delete (cancel) a VMIM if it still has that UID; False where it is gone."""

    def patch_node_labels(self, node: str, labels: Mapping[str, str | None]) -> None:
        """Set or remove (None) labels below placement.gitbot.dev/ on a node."""

    def set_unschedulable(self, node: str, unschedulable: bool) -> None:
        """Cordon or uncordon a node (cordon: Gitbot only)."""

    def hold_flag(self) -> str | None:
        """The reason in ConfigMap gitbot/gitbot-hold; None if absent. Unreadable raises."""

    def set_hold_flag(self, reason: str | None) -> None:
        """Create (or update) or remove that ConfigMap."""
