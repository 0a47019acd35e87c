"""Migrations that have not ended, also those of others, and old launcher pods of those that have.

A VM whose migration has ended runs on its target at once. Its old launcher pod still holds a place,
until the guest's disks are unmounted and the kubelet has removed it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from gitbot.constraints.moves.copies import Copies
from gitbot.constraints.moves.instances import Instances
from gitbot.constraints.scheduler.world import World
from gitbot.kubernetes.names import NamespacedName
from gitbot.kubernetes.objects import KubernetesObject, at, labels_of, name_of, uid_of
from gitbot.kubernetes.phases import is_final
from gitbot.kubevirt.limits import blocked_by, is_running
from gitbot.kubevirt.names import MIGRATION_UID
from gitbot.model.caches import LastValueCache


def under_way(instances: Instances) -> Mapping[NamespacedName, tuple[str, str]]:
    """VMIs with an unfinished migration: source and target node, "" if not known yet.

    Read from the unfinished VMIMs, and from VMIs whose migrationState is neither completed nor
    failed (the VMIM may be deleted). Repeated calls return the same.
    """
    return _last(instances)


def _under_way(instances: Instances) -> Mapping[NamespacedName, tuple[str, str]]:
    found: dict[NamespacedName, tuple[str, str]] = {}
    for vm, vmi in instances.vmis.items():
        state = (vmi.get("status") or {}).get("migrationState")
        if state and not state.get("completed") and not state.get("failed"):
            found[vm] = _nodes_of(vmi)
    for vm, migrations in unfinished(instances).items():
        if vm in instances.vmis and vm not in found:
            source = str(at(instances.vmis[vm], "status", "nodeName", default=""))
            found[vm] = source, target_pod_node(instances, vm, migrations)
    return found


_last = LastValueCache[Instances, Mapping[NamespacedName, tuple[str, str]]](
    lambda instances, _: _under_way(instances)
)


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldSlot:
    """A migration that counts against the limits until it `ends`, as estimated (seconds UTC)."""

    source: str
    target: str
    ends: int


def holding_slots(instances: Instances, copies: Copies, now: int) -> tuple[HeldSlot, ...]:
    """The migrations that count against the limits, sorted by VM.

    KubeVirt counts a VMIM by its phase, or once it has a target pod (pkg/virt-controller/
    watch/migration/migration.go, findRunningMigrations). One that hangs in Pending, as a quota
    rejects it, holds no slot.
    """
    waiting = unfinished(instances)
    return tuple(
        HeldSlot(source=source, target=target, ends=now + copies.of(vm, vmi).seconds)
        for vm, (source, target) in sorted(under_way(instances).items())
        if target or vm not in waiting or any(map(is_running, waiting[vm]))
        for vmi in (instances.vmis[vm],)
    )


def queue_ends(
    instances: Instances, copies: Copies, now: int, slots: int
) -> Mapping[NamespacedName, int]:
    """When the unfinished migration of each VM has ended, as estimated (seconds UTC).

    Those that run go first, the others wait for one of the slots. One that would not start in a
    free slot is absent: nothing says when it ends.
    """
    waiting = unfinished(instances)
    queue = {
        vm: target == "" and vm in waiting and not any(map(is_running, waiting[vm]))
        for vm, (_, target) in under_way(instances).items()
        if not any(map(blocked_by, waiting.get(vm, ())))
    }
    free, found = [now] * max(1, slots), {}
    for vm in sorted(queue, key=lambda vm: (queue[vm], vm)):
        first = free.index(min(free))
        free[first] += copies.of(vm, instances.vmis[vm]).seconds
        found[vm] = free[first]
    return found


def unfinished(instances: Instances) -> Mapping[NamespacedName, tuple[KubernetesObject, ...]]:
    """The VMIMs that have not ended, by VMI."""
    found: dict[NamespacedName, tuple[KubernetesObject, ...]] = {}
    for migration in instances.migrations:
        if not is_final(migration):
            namespace = name_of(migration).namespace
            name = str(at(migration, "spec", "vmiName", default=""))
            vm = NamespacedName(namespace=namespace, name=name)
            found[vm] = (*found.get(vm, ()), migration)
    return found


def lingering(instances: Instances) -> Mapping[NamespacedName, frozenset[str]]:
    """VMIs that run, do not migrate, and have launcher pods on these other nodes."""
    moving = under_way(instances)
    return {
        vm: item.places - {item.node}
        for vm, item in instances.items()
        if item.node and item.others and vm not in moving
    }


def departing(instances: Instances, world: World) -> frozenset[NamespacedName]:
    """The pods that are about to free their places, whatever gitbot starts.

    Sources of unfinished migrations, old launcher pods of those that have ended, and pods that
    terminate.
    """
    sources = {instances.source_pod_of(vm) for vm in under_way(instances)}
    old = {name_of(pod) for vm in lingering(instances) for pod in instances[vm].others}
    ending = (pod for node in world.nodes for pod in world.pods_on(node.name) if pod.terminating)
    pods = sources | old | {pod.name for pod in ending}
    return frozenset(pod for pod in pods if pod is not None and world.pod(pod) is not None)


def target_pod_node(
    instances: Instances, vm: NamespacedName, migrations: Iterable[KubernetesObject]
) -> str:
    """The node of the target pod of these VMIMs; "" if there is none, or it has no node yet."""
    uids = {uid_of(item) for item in migrations}
    pods = (pod for pod in instances[vm].others if labels_of(pod).get(MIGRATION_UID) in uids)
    return next((str(at(pod, "spec", "nodeName", default="")) for pod in pods), "")


def _nodes_of(vmi: KubernetesObject) -> tuple[str, str]:
    state = at(vmi, "status", "migrationState", default={})
    own = at(vmi, "status", "nodeName", default="")
    return str(state.get("sourceNode") or own), str(state.get("targetNode") or "")
