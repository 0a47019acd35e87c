"""Looks at every change of a migration or a node, so that limits are held at every instant."""

from dataclasses import dataclass, field

from gitbot.execution.cluster_facts import is_own, is_ready, vm_of
from gitbot.kubernetes.names import NamespacedName
from gitbot.kubernetes.objects import KubernetesObject, at, name_of
from gitbot.kubernetes.phases import phase_of
from gitbot.simulation.simulated_cluster import SimulatedCluster
from gitbot.simulation.store import Change

MIGRATION = "VirtualMachineInstanceMigration"
OVER = ("Succeeded", "Failed")


@dataclass(slots=True, kw_only=True)
class Watch:
    """The most that was ever seen at one instant.

    `own` counts unfinished migrations of gitbot, `all` those of all movers, `out_of` those that
    leave one node, `away` nodes of the rack that were cordoned or not ready.
    """

    cluster: SimulatedCluster
    rack: frozenset[str]
    own: int = 0
    all: int = 0
    out_of: int = 0
    away: int = 0
    beside_foreign: bool = False  # whether gitbot and somebody else ever migrated at once
    _running: dict[NamespacedName, tuple[bool, str]] = field(default_factory=dict)
    _away: set[str] = field(default_factory=set)

    def start(self) -> None:
        """See every change from now on."""
        self.cluster.store.listeners.append(self._see)

    def _see(self, change: Change) -> None:
        if change.kind == MIGRATION:
            self._see_migration(change.new, gone=change.type == "DELETED")
        elif change.kind == "Node":
            self._see_node(change.new)

    def _see_migration(self, migration: KubernetesObject, *, gone: bool) -> None:
        name = name_of(migration)
        if gone or phase_of(migration) in OVER:
            self._running.pop(name, None)
        elif name not in self._running:
            vm = vm_of(migration)
            instance = self.cluster.get("VirtualMachineInstance", vm.name, vm.namespace)
            source = str(at(instance or {}, "status", "nodeName", default=""))
            self._running[name] = (is_own(migration), source)
        running = list(self._running.values())
        own = sum(ours for ours, _ in running)
        sources = [source for _, source in running]
        self.own, self.all = max(self.own, own), max(self.all, len(running))
        self.out_of = max(self.out_of, *(sources.count(node) for node in sources), 0)
        self.beside_foreign = self.beside_foreign or 0 < own < len(running)

    def _see_node(self, node: KubernetesObject) -> None:
        name = str(name_of(node).name)
        if name not in self.rack:
            return
        out = bool(at(node, "spec", "unschedulable")) or not is_ready(node)
        (self._away.add if out else self._away.discard)(name)
        self.away = max(self.away, len(self._away))
