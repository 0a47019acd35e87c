"""What expressions see: plan, moves, VMs, nodes, intents and the cluster as plain data.

Counts over the fleet are computed here, because an evaluation may loop only 9,999 times.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from gitbot.kubernetes.objects import Json, KubernetesObject, annotations_of, at, labels_of, name_of
from gitbot.kubernetes.phases import is_final
from gitbot.model.names import IntentRef
from gitbot.model.plan import Move, PlacementPlan, VmRef
from gitbot.model.problem import PlacementProblem
from gitbot.policy.engine import timestamp
from gitbot.policy.value import Over
from gitbot.published import move_fields, plan_fields


class PlanVariables:
    """The variables of one plan, computed once.

    `intents` maps IntentRef.id to the intent's spec as written (camelCase). `snapshot_max_age` is
    in seconds.
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
    ) -> None:
        self._plan = plan
        self._problem = problem
        self._intents = {ref.id: (ref, spec) for ref, spec in intents.items()}
        snapshot = problem.snapshot
        self._vms = {name_of(item): item for item in snapshot.of("VirtualMachineInstance")}
        self._nodes = {name_of(item).name: item for item in snapshot.of("Node")}
        self._common = {
            "plan": plan_facts(plan),
            "cluster": _cluster(problem, clock, snapshot_max_age),
            "now": timestamp(now),
        }

    def subjects(self, over: Over) -> Iterator[tuple[str, IntentRef | None, dict[str, Any]]]:
        """What to judge: its name for messages, the intent to point at, its variables."""
        match over:
            case Over.PLAN:
                yield "", self._only_intent(), dict(self._common)
            case Over.MOVE:
                for move in self._plan.moves:
                    yield str(move.vm.namespaced_name), move.intent, self._of_move(move)
            case Over.INTENT:
                for name in sorted(self._intents):
                    ref, spec = self._intents[name]
                    yield name, ref, {**self._common, "intent": _intent(ref, spec)}

    def _only_intent(self) -> IntentRef | None:
        refs = {move.intent for move in self._plan.moves}
        return refs.pop() if len(refs) == 1 else None

    def _of_move(self, move: Move) -> dict[str, Any]:
        ref, spec = self._intents.get(move.intent.id, (move.intent, {}))
        return {
            **self._common,
            "move": move_fields(move),
            "vm": _vm(move.vm, self._vms.get(move.vm.namespaced_name), move.source.node),
            "node": _node(move.to.node, move.to.zone, self._nodes.get(move.to.node)),
            "intent": _intent(ref, spec),
        }


def plan_facts(plan: PlacementPlan) -> dict[str, Any]:
    requests = Counter(move.request for move in plan.moves)
    waves = Counter(move.wave for move in plan.moves)
    ends = [wave.ends for wave in plan.waves]
    starts = [wave.starts for wave in plan.waves]
    return {
        **plan_fields(plan),
        "requests": [{"id": name, "moves": requests[name]} for name in sorted(requests)],
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
        "snapshotAgeSeconds": max(0, clock - snapshot.taken_at),
        "snapshotMaxAgeSeconds": snapshot_max_age,
    }


def _vm(ref: VmRef, instance: KubernetesObject | None, node: str) -> dict[str, Any]:
    found = instance or {}
    return {
        "namespace": ref.namespace,
        "name": ref.name,
        "uid": ref.uid,
        "node": node,
        "labels": dict(sorted(labels_of(found).items())),
        "annotations": dict(sorted(annotations_of(found).items())),
    }


def _node(name: str, zone: str, node: KubernetesObject | None) -> dict[str, Any]:
    found = node or {}
    return {
        "name": name,
        "zone": zone,
        "labels": dict(sorted(labels_of(found).items())),
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
    }
