"""Sets of VMs or pods that may still grow: up to the replicas that they, or their autoscalers, ask.

Source: kubernetes, autoscaling/v2 (HorizontalPodAutoscaler: scaleTargetRef, maxReplicas); KubeVirt,
VirtualMachinePool and VirtualMachineInstanceReplicaSet have the scale subresource.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gitbot.constraints.moves.instances import Instances
from gitbot.kubernetes.names import NamespacedName
from gitbot.kubernetes.objects import KubernetesObject, at, controller_of, name_of
from gitbot.model.cluster.cluster import ClusterSnapshot

_Set = tuple[str, NamespacedName]  # kind and name
_AUTOSCALER = "HorizontalPodAutoscaler"
POOL, VM_SET = "VirtualMachinePool", "VirtualMachineInstanceReplicaSet"


@dataclass(frozen=True, slots=True, kw_only=True)
class GrowingSet:
    """A set that may get `more` members like one that it has: a VM, or the pod of no VM."""

    kind: str
    name: NamespacedName
    more: int
    by: str
    vm: NamespacedName | None = None
    pod: NamespacedName | None = None
    members: frozenset[NamespacedName] = frozenset()


def growing_sets(snapshot: ClusterSnapshot) -> tuple[GrowingSet, ...]:
    """Sets below their largest number of replicas, by kind and name; those without a member not."""
    vms, pods = _vm_members(snapshot), _pod_members(snapshot)
    found = []
    for (kind, name), (count, by) in sorted(dict(_most(snapshot)).items()):
        key = (kind, name)
        members = vms.get(key) or pods.get(key) or ()
        if members and len(members) < count:
            first, of_vms = min(members), key in vms
            found.append(
                GrowingSet(
                    kind=kind,
                    name=name,
                    more=count - len(members),
                    by=by,
                    vm=first if of_vms else None,
                    pod=None if of_vms else first,
                    members=frozenset(members),
                )
            )
    return tuple(found)


def unkept_sets(snapshot: ClusterSnapshot) -> tuple[str, ...]:
    """The sets for which no room is kept, in words: without a member, or plain files lack them."""
    return (*_without_member(snapshot), *_unread(snapshot))


def _without_member(snapshot: ClusterSnapshot) -> Iterator[str]:
    known = _vm_members(snapshot)
    for (kind, name), (count, by) in sorted(dict(_most(snapshot)).items()):
        if count and kind in (POOL, VM_SET) and (kind, name) not in known:
            yield f"no room is kept for {kind} {name}: {by}, but it has no member to judge by"


def _unread(snapshot: ClusterSnapshot) -> tuple[str, ...]:
    kinds = [kind for kind in (POOL, VM_SET, _AUTOSCALER) if snapshot.unread(kind)]
    if not kinds:
        return ()
    plurals = ",".join(f"{kind.lower()}s" for kind in kinds)
    words = f"the files have no {' or '.join(kinds)}, so no room is kept for more of them"
    return (f"{words}; `kubectl get {plurals} -A -o yaml` adds them",)


def _most(snapshot: ClusterSnapshot) -> Iterator[tuple[_Set, tuple[int, str]]]:
    """The replicas of sets of VMs, then what autoscalers allow: the later wins."""
    for kind in (POOL, VM_SET):
        for obj in snapshot.of(kind):
            if not at(obj, "spec", "paused", default=False):
                count = at(obj, "spec", "replicas", default=1)
                yield (kind, name_of(obj)), (count, f"spec.replicas is {count}")
    for obj in snapshot.of(_AUTOSCALER):
        target, own = at(obj, "spec", "scaleTargetRef", default={}), name_of(obj)
        count = at(obj, "spec", "maxReplicas", default=0)
        name = NamespacedName(namespace=own.namespace, name=str(target.get("name")))
        words = f"maxReplicas of HorizontalPodAutoscaler {own.name} is {count}"
        yield (str(target.get("kind")), name), (count, words)


def _vm_members(snapshot: ClusterSnapshot) -> dict[_Set, list[NamespacedName]]:
    found: dict[_Set, list[NamespacedName]] = {}
    for vm, item in Instances.of(snapshot).items():
        for obj in (item.vm, item.vmi):
            key = _owner(obj)
            if key is not None and key[0] in (POOL, VM_SET):
                found.setdefault(key, []).append(vm)
    return found


def _pod_members(snapshot: ClusterSnapshot) -> dict[_Set, list[NamespacedName]]:
    """The pods of sets, also under the Deployment that owns their ReplicaSet."""
    deployments = {
        ("ReplicaSet", name_of(obj)): owner
        for obj in snapshot.of("ReplicaSet")
        if (owner := _owner(obj)) is not None
    }
    found: dict[_Set, list[NamespacedName]] = {}
    for obj in snapshot.of("Pod"):
        key = _owner(obj)
        for each in (key, deployments.get(key) if key is not None else None):
            if each is not None:
                found.setdefault(each, []).append(name_of(obj))
    return found


def _owner(obj: KubernetesObject | None) -> _Set | None:
    owner = controller_of(obj) if obj is not None else None
    if owner is None or obj is None:
        return None
    name = NamespacedName(namespace=name_of(obj).namespace, name=str(owner.get("name")))
    return str(owner.get("kind")), name
