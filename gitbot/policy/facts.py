"""What expressions see: plan, moves, VMs, nodes, intents and the cluster as plain data.

Counts over the fleet are computed here, because an evaluation may loop only 9,999 times.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from gitbot.kubernetes.objects import Json, KubernetesObject, annotations_of, at, labels_of, name_of
from gitbot.kubernetes.phases import is_final
from gitbot.kubevirt.eviction import eviction_strategy
from gitbot.kubevirt.node_selector import HOST_MODEL
from gitbot.kubevirt.pods import hotplugged_volumes
from gitbot.model.names import IntentRef
from gitbot.model.plan import Move, PlacementPlan
from gitbot.model.problem import PlacementProblem
from gitbot.model.scheduling import HOSTNAME
from gitbot.policy.engine import timestamp
from gitbot.policy.fleet import fleet_facts
from gitbot.policy.keys import label_keys, topology_keys
from gitbot.policy.value import Over
from gitbot.published import move_fields, plan_fields

Subject = tuple[str, IntentRef | None, dict[str, Any]]


class PlanVariables:
    """The variables of one plan, computed once.

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
    ) -> None:
        self._moves = tuple(moves)
        self._problem = problem
        self._intents = {ref.id: (ref, spec) for ref, spec in intents.items()}
        snapshot = problem.snapshot
        self._vms = {name_of(item): item for item in snapshot.of("VirtualMachineInstance")}
        self._nodes = {name_of(item).name: item for item in snapshot.of("Node")}
        self._owner_of = owner_of
        self._kubevirt: KubernetesObject = next(iter(snapshot.of("KubeVirt")), {})
        self._known: dict[Over, tuple[Subject, ...]] = {}
        self._common = {
            "plan": {**plan_facts(plan), **fleet_facts(plan, problem, owner_of)},
            "cluster": _cluster(problem, clock, snapshot_max_age),
            "now": timestamp(now),
        }

    def subjects(self, over: Over) -> Sequence[Subject]:
        """What to judge: its name for messages, the intent to point at, its variables."""
        if over not in self._known:
            self._known[over] = tuple(self._subjects(over))
        return self._known[over]

    def _subjects(self, over: Over) -> Iterator[Subject]:
        match over:
            case Over.PLAN:
                yield "", self._only_intent(), dict(self._common)
            case Over.MOVE:
                for move in self._moves:
                    yield str(move.vm.namespaced_name), move.intent, self._of_move(move)
            case Over.INTENT:
                for name in sorted(self._intents):
                    ref, spec = self._intents[name]
                    yield name, ref, {**self._common, "intent": _intent(ref, spec)}

    def _only_intent(self) -> IntentRef | None:
        refs = {move.intent for move in self._moves}
        return refs.pop() if len(refs) == 1 else None

    def _of_move(self, move: Move) -> dict[str, Any]:
        ref, spec = self._intents.get(move.intent.id, (move.intent, {}))
        return {
            **self._common,
            "move": move_fields(move),
            "vm": self._vm(move),
            "source": _node(move.source.node, move.source.zone, self._nodes.get(move.source.node)),
            "node": _node(move.to.node, move.to.zone, self._nodes.get(move.to.node)),
            "intent": _intent(ref, spec),
        }

    def _vm(self, move: Move) -> dict[str, Any]:
        ref, found = move.vm, self._vms.get(move.vm.namespaced_name, {})
        model = at(found, "spec", "domain", "cpu", "model")
        default = at(self._kubevirt, "spec", "configuration", "cpuModel")
        return {
            "namespace": ref.namespace,
            "name": ref.name,
            "uid": ref.uid,
            "owner": self._owner_of(ref.namespace),
            "node": move.source.node,
            "labels": dict(sorted(labels_of(found).items())),
            "annotations": dict(sorted(annotations_of(found).items())),
            "cpuModel": str(model or default or HOST_MODEL),
            "evictionStrategy": eviction_strategy(found, self._kubevirt),
            "hotplugVolumes": sorted(hotplugged_volumes(found)),
        }


def plan_facts(plan: PlacementPlan) -> dict[str, Any]:
    requests = Counter(move.request for move in plan.moves)
    waves = Counter(move.wave for move in plan.moves)
    ends = [wave.ends for wave in plan.waves]
    starts = [wave.starts for wave in plan.waves]
    return {
        **plan_fields(plan),
        "requests": [{"id": str(name), "moves": requests[name]} for name in sorted(requests)],
        "largestWave": max(waves.values(), default=0),
        "estimatedSeconds": max(ends, default=0) - min(starts, default=0),
    }


def _cluster(problem: PlacementProblem, clock: int, snapshot_max_age: int) -> dict[str, Any]:
    snapshot = problem.snapshot
    migrations = snapshot.of("VirtualMachineInstanceMigration")
    return {
        "name": problem.cluster,
        "nodes": len(snapshot.of("Node")),
        "vms": len(snapshot.of("VirtualMachineInstance")),
        "runningMigrations": sum(not is_final(item) for item in migrations),
        "nodeLabelKeys": sorted({key for node in snapshot.of("Node") for key in labels_of(node)}),
        "pinnedVms": sorted(
            str(name_of(item))
            for item in snapshot.of("VirtualMachineInstance")
            if HOSTNAME in at(item, "spec", "nodeSelector", default={})
        ),
        "kubevirt": _kubevirt(next(iter(snapshot.of("KubeVirt")), {})),
        "snapshotAgeSeconds": max(0, clock - snapshot.taken_at),
        "snapshotMaxAgeSeconds": snapshot_max_age,
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


def _intent(ref: IntentRef, spec: Json) -> dict[str, Any]:
    return {
        "kind": ref.kind,
        "namespace": ref.namespace,
        "name": ref.name,
        "file": ref.file,
        "spec": dict(spec),
        "topologyKeys": topology_keys(spec),
        "labelKeys": label_keys(spec),
    }
