"""The nodes that a VM or pod may run on, and why: reasons, scores, winner, preflight."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from gitbot.constraints.load.ranking import Ranked, Ranking
from gitbot.constraints.moves.instances import Instance, Instances
from gitbot.constraints.moves.prediction_caveats import pod_checks
from gitbot.constraints.moves.target_pod import launcher_of, start_object, target_object
from gitbot.constraints.moves.vm_warnings import vm_checks
from gitbot.constraints.scheduler.verdicts import Judgement, NodeScore
from gitbot.constraints.scheduler.world import World
from gitbot.kubernetes.names import NamespacedName
from gitbot.kubernetes.objects import KubernetesObject, at, labels_of, name_of, uid_of
from gitbot.kubernetes.phases import is_final
from gitbot.kubevirt.names import CREATED_BY
from gitbot.kubevirt.pod_defaults import stored_pod
from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.model.cluster.pod import Pod
from gitbot.model.cluster.resource_requests import limits_of
from gitbot.model.plan.diagnosis import Check
from gitbot.model.text.decoding import decoding


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """The answer for one subject.

    `kind` is VirtualMachineInstance, VirtualMachine or Pod. `scores` are empty if fewer than two
    nodes are feasible, because the scheduler skips scoring then. `winners` are the feasible nodes
    with the highest total; the scheduler takes one of them. `target` is the pod that was judged.
    """

    kind: str
    name: NamespacedName
    judgement: Judgement
    scores: tuple[NodeScore, ...]
    winners: tuple[str, ...]
    target: KubernetesObject
    checks: tuple[Check, ...] = ()


class Explainer:
    """Explains the subjects of one snapshot."""

    def __init__(self, snapshot: ClusterSnapshot, ranking: Ranking | None = None) -> None:
        self._ranked = Ranked(snapshot, ranking or Ranking())
        self.instances = Instances.of(snapshot)
        self.world = World.of(snapshot)
        self._pods = {name_of(pod): pod for pod in snapshot.of("Pod")}

    def names(self, kind: str) -> tuple[NamespacedName, ...]:
        return tuple(sorted(self._pods)) if kind == "pod" else tuple(self.instances)

    @property
    def nodes(self) -> tuple[str, ...]:
        return tuple(sorted(self.instances.nodes))

    def runs_on(self, item: Explanation) -> str:
        """The node on which an explained VM runs; "" for a VM that is off, and for a pod."""
        instance = None if item.kind == "Pod" else self.instances.get(item.name)
        return instance.node if instance is not None else ""

    def pending(self) -> tuple[NamespacedName, ...]:
        return tuple(
            name
            for name, pod in sorted(self._pods.items())
            if not at(pod, "spec", "nodeName") and not is_final(pod)
        )

    def vm(self, name: NamespacedName, added: Mapping[str, str] | None = None) -> Explanation:
        """A migration of a running VM that would start now; the start of a stopped VM.

        Raises KeyError if neither a VMI nor a VM has this name.
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
        pod = launcher_of(self.instances, instance, obj, estimated=estimated)
        pod = pod.replace(limits=limits_of(obj))
        checks = vm_checks(self.instances, instance, pod, selector, self.world)
        return self._answer(kind, name, obj, pod, checks)

    def pod(self, name: NamespacedName) -> Explanation:
        """A pod as it is, without its own node if it has one. Raises KeyError for an unknown name.

        A pod without a uid was never stored: what the API server would add is added first.
        """
        obj = self._pods[name]
        if not uid_of(obj):
            obj = self._admitted(obj)
        return self._answer("Pod", name, obj, Pod.from_object(obj), ())

    def _admitted(self, obj: KubernetesObject) -> KubernetesObject:
        """A new pod as the API server would store it; it keeps its priority."""
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
            most = self._ranked.ranking.most_allocated
            scores = world.scores(asked, feasible, most_allocated=most)
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
    """A node that preemption promised wins before any node is scored."""
    if pod.nominated in feasible:
        return (pod.nominated,)
    return world.predicted(scores) if scores else feasible
