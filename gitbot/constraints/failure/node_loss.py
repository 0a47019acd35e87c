"""What happens to VMs when nodes are lost: which restart where, which find no place, and why.

The nodes stay in the cluster and take nothing, as unreachable nodes do; their pods are gone. What
ran there is placed again, one by one by priority and name, where kube-scheduler would place it;
what finds no place is tried again when others have landed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from gitbot.constraints.failure.placement_bound import PlacementBound
from gitbot.constraints.failure.room_kept import GrowingSet, growing_sets, unkept_sets
from gitbot.constraints.moves.instances import Instance, Instances
from gitbot.constraints.moves.target_pod import launcher_of, start_object, target_name
from gitbot.constraints.scheduler.world import World
from gitbot.kubernetes.names import NamespacedName
from gitbot.kubernetes.objects import KubernetesObject, at, controller_of, name_of
from gitbot.kubevirt.eviction import run_strategy
from gitbot.kubevirt.names import CREATED_BY
from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.model.cluster.columns import Mask
from gitbot.model.cluster.pod import Pod
from gitbot.model.grouping import grouped
from gitbot.model.plan.constraint import Breach, Occupancy, RuleConstraint, worsened

_LOOKS = 16  # attempts to prove that the remaining pods of a loss fit
_RESTARTING = ("Always", "RerunOnFailure")
VmFilter = Callable[[NamespacedName], bool]


def every_vm(_vm: NamespacedName) -> bool:
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class Restart:
    """A VM that starts again: from its lost node to another, or nowhere (`why`).

    `why` also says what a start on its node rests on, if that is not proven.
    """

    vm: NamespacedName
    source: str
    to: str = ""
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeLoss:
    """The consequences of losing some nodes.

    `off` are VMs that nothing starts again, `pods` other pods that start again, as `vm` of each.
    `others` counts those without a place. `broken` are breaches that are new or worse.
    """

    nodes: tuple[str, ...]
    restarts: tuple[Restart, ...] = ()
    off: tuple[NamespacedName, ...] = ()
    pods: tuple[Restart, ...] = ()
    others: int = 0
    broken: tuple[Breach, ...] = ()

    @property
    def pending(self) -> tuple[Restart, ...]:
        return tuple(item for item in self.restarts if not item.to)


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth:
    """Starts of new VMs; `kept` says for which other sets room is kept, and how much."""

    starts: tuple[Restart, ...]
    kept: tuple[str, ...] = ()


class LossSimulation:
    """Simulates the loss of nodes of one snapshot; questions do not affect each other."""

    def __init__(
        self,
        snapshot: ClusterSnapshot,
        rules: Sequence[RuleConstraint] = (),
        *,
        places: Mapping[NamespacedName, str] | None = None,
        closed: Iterable[str] = (),
    ) -> None:
        """`places` replace the VMs' current nodes; `closed` nodes take no more pods."""
        self._snapshot, self._rules = snapshot, rules
        self._instances = Instances.of(snapshot)
        self._world = World.of(snapshot)
        self._on_node = self._instances.on_node
        self._objects = {name_of(obj): obj for obj in snapshot.of("Pod")}
        self._world.cordon(*closed)
        if places:
            self._put(places)

    def _put(self, places: Mapping[NamespacedName, str]) -> None:
        homes = {**self._instances.homes, **places}
        self._on_node = grouped((node, vm) for vm, node in homes.items())
        for vm, node in places.items():
            name = self._instances.source_pod_of(vm)
            if name is not None and self._world.pod(name) is not None:
                self._world.add(replace(self._world.remove(name), node=node), node)

    @property
    def occupied(self) -> tuple[str, ...]:
        """The nodes on which VMs run, sorted."""
        return tuple(sorted(node for node, vms in self._on_node.items() if vms))

    def of(self, nodes: Iterable[str], *, reasons: bool = True) -> NodeLoss:
        """What happens if these nodes are lost together. Raises KeyError for an unknown node.

        Without `reasons`, only the first VM without a place says why.
        """
        found = self._follows(nodes, reasons=reasons)
        assert found is not None, "BUG: nobody was asked whether the rest surely fits"
        return found

    def _follows(
        self, nodes: Iterable[str], *, reasons: bool, about: VmFilter | None = None
    ) -> NodeLoss | None:
        """As `of`; None as soon as each VM selected by `about` is certain to find a place."""
        lost = tuple(sorted(set(nodes)))
        world = self._world.fork()
        world.cordon(*lost)
        gone = [pod for node in lost for pod in world.pods_on(node)]
        for pod in gone:
            world.remove(pod)
        closed = self._mask(lost)
        back, off = self._starting(lost)
        others = self._others(gone)
        queue = sorted([*back, *others], key=lambda item: (-item[1].priority, item[1].name))
        wanted = [pod.name for item, pod in queue if item and about and about(item.name)]
        ends = _ends(world, [pod for _, pod in queue], closed, frozenset(wanted))
        if ends is None:
            return None
        restarts: list[Restart] = []
        landed: list[Restart] = []
        told = False
        for item, pod in queue:
            if item is not None:
                to = ends[pod.name]
                why = _detached(world, pod, to) if to and pod.attachment else ""
                if why:
                    to = ""
                elif not to and (reasons or not told):
                    why = _why(world, pod, lost)
                told = told or bool(why)
                why = why or _unproven(pod)
                restarts.append(Restart(vm=item.name, source=item.node, to=to, why=why))
            else:
                to, source = ends[pod.name], self._world.node_of(pod.name)
                why = _why(world, pod, lost) if reasons and not to else ""
                landed.append(Restart(vm=pod.name, source=source, to=to, why=why))
        unplaced = sum(not item.to for item in landed)
        restarts.sort(key=lambda item: item.vm)
        return NodeLoss(
            nodes=lost,
            restarts=tuple(restarts),
            off=off,
            pods=tuple(sorted(landed, key=lambda item: item.vm)),
            others=unplaced,
            broken=self._broken(lost, restarts),
        )

    def grown(self, vm: NamespacedName, count: int) -> Growth:
        """Where `count` more VMs like this one would start, one after the other.

        Before them, other sets take the room up to their largest number of replicas.
        """
        world, item = self._world.fork(), self._instances[vm]
        pod, nothing = self._made(item, copy=True), self._mask(())
        others = (each for each in growing_sets(self._snapshot) if vm not in each.members)
        kept = (*(self._kept(world, each) for each in others), *unkept_sets(self._snapshot))
        found = []
        for number in range(1, count + 1):
            name = NamespacedName(namespace=vm.namespace, name=f"{vm.name}-{number}")
            like = _with_own_claims(replace(pod, name=name), number)
            node = _placed(world, like, nothing)
            why = _detached(world, like, node) if node else _why(world, like, ())
            node = "" if why else node
            found.append(Restart(vm=name, source="", to=node, why=why or _unproven(like)))
        return Growth(starts=tuple(found), kept=kept)

    def _kept(self, world: World, growing: GrowingSet) -> str:
        """Place the members that a set may get, until one finds no place; in words."""
        if growing.vm is not None:
            pod, name = self._made(self._instances[growing.vm], copy=True), growing.vm
        else:
            assert growing.pod is not None, "BUG: a set has VMs or pods"
            name = growing.pod
            pod = (world.pod(name) or Pod.from_object(self._objects[name])).replace(node="")
        placed, nothing = 0, self._mask(())
        for number in range(1, growing.more + 1):
            named = NamespacedName(namespace=name.namespace, name=f"{name.name}-kept-{number}")
            if not _placed(world, _with_own_claims(replace(pod, name=named), number), nothing):
                break
            placed = number
        some = f"{placed} of {growing.more}" if placed < growing.more else str(placed)
        said = f"room is kept for {some} more of {growing.kind} {growing.name}"
        return f"{said}: {growing.by}"

    def not_survived(
        self, groups: Iterable[tuple[str, ...]], about: VmFilter = every_vm
    ) -> Iterator[NodeLoss]:
        """Losses of node groups that would leave at least one VM without a place.

        Only VMs selected by `about` count; all take room.
        """
        world = self._world.fork()
        for nodes in groups:
            if not self._surely_survived(world, nodes, about):
                loss = self._follows(nodes, reasons=False, about=about)
                if loss is not None and any(about(item.vm) for item in loss.pending):
                    yield loss

    def _surely_survived(self, world: World, nodes: Collection[str], about: VmFilter) -> bool:
        """A quick proof that every VM finds a place. Leaves the world as it was."""
        back, _ = self._starting(nodes)
        if not any(about(item.name) for item, _ in back):
            return True
        gone = [pod for node in nodes for pod in world.pods_on(node)]
        newcomers = PlacementBound(world, [pod for _, pod in (*back, *self._others(gone))])
        wanted, closed = [pod for item, pod in back if about(item.name)], self._mask(nodes)
        if not any(pod.spread for pod in wanted) and newcomers.surely_fit(wanted, closed):
            return True  # except for spread, the remaining pods can only close nodes
        for pod in gone:
            world.remove(pod)
        sure = newcomers.surely_fit(wanted, closed)
        for pod in gone:
            world.add(pod, pod.node)
        return sure

    def _starting(
        self, nodes: Collection[str]
    ) -> tuple[list[tuple[Instance, Pod]], tuple[NamespacedName, ...]]:
        """The VMs of the nodes that start again, with their new pods; the other VMs by name."""
        back, off = [], []
        for node in nodes:
            for name in self._on_node.get(node, ()):
                item = self._instances[name]
                if _starts_again(item):
                    back.append((item, self._new_pod(item)))
                else:
                    off.append(name)
        return back, tuple(sorted(off))

    def _others(self, gone: Iterable[Pod]) -> list[tuple[None, Pod]]:
        """The pods that their controllers create again and that are not VMs."""
        return [(None, pod.replace(node="")) for pod in gone if self._is_replaced(pod)]

    def _new_pod(self, item: Instance) -> Pod:
        """The pod of a new start: from the VM's template, with the requests of its running pod."""
        made = self._instances.starts
        if item.name not in made:
            made[item.name] = self._made(item)
        return made[item.name]

    def _made(self, item: Instance, *, copy: bool = False) -> Pod:
        alone = item.vm is None or (item.vmi is not None and self._instances.unread_type(item))
        fresh = replace(item, vmi=self._replica(item) if alone else None, node="")
        obj = start_object(self._instances, fresh, copy=copy)
        pod = launcher_of(self._instances, fresh, obj, estimated=True, copy=copy)
        name = target_name(item.name, 0)
        if item.source_pod is None:
            return pod.replace(name=name, node="")
        held = self._world.pod(name_of(item.source_pod)) or Pod.from_object(item.source_pod)
        return pod.replace(name=name, node="", requests=held.requests, priority=held.priority)

    def _replica(self, item: Instance) -> KubernetesObject | None:
        """The next VMI of a replica set, from its template; else the VMI as it is."""
        owner = controller_of(item.vmi) or {}
        for obj in self._snapshot.of("VirtualMachineInstanceReplicaSet"):
            name = name_of(obj)
            if (name.namespace, name.name) == (item.name.namespace, owner.get("name")):
                template = at(obj, "spec", "template", default={})
                metadata = {
                    "namespace": name.namespace,
                    "name": item.name.name,
                    "labels": at(template, "metadata", "labels", default={}),
                }
                return {"metadata": metadata, "spec": template.get("spec") or {}}
        return item.vmi

    def _is_replaced(self, pod: Pod) -> bool:
        """Whether a controller creates the pod again on another node."""
        owner = controller_of(self._objects.get(pod.name))
        if CREATED_BY in pod.labels or owner is None:
            return False
        return owner.get("kind") not in ("DaemonSet", "Node", "Pod")  # Pod: an attachment pod

    def _mask(self, nodes: Iterable[str]) -> Mask:
        columns = self._world.state.columns
        mask = columns.nowhere()
        mask[[columns.index[node] for node in nodes]] = True
        return mask

    def _broken(self, lost: Sequence[str], restarts: Iterable[Restart]) -> tuple[Breach, ...]:
        if not self._rules:
            return ()
        homes = {vm: node for node, vms in self._on_node.items() for vm in vms}
        before: Occupancy = {vm: frozenset({node}) for vm, node in homes.items()}
        there = {item.vm: item.to for item in restarts if item.to}
        after: Occupancy = {
            vm: frozenset({there.get(vm, node)})
            for vm, node in homes.items()
            if node not in lost or vm in there
        }
        touched = {vm for vm, node in homes.items() if node in lost}
        return tuple(
            breach
            for rule in self._rules
            if not rule.members.isdisjoint(touched)
            for breach in worsened(rule.breaches(before), rule.breaches(after))
        )


def _with_own_claims(pod: Pod, number: int) -> Pod:
    """One of several copies of a VM: its new claims have names of their own."""
    if not pod.new_claims:
        return pod
    names = {name: f"{name}-{number}" for name in pod.new_claims}
    volumes = []
    for volume in pod.volumes:
        claim = at(volume, "persistentVolumeClaim", "claimName")
        own = {"persistentVolumeClaim": {"claimName": names[claim]}} if claim in names else {}
        volumes.append({**volume, **own})
    new = {
        names[name]: {**claim, "metadata": {**claim["metadata"], "name": names[name]}}
        for name, claim in pod.new_claims.items()
    }
    return pod.replace(volumes=tuple(volumes), new_claims=new)


def _starts_again(item: Instance) -> bool:
    """KubeVirt starts the VM of a lost node again if its run strategy or a replica set says so."""
    if item.vm is not None:
        return run_strategy(item.vm) in _RESTARTING
    return controller_of(item.vmi) is not None


def _ends(
    world: World, pods: Sequence[Pod], closed: Mask, wanted: Collection[NamespacedName] = ()
) -> dict[NamespacedName, str] | None:
    """The node of each pod, "" if none. Pods that wait are tried again after others are placed.

    None as soon as all `wanted` pods, if there are any, have a place or are certain to get one.
    """
    ends = {pod.name: "" for pod in pods}
    waiting, step = list(pods), len(pods) // _LOOKS + 1
    certain = bool(wanted)
    while waiting:  # gets shorter in each round, or the loop ends
        for number, pod in enumerate(waiting):
            if certain and number % step == step - 1:
                rest = waiting[number:]
                ahead = [other for other in rest if other.name in wanted]
                if PlacementBound(world, rest).surely_fit(ahead, closed):
                    return None
            ends[pod.name] = _placed(world, pod, closed)
            certain = certain and (bool(ends[pod.name]) or pod.name not in wanted)
        left = [pod for pod in waiting if not ends[pod.name]]
        if len(left) == len(waiting):
            break
        certain, waiting = False, left
    return ends


def _placed(world: World, pod: Pod, closed: Mask) -> str:
    """Place a pod where kube-scheduler would, the first by name among equals; "" if nowhere."""
    alone = pod if pod.attachment is None else pod.replace(attachment=None)
    numbers = np.flatnonzero(world.mask(alone) & ~closed)
    if not len(numbers):
        return ""
    best = int(numbers[0])
    if len(numbers) > 1:
        best = int(numbers[int(np.argmax(world.totals(pod, numbers)))])
    node = world.state.columns.names[best]
    world.add(pod.replace(node=node), node)
    return node


def _unproven(pod: Pod) -> str:
    """What kube-scheduler looks at and the snapshot does not have; "" if there is nothing."""
    if not pod.device_claims:
        return ""
    claims = ", ".join(pod.device_claims)
    return f"not proven: which nodes have free devices for resource claims {claims} is not known"


def _detached(world: World, pod: Pod, node: str) -> str:
    """Why a placed pod's hotplugged volumes cannot be attached there; "" if they can."""
    if pod.attachment is None:
        return ""
    before = world.fork()
    before.remove(pod.name)
    found = before.check(pod, node)
    return f"kube-scheduler chooses {node}, where it waits: {found[0]}" if found else ""


def _why(world: World, pod: Pod, lost: Collection[str]) -> str:
    """`0/3 nodes are available: 2 Insufficient memory, 1 …`, as kube-scheduler says it."""
    judged = [verdict for verdict in world.judge(pod).nodes if verdict.node not in lost]
    said = Counter(
        reason
        for verdict in judged
        if verdict.reported is not None
        for reason in verdict.reported.reasons
    )
    listed = ", ".join(
        f"{count} {reason}" for reason, count in sorted(said.items(), key=lambda i: (-i[1], i[0]))
    )
    return f"0/{len(judged)} nodes are available: {listed}" if judged else "no node is left"
