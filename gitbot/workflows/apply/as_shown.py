"""Whether what a step rests on still is as its snapshot showed it, for a cluster that is followed.

In a look that decides, a kind of a followed cluster may be up to 90 seconds old, and kinds may be
of different moments. So
gitbot reads again what a step concludes, right before it writes it down, and what an effect rests
on, right before it sends it. If anything differs, it does neither, and looks again.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from gitbot.errors import ClusterError
from gitbot.execution.executor_types import (
    CreateMigration,
    DeleteMigration,
    Effect,
    ExecutorInput,
    SetUnschedulable,
    Steps,
)
from gitbot.kubernetes.names import NamespacedName
from gitbot.kubernetes.objects import KubernetesObject, at, labels_of, name_of, uid_of
from gitbot.kubernetes.phases import is_final, phase_of
from gitbot.kubevirt import names
from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.model.ledger.events import (
    ForeignMove,
    HomeNoted,
    KnownEvent,
    MoveChanged,
    MoveState,
    NodeChanged,
)
from gitbot.ports.cluster import FollowedCluster
from gitbot.workflows.core.context import RunContext

FRESH = 90  # seconds that a kind may be old in a look that decides
INSTANCE, MIGRATION = "VirtualMachineInstance", "VirtualMachineInstanceMigration"


def events_as_shown(shell: RunContext, view: ExecutorInput, steps: Steps) -> bool:
    """Whether VMs, migrations and nodes that the events are about are as the snapshot has them."""
    if shell.followed is None:
        return True
    seen = _Shown(cluster=shell.followed, snapshot=view.problem.snapshot)
    return all(map(seen.event, steps.events))


def effect_as_shown(shell: RunContext, view: ExecutorInput, steps: Steps, effect: Effect) -> bool:
    """Whether the snapshot has what an effect of these steps rests on; unreadable counts as no.

    A migration: the VMI, all unfinished migrations, the target node and its pods, without those
    that the same steps created. A deletion: the migration and its VMI. A cordon: the node.
    """
    if shell.followed is None:
        return True
    seen = _Shown(cluster=shell.followed, snapshot=view.problem.snapshot)
    try:
        return seen.effect(effect, steps)
    except ClusterError:
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shown:
    cluster: FollowedCluster
    snapshot: ClusterSnapshot

    def event(self, event: KnownEvent) -> bool:
        match event:
            case MoveChanged(state=MoveState.INTENDED):
                return True  # its effect is compared with more, right before it is sent
            case MoveChanged() | ForeignMove():
                return self._has_place(event.vm) and self._has_migration(event.migration)
            case HomeNoted():
                return self._has_place(event.vm)
            case NodeChanged():
                node = event.facts.node
                return self._has_node(node) and self._has_pods(node, uids_alone=True)
        return True

    def effect(self, effect: Effect, steps: Steps) -> bool:
        match effect:
            case CreateMigration():
                vm, node = effect.move.vm.namespaced_name, effect.event.to
                found = self.snapshot.find(INSTANCE, vm)
                if self.cluster.get_instance(vm) != found:
                    return self._differs(INSTANCE)
                own = self._new_migrations(steps)
                if own is None:
                    return self._differs(MIGRATION)
                return self._has_node(node) and self._has_pods(node, but=own)
            case DeleteMigration():
                name = NamespacedName.parse(effect.name)
                vm = at(self.snapshot.find(MIGRATION, name) or {}, "spec", "vmiName", default="")
                if not vm:
                    return self._differs(MIGRATION)
                return self._has_migration(effect.name) and self._has_place(
                    f"{name.namespace}/{vm}"
                )
            case SetUnschedulable():
                return self._has_node(effect.node)
        return True

    def _has_place(self, vm: str) -> bool:
        name = NamespacedName.parse(vm)
        shown, now = self.snapshot.find(INSTANCE, name), self.cluster.get_instance(name)
        return _place(shown) == _place(now) or self._differs(INSTANCE)

    def _has_migration(self, migration: str) -> bool:
        if not migration:
            return True
        name = NamespacedName.parse(migration)
        shown, now = self.snapshot.find(MIGRATION, name), self.cluster.get_migration(name)
        return _stage(shown) == _stage(now) or self._differs(MIGRATION)

    def _has_node(self, node: str) -> bool:
        shown = self.snapshot.find("Node", NamespacedName(namespace="", name=node))
        return self.cluster.get_node(node) == shown or self._differs("Node")

    def _has_pods(
        self, node: str, *, but: frozenset[str] = frozenset(), uids_alone: bool = False
    ) -> bool:
        shown = [
            pod
            for pod in self.snapshot.of("Pod")
            if at(pod, "spec", "nodeName", default="") == node
        ]
        now = [
            pod
            for pod in self.cluster.pods_on(node)
            if labels_of(pod).get(names.MIGRATION_UID) not in but
        ]
        same = _uids(now) == _uids(shown) if uids_alone else now == shown
        return same or self._differs("Pod")

    def _new_migrations(self, steps: Steps) -> frozenset[str] | None:
        """UIDs of what these steps created so far; None if others began or ended one."""
        names = {
            NamespacedName.parse(effect.event.migration)
            for effect in steps.effects
            if isinstance(effect, CreateMigration)
        }
        shown = [
            (name_of(item).name, str(at(item, "spec", "vmiName")))
            for item in self.snapshot.of(MIGRATION)
            if not is_final(item) and name_of(item) not in names
        ]
        own = {each.name: each for each in names}  # a name has a digest of its effect
        now = self.cluster.unfinished_migrations()
        if [item for item in now if item[0] not in own] != sorted(shown):
            return None
        created = (self.cluster.get_migration(own[name]) for name, _ in now if name in own)
        return _uids(item for item in created if item is not None)

    def _differs(self, kind: str) -> bool:
        self.cluster.distrust(kind)
        return False


def _uids(objects: Iterable[KubernetesObject]) -> frozenset[str]:
    return frozenset(map(uid_of, objects))


def _place(instance: KubernetesObject | None) -> tuple[str, str]:
    found = instance or {}
    return uid_of(found), str(at(found, "status", "nodeName", default=""))


def _stage(migration: KubernetesObject | None) -> tuple[str, str]:
    found = migration or {}
    return uid_of(found), phase_of(found)
