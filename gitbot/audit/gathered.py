"""Members of one workload that all run on one node, or in one zone, while another could take some.

Pods do not move once they run: after a crash or a reboot, a node that is back stays empty.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from gitbot.audit.finding import AuditFinding, about
from gitbot.constraints.audit_placement import PlacedPod, placed_pods
from gitbot.constraints.moves.instances import Instances
from gitbot.constraints.scheduler.world import World
from gitbot.kubernetes.names import NamespacedName
from gitbot.kubernetes.objects import at
from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.model.cluster.pod import Pod
from gitbot.model.cluster.scheduling import HOSTNAME, ZONE
from gitbot.model.grouping import grouped
from gitbot.model.plan.findings import Severity
from gitbot.model.text.wording import first_of

_OF_VMS = {"VirtualMachineInstanceReplicaSet", "VirtualMachinePool"}
_OF_PODS = {"ReplicaSet", "StatefulSet"}
_PLATFORM = ("kube-system", "kubevirt", "cdi")
_Owner = tuple[str, NamespacedName]
_Labels = Mapping[str, Mapping[str, str]]  # of nodes, by name


def gathered(snapshot: ClusterSnapshot, pods: Sequence[PlacedPod]) -> Iterator[AuditFinding]:
    """One note for each replica set, pool or StatefulSet with two members or more."""
    instances, world = Instances.of(snapshot), World.of(snapshot)
    members = grouped((_owner(instances, placed), placed) for placed in pods)
    labels = {node.name: node.labels for node in world.nodes}
    for owner, mine in members.items():
        if owner is not None and len(mine) > 1:
            yield from _of_workload(world, labels, owner, mine)


def gathering(
    snapshot: ClusterSnapshot,
    ends: Mapping[NamespacedName, str],
    *,
    pods: Mapping[NamespacedName, str] | None = None,
    closed: Iterable[str] = (),
) -> Iterator[AuditFinding]:
    """Notes on workloads that are gathered once VMs (`ends`) and other pods have these nodes.

    "" means no node. Workloads that are gathered at the same node or zone already are left out;
    `closed` nodes could take no member.
    """
    instances, world, others = Instances.of(snapshot), World.of(snapshot), pods or {}
    moved = {_owner_of_vm(instances, vm) for vm in ends if vm in instances}
    known = (world.pod(name) for name in others)
    moved |= {_owner_of_pod(pod) for pod in known if pod is not None}
    moved.discard(None)
    if not moved:
        return
    members = grouped(
        (owner, placed)
        for placed in placed_pods(snapshot)
        if (owner := _owner(instances, placed)) in moved
    )
    then = {
        owner: [each for placed in mine if (each := _placed(placed, ends, others)).node]
        for owner, mine in members.items()
    }
    for pod, node in _by_pod(instances, ends, others):
        if world.pod(pod) is not None:
            old = world.remove(pod)
            if node:
                world.add(old.replace(node=node), node)
    world.cordon(*closed)
    labels = {node.name: node.labels for node in world.nodes}
    for owner, mine in then.items():
        for key in (HOSTNAME, ZONE):
            was, now = (_values(labels, key, _nodes(each)) for each in (members[owner], mine))
            new = len(mine) > 1 and len(now) == 1 and now != was
            if owner is not None and new:
                yield from _of_workload(world, labels, owner, mine)
                break


def _nodes(mine: Iterable[PlacedPod]) -> Iterator[str]:
    return (placed.node for placed in mine)


def _placed(
    placed: PlacedPod,
    ends: Mapping[NamespacedName, str],
    others: Mapping[NamespacedName, str],
) -> PlacedPod:
    then = others.get(placed.pod.name, placed.node)
    return replace(placed, node=then if placed.vm is None else ends.get(placed.vm, placed.node))


def _by_pod(
    instances: Instances,
    ends: Mapping[NamespacedName, str],
    others: Mapping[NamespacedName, str],
) -> Iterator[tuple[NamespacedName, str]]:
    for vm, node in ends.items():
        if (name := instances.source_pod_of(vm)) is not None:
            yield name, node
    yield from others.items()


def _owner(instances: Instances, placed: PlacedPod) -> _Owner | None:
    """The workload whose member a VM or pod is; None for the platform's own, and for others."""
    if placed.vm is not None:
        return _owner_of_vm(instances, placed.vm)
    return _owner_of_pod(placed.pod)


def _owner_of_pod(pod: Pod) -> _Owner | None:
    (kind, name), space = pod.owner, pod.namespace
    own = kind in _OF_PODS and space not in _PLATFORM and not space.startswith("openshift-")
    return (kind, NamespacedName(namespace=space, name=name)) if own else None


def _owner_of_vm(instances: Instances, vm: NamespacedName) -> _Owner | None:
    item = instances[vm]
    for obj in (item.vmi, item.vm):
        for reference in at(obj, "metadata", "ownerReferences", default=()):
            if reference.get("kind") in _OF_VMS:
                name = str(reference.get("name"))
                owner = NamespacedName(namespace=vm.namespace, name=name)
                return str(reference["kind"]), owner
    return None


def _of_workload(
    world: World, labels: _Labels, owner: _Owner, mine: Sequence[PlacedPod]
) -> Iterator[AuditFinding]:
    on = [
        (key, word, here)
        for key, word in ((HOSTNAME, "node"), (ZONE, "zone"))
        if len(here := _values(labels, key, (placed.node for placed in mine))) == 1
    ]
    # most workloads are spread: only for the others is the scheduler asked, which costs far more
    free = world.feasible(mine[0].pod.replace(node="")) if on else ()
    for key, word, here in on:
        others = sorted(_values(labels, key, free) - here)
        if others:
            (value,) = here
            kind, name = owner
            yield about(
                "audit/gathered",
                Severity.NOTE,
                kind=kind,
                name=name,
                node=mine[0].node if key == HOSTNAME else "",
                message=f"all {len(mine)} members are on {word} {value}, while "
                f"{first_of(others, 3)} could take one",
                hint="gitbot keep-apart asks for VMs to stay apart; pods stay until they are "
                "created again",
                vms=tuple(sorted(placed.vm for placed in mine if placed.vm is not None)),
            )
            return  # what is on one node is in one zone, too


def _values(labels: _Labels, key: str, nodes: Iterable[str]) -> set[str]:
    return {value for node in nodes if (value := labels.get(node, {}).get(key)) is not None}
