"""Why a VM or pod may run where: every node with every reason, scores, winner, preflight."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gitbot.constraints.instances import Instance, Instances
from gitbot.constraints.kubevirt_target import start_object, target_object
from gitbot.constraints.prediction_checks import pod_checks
from gitbot.constraints.ranking import Ranked, Ranking
from gitbot.constraints.subject_checks import vm_checks
from gitbot.constraints.verdicts import Judgement, NodeScore
from gitbot.constraints.world import World
from gitbot.kubevirt.names import CREATED_BY
from gitbot.kubevirt.pod_defaults import stored_pod
from gitbot.model.cluster import ClusterSnapshot
from gitbot.model.decoding import decoding
from gitbot.model.names import NamespacedName
from gitbot.model.objects import KubernetesObject, at, labels_of, name_of, uid_of
from gitbot.model.plan import Check, Outcome
from gitbot.model.plan_json import API_VERSION
from gitbot.model.pod import FINISHED, Pod
from gitbot.model.requests import limits_of

KIND = "Explanation"


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """The answer for one subject.

    `kind` is VirtualMachineInstance, VirtualMachine or Pod. `scores` are empty where fewer than
    two nodes are feasible: the scheduler scores none then. `winners` are the feasible nodes with
    the highest total, one of which the scheduler takes. `target` is the pod that was judged.
    """

    kind: str
    name: NamespacedName
    judgement: Judgement
    scores: tuple[NodeScore, ...]
    winners: tuple[str, ...]
    target: KubernetesObject
    checks: tuple[Check, ...] = ()


class Explainer:
    """Answers about the subjects of one snapshot."""

    def __init__(self, snapshot: ClusterSnapshot, ranking: Ranking | None = None) -> None:
        self._ranked = Ranked(snapshot, ranking or Ranking())
        self.instances = Instances.of(snapshot)
        self.world = World.of(snapshot)
        self._pods = {name_of(pod): pod for pod in snapshot.of("Pod")}

    def names(self, kind: str) -> tuple[NamespacedName, ...]:
        """The names of all subjects of a kind, `vm` or `pod`, sorted."""
        return tuple(sorted(self._pods)) if kind == "pod" else tuple(self.instances)

    def pending(self) -> tuple[NamespacedName, ...]:
        """The pods that wait for a node, sorted."""
        return tuple(
            name
            for name, pod in sorted(self._pods.items())
            if not at(pod, "spec", "nodeName") and at(pod, "status", "phase") not in FINISHED
        )

    def vm(self, name: NamespacedName, added: Mapping[str, str] | None = None) -> Explanation:
        """A migration of a running VM that would start now; the start of one that does not run.

        KeyError where neither a VMI nor a VM has the name.
        """
        instance = self.instances[name]
        waiting = None if instance.node else self._waiting(instance)
        selector = dict(added or {})
        if instance.node:
            obj = target_object(self.instances, instance, selector)
        else:
            obj = waiting or start_object(self.instances, instance)
        kind = "VirtualMachine" if instance.vmi is None else "VirtualMachineInstance"
        estimated = instance.source_pod is None and waiting is None
        pod = replace(Pod.from_object(obj, estimated=estimated), limits=limits_of(obj))
        checks = vm_checks(self.instances, instance, pod, selector, self.world)
        return self._answer(kind, name, obj, pod, checks)

    def pod(self, name: NamespacedName) -> Explanation:
        """A pod as it is, taken off its node if it has one. KeyError where there is none.

        One without a uid was never stored: what the API server would add is added first.
        """
        obj = self._pods[name]
        if not uid_of(obj):
            obj = self._admitted(obj)
        return self._answer("Pod", name, obj, Pod.from_object(obj), ())

    def _admitted(self, obj: KubernetesObject) -> KubernetesObject:
        """A pod that no API server has stored yet, as one would; its own priority stays."""
        spec = obj.get("spec") or {}
        with decoding("Pod", obj):
            stored = stored_pod({**obj, "spec": spec}, self.instances.classes)
        if "priority" in spec:
            stored["spec"]["priority"] = spec["priority"]
        return stored

    def _answer(
        self,
        kind: str,
        name: NamespacedName,
        obj: KubernetesObject,
        pod: Pod,
        checks: Sequence[Check],
    ) -> Explanation:
        world = self.world
        if world.pod(pod.name) is not None:
            world = world.fork()
            world.remove(pod.name)
        asked = replace(pod, node="", finished=False)
        judgement = world.judge(asked)
        feasible = judgement.feasible
        scores: tuple[NodeScore, ...] = ()
        if len(feasible) > 1:
            scores = world.scores(asked, feasible, self._ranked.ranking.scorers)
            scores = self._ranked.added(scores, obj, name)
        uncertain = (*pod_checks(asked, world, judgement), *self._ranked.check(feasible))
        return Explanation(
            kind=kind,
            name=name,
            judgement=judgement,
            scores=scores,
            winners=_winners(world, asked, feasible, scores),
            target=obj,
            checks=(*checks, *uncertain),
        )

    def _waiting(self, instance: Instance) -> KubernetesObject | None:
        """The launcher pod of a VMI that waits for a node."""
        if not instance.uid:
            return None
        return next(
            (
                self._pods[name]
                for name in self.pending()
                if labels_of(self._pods[name]).get(CREATED_BY) == instance.uid
            ),
            None,
        )


def _winners(
    world: World, pod: Pod, feasible: tuple[str, ...], scores: tuple[NodeScore, ...]
) -> tuple[str, ...]:
    """A node that preemption promised is taken before any is scored."""
    if pod.nominated in feasible:
        return (pod.nominated,)
    return world.predicted(scores) if scores else feasible


def explanation_json(explanation: Explanation) -> dict[str, Any]:
    """One subject as JSON: names, nodes in order of names, integers only."""
    scores = {score.node: score for score in explanation.scores}
    winners = explanation.winners
    return {
        "kind": explanation.kind,
        "namespace": explanation.name.namespace,
        "name": explanation.name.name,
        "feasible": list(explanation.judgement.feasible),
        "nodes": [
            {
                "name": verdict.node,
                "verdict": verdict_word(ok=verdict.ok, resolvable=verdict.resolvable),
                "rejections": [
                    {
                        "plugin": rejection.plugin,
                        "reasons": list(rejection.reasons),
                        "details": list(rejection.details),
                    }
                    for rejection in verdict.rejections
                ],
                "scores": dict(sorted(scores[verdict.node].scores.items()))
                if verdict.node in scores
                else {},
                "total": scores[verdict.node].total if verdict.node in scores else 0,
            }
            for verdict in explanation.judgement.nodes
        ],
        "predicted": {
            "node": winners[0] if winners else "",
            "tied": list(winners),
        },
        "targetPod": explanation.target,
        "preflight": [
            {"name": check.name, "outcome": str(check.outcome), "message": check.message}
            for check in explanation.checks
        ],
    }


def verdict_word(*, ok: bool, resolvable: bool) -> str:
    """ok; unschedulable where eviction of other pods could help; else unresolvable."""
    if ok:
        return "ok"
    return "unschedulable" if resolvable else "unresolvable"


def document(explanations: Sequence[Explanation], cluster: str) -> dict[str, Any]:
    """The document of `gitbot explain -o json`."""
    return {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "cluster": cluster,
        "subjects": [explanation_json(item) for item in explanations],
    }


def schema() -> dict[str, Any]:
    """The JSON Schema (2020-12) of that document."""
    text, texts = {"type": "string"}, {"type": "array", "items": {"type": "string"}}
    score = {"type": "integer", "minimum": 0, "maximum": 100}
    rejection = _object(plugin=text, reasons=texts, details=texts)
    node = _object(
        name=text,
        verdict={"enum": ["ok", "unschedulable", "unresolvable"]},
        rejections={"type": "array", "items": rejection},
        scores={"type": "object", "additionalProperties": score},
        total={"type": "integer", "minimum": 0},
    )
    check = _object(name=text, outcome={"enum": [str(item) for item in Outcome]}, message=text)
    subject = _object(
        kind={"enum": ["VirtualMachineInstance", "VirtualMachine", "Pod"]},
        namespace=text,
        name=text,
        feasible=texts,
        nodes={"type": "array", "items": node},
        predicted=_object(node=text, tied=texts),
        targetPod={"type": "object"},
        preflight={"type": "array", "items": check},
    )
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": KIND,
        "description": "Where a VM or pod could run: every node with every reason. "
        "`tied` lists all nodes with the highest total, the one of `node` among them; "
        "scores are empty where fewer than two nodes are feasible.",
        **_object(
            apiVersion={"const": API_VERSION},
            kind={"const": KIND},
            cluster=text,
            subjects={"type": "array", "items": subject},
        ),
    }


def _object(**properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
