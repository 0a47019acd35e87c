"""The variables of expressions: plan, moves, VMs, nodes, intents and the cluster as plain data.

Counts over the fleet are computed here, because an evaluation may loop only 9,999 times.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import Any

from gitbot.kubernetes.names import NamespacedName
from gitbot.kubernetes.objects import Json, KubernetesObject, annotations_of, at, labels_of, name_of
from gitbot.kubernetes.phases import is_final
from gitbot.kubevirt.eviction import eviction_strategy
from gitbot.kubevirt.launcher_pod import hotplugged_volumes
from gitbot.kubevirt.node_selector import HOST_MODEL
from gitbot.model.cluster.load import PERCENT
from gitbot.model.cluster.scheduling import HOSTNAME
from gitbot.model.plan.plan import Move, NodeRef, PlacementPlan, Resilience, VmRef
from gitbot.model.plan.problem import PlacementProblem
from gitbot.model.text.names import IntentRef
from gitbot.policy.cel_engine import timestamp
from gitbot.policy.fleet import fleet_makers
from gitbot.policy.keys import label_keys, topology_keys
from gitbot.policy.policy import PolicyScope, PolicySubject
from gitbot.policy.variables import VARIABLES, VM, names_over
from gitbot.published import moves_fields, plan_makers, resilience_fields


class LazyMapping(Mapping[str, Any]):
    """Values that are computed on first use."""

    __slots__ = ("_made", "_make", "_names")

    def __init__(self, names: Collection[str], make: Callable[[str], Any]) -> None:
        self._names = names
        self._make = make
        self._made: dict[str, Any] = {}

    @classmethod
    def of(cls, makers: Mapping[str, Callable[[], Any]]) -> LazyMapping:
        return cls(makers, lambda name: makers[name]())

    def __getitem__(self, name: str) -> Any:
        if name not in self._made:
            self._made[name] = self._make(name)
        return self._made[name]

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._names))

    def __len__(self) -> int:
        return len(self._names)


class PlanVariables:
    """The variables of one plan, each computed once, and only if something reads it.

    `intents` maps IntentRef.id to the intent's spec as written (camelCase). `snapshot_max_age` is
    in seconds. `owner_of` names the owner of a namespace, "" for none.
    """

    def __init__(
        self,
        *,
        plan: PlacementPlan,
        problem: PlacementProblem,
        intents: Mapping[IntentRef, Json],
        now: int,
        clock: int,
        snapshot_max_age: int,
        owner_of: Callable[[str], str],
        moves: Iterable[Move],
        resilience: Callable[[], Iterable[Resilience]] = tuple,
    ) -> None:
        self._moves = tuple(moves)
        self._intents = {ref.id: (ref, spec) for ref, spec in intents.items()}
        self._snapshot = problem.snapshot
        self._zone_key = problem.zone_key
        self._load = problem.load
        self._owner_of = owner_of
        self._subjects: dict[PolicyScope, tuple[PolicySubject, ...]] = {}
        self._places: dict[NodeRef, Mapping[str, Any]] = {}
        self._specs: dict[str, Mapping[str, Any]] = {}
        of_plan = {
            **_plan(plan),
            **fleet_makers(plan, problem, owner_of),
            "resilience": lambda: resilience_fields(resilience()),
        }
        self._common = LazyMapping.of(
            {
                "plan": lambda: LazyMapping.of(of_plan),
                "cluster": lambda: LazyMapping.of(_cluster(problem, clock, snapshot_max_age)),
                "now": lambda: timestamp(now),
                **{
                    name: partial(make, plan, problem)
                    for name, variable in VARIABLES.items()
                    if (make := variable.make) is not None
                },
            }
        )
        self._plan_moves = plan.moves

    def subjects(self, over: PolicyScope) -> Sequence[PolicySubject]:
        if over not in self._subjects:
            self._subjects[over] = tuple(self._made(over))
        return self._subjects[over]

    def _made(self, over: PolicyScope) -> Iterator[PolicySubject]:
        names = names_over(over)
        match over:
            case PolicyScope.PLAN:
                yield PolicySubject(name="", intent=self._only_intent(), data=self._common)
            case PolicyScope.MOVE:
                for index, move in enumerate(self._moves):
                    name = str(move.vm.namespaced_name)
                    data = LazyMapping(names, partial(self._of_move, index))
                    yield PolicySubject(name=name, intent=move.intent, data=data)
            case PolicyScope.INTENT:
                for name in sorted(self._intents):
                    ref, _ = self._intents[name]
                    data = LazyMapping(names, partial(self._of_intent, ref))
                    yield PolicySubject(name=name, intent=ref, data=data)

    def machines(self) -> Iterator[PolicySubject]:
        """Every VM of the cluster, with the node where it runs; no policy is over VMs."""
        of_vm = names_over(VM)
        for name, found in sorted(self._vms.items()):
            uid = str(at(found, "metadata", "uid", default=""))
            node = str(at(found, "status", "nodeName", default=""))
            vm = VmRef(namespace=name.namespace, name=name.name, uid=uid)
            make = partial(self._of_machine, vm, node)
            yield PolicySubject(name=str(name), intent=None, data=LazyMapping(of_vm, make))

    def _of_machine(self, vm: VmRef, node: str, name: str) -> Any:
        match name:
            case "vm":
                return self._vm(vm, node)
            case "source":
                found = self._nodes.get(node)
                zone = labels_of(found).get(self._zone_key, "") if found else ""
                return self._node(NodeRef(node=node, zone=zone))
        return self._common[name]

    def _only_intent(self) -> IntentRef | None:
        refs = {move.intent for move in self._moves}
        return refs.pop() if len(refs) == 1 else None

    def _of_move(self, index: int, name: str) -> Any:
        move = self._moves[index]
        match name:
            case "move":
                return self._move_fields[index]
            case "vm":
                return self._vm(move.vm, move.source.node)
            case "source":
                return self._node(move.source)
            case "node":
                return self._node(move.to)
        return self._of_intent(move.intent, name)

    def _of_intent(self, ref: IntentRef, name: str) -> Any:
        return self._intent(ref) if name == "intent" else self._common[name]

    @cached_property
    def _move_fields(self) -> list[dict[str, Any]]:
        if self._moves is self._plan_moves:
            fields: list[dict[str, Any]] = self._common["plan"]["moves"]
            return fields
        return moves_fields(self._moves)

    @cached_property
    def _vms(self) -> Mapping[NamespacedName, KubernetesObject]:
        return {name_of(item): item for item in self._snapshot.of("VirtualMachineInstance")}

    @cached_property
    def _nodes(self) -> Mapping[str, KubernetesObject]:
        return {name_of(item).name: item for item in self._snapshot.of("Node")}

    @cached_property
    def _kubevirt(self) -> KubernetesObject:
        return next(iter(self._snapshot.of("KubeVirt")), {})

    def _node(self, place: NodeRef) -> Mapping[str, Any]:
        if place not in self._places:
            found = self._nodes.get(place.node)
            load = self._load.of(place.node)
            values = {metric: -(-value.amount // PERCENT) for metric, value in load.items()}
            self._places[place] = {**_node(place.node, place.zone, found), "load": values}
        return self._places[place]

    def _intent(self, ref: IntentRef) -> Mapping[str, Any]:
        if ref.id not in self._specs:
            self._specs[ref.id] = _intent(*self._intents.get(ref.id, (ref, {})))
        return self._specs[ref.id]

    def _vm(self, ref: VmRef, node: str) -> dict[str, Any]:
        found = self._vms.get(ref.namespaced_name, {})
        model = at(found, "spec", "domain", "cpu", "model")
        default = at(self._kubevirt, "spec", "configuration", "cpuModel")
        return {
            "namespace": ref.namespace,
            "name": ref.name,
            "uid": ref.uid,
            "owner": self._owner_of(ref.namespace),
            "node": node,
            "labels": dict(sorted(labels_of(found).items())),
            "annotations": dict(sorted(annotations_of(found).items())),
            "cpuModel": str(model or default or HOST_MODEL),
            "evictionStrategy": eviction_strategy(found, self._kubevirt),
            "hotplugVolumes": sorted(hotplugged_volumes(found)),
        }


def _plan(plan: PlacementPlan) -> Mapping[str, Callable[[], Any]]:
    def requests() -> list[dict[str, Any]]:
        counts = Counter(move.request for move in plan.moves)
        return [{"id": str(name), "moves": counts[name]} for name in sorted(counts)]

    def seconds() -> int:
        starts = (wave.starts for wave in plan.waves)
        return max((wave.ends for wave in plan.waves), default=0) - min(starts, default=0)

    waves = Counter(move.wave for move in plan.moves)
    return {
        **plan_makers(plan),
        "requests": requests,
        "largestWave": lambda: max(waves.values(), default=0),
        "estimatedSeconds": seconds,
    }


def _cluster(
    problem: PlacementProblem, clock: int, snapshot_max_age: int
) -> Mapping[str, Callable[[], Any]]:
    snapshot = problem.snapshot
    vms, nodes = snapshot.of("VirtualMachineInstance"), snapshot.of("Node")
    migrations = snapshot.of("VirtualMachineInstanceMigration")
    return {
        "name": lambda: problem.cluster,
        "nodes": lambda: len(nodes),
        "vms": lambda: len(vms),
        "runningMigrations": lambda: sum(not is_final(item) for item in migrations),
        "nodeLabelKeys": lambda: sorted({key for node in nodes for key in labels_of(node)}),
        "pinnedVms": lambda: sorted(
            str(name_of(item))
            for item in vms
            if HOSTNAME in at(item, "spec", "nodeSelector", default={})
        ),
        "kubevirt": lambda: _kubevirt(next(iter(snapshot.of("KubeVirt")), {})),
        "snapshotAgeSeconds": lambda: clock - snapshot.taken_at,
        "snapshotMaxAgeSeconds": lambda: snapshot_max_age,
    }


def _kubevirt(kubevirt: KubernetesObject) -> dict[str, Any]:
    status = at(kubevirt, "status", default={})
    return {
        "phase": str(status.get("phase") or ""),
        "version": str(status.get("observedKubeVirtVersion") or ""),
        "targetVersion": str(status.get("targetKubeVirtVersion") or ""),
        "outdatedVms": int(status.get("outdatedVirtualMachineInstanceWorkloads") or 0),
    }


def _node(name: str, zone: str, node: KubernetesObject | None) -> dict[str, Any]:
    found = node or {}
    return {
        "name": name,
        "zone": zone,
        "labels": dict(sorted(labels_of(found).items())),
        "conditions": sorted(
            str(item.get("type"))
            for item in at(found, "status", "conditions", default=[])
            if item.get("status") == "True"
        ),
        "taints": [dict(taint) for taint in at(found, "spec", "taints", default=[])],
        "unschedulable": bool(at(found, "spec", "unschedulable", default=False)),
    }


def _intent(ref: IntentRef, spec: Json) -> Mapping[str, Any]:
    return LazyMapping.of(
        {
            "kind": lambda: ref.kind,
            "namespace": lambda: ref.namespace,
            "name": lambda: ref.name,
            "file": lambda: ref.file,
            "spec": lambda: dict(spec),
            "topologyKeys": lambda: topology_keys(spec),
            "labelKeys": lambda: label_keys(spec),
        }
    )
