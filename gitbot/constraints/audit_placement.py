"""Running pods judged on their nodes, as if kube-scheduler had to place them there now.

kube-scheduler reads a pod's terms once, when it places the pod. If node labels change later, other
pods arrive, or KubeVirt writes a changed rule into a VMI, it moves nothing. Here the same filters
answer again, without the pod itself. A preferred term is judged as if it were required.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from gitbot.constraints.moves.instances import Instance, Instances
from gitbot.constraints.scheduler.filters import inter_pod_affinity, node_affinity, topology_spread
from gitbot.constraints.scheduler.filters.topology_spread import TopologySpreadFilter
from gitbot.constraints.scheduler.scorer import Filter
from gitbot.constraints.scheduler.verdicts import Rejection
from gitbot.constraints.scheduler.world import World
from gitbot.kubernetes.names import NamespacedName
from gitbot.kubernetes.objects import Json, KubernetesObject, labels_of, name_of
from gitbot.kubernetes.selectors import NodeMatcher
from gitbot.kubevirt.names import ARCHITECTURE, SCHEDULABLE
from gitbot.model.caches import IdentityCache, LastValueCache
from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.model.cluster.pod import Pod
from gitbot.model.cluster.scheduling import Affinity, AffinityTerm, SpreadConstraint
from gitbot.model.text.decoding import decoding

_FILTERS: tuple[Callable[..., Filter | None], ...] = (
    node_affinity.prepare,
    topology_spread.prepare,
    inter_pod_affinity.prepare,
)
_MOST_TERMS = 50_000


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedPod:
    """A pod on its node, as it would be created now; `vm` is the VMI that it runs, if any.

    `own` are all pods of that VMI: they make room for each other.
    """

    pod: Pod
    node: str
    own: tuple[NamespacedName, ...]
    obj: KubernetesObject
    vm: NamespacedName | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Misplacement:
    """A term of a placed pod that its node does not satisfy. `weight` 0: the term is required."""

    placed: PlacedPod
    rejection: Rejection
    weight: int = 0


def placed_pods(snapshot: ClusterSnapshot) -> tuple[PlacedPod, ...]:
    """The launcher pod in which each VM runs, then all other pods with a node, sorted.

    Repeated calls for one snapshot return the same pods.
    """
    return _last(snapshot)


def _placed_pods(snapshot: ClusterSnapshot) -> Iterator[PlacedPod]:
    instances, world = Instances.of(snapshot), World.of(snapshot)
    launchers: set[NamespacedName] = set()
    for item in instances.values():
        pods = [pod for pod in (item.source_pod, *item.others) if pod is not None]
        names = tuple(name_of(pod) for pod in pods)
        launchers.update(names)
        if item.node in instances.nodes and item.source_pod is not None:
            labels = labels_of(instances.nodes[item.node])
            held = world.pod(name_of(item.source_pod)) or Pod.from_object(item.source_pod)
            pod = _as_asked_now(item, held, item.source_pod.get("spec") or {}, labels)
            yield PlacedPod(pod=pod, node=item.node, own=names, obj=item.source_pod, vm=item.name)
    for obj in snapshot.of("Pod"):
        name = name_of(obj)
        if name in launchers:
            continue
        other = world.pod(name)
        if other is not None and other.node in instances.nodes and not other.terminating:
            yield PlacedPod(pod=other, node=other.node, own=(name,), obj=obj)


_last = LastValueCache[ClusterSnapshot, tuple[PlacedPod, ...]](
    lambda snapshot, _: tuple(_placed_pods(snapshot))
)


def misplaced(
    snapshot: ClusterSnapshot, pods: Iterable[PlacedPod], *, wishes: bool = True
) -> Iterator[Misplacement]:
    """The placed pods whose own terms their node does not satisfy; also wishes, if asked."""
    judge = _PlacedJudge(World.of(snapshot))
    for placed in pods:
        pod = placed.pod
        for rejection in judge.rejections(placed, pod.affinity, pod.spread):
            yield Misplacement(placed=placed, rejection=rejection)
        for plugin, weight, affinity, spread in _wishes(pod) if wishes else ():
            for rejection in judge.rejections(placed, affinity, spread):
                if rejection.plugin == plugin:
                    yield Misplacement(placed=placed, rejection=rejection, weight=weight)


def _as_asked_now(item: Instance, pod: Pod, held: Json, labels: Mapping[str, str]) -> Pod:
    """The launcher pod with its VMI's current terms, and the labels that KubeVirt demands.

    Excluded are the addedNodeSelector of the last migration, because the next one drops it, and
    kubevirt.io/schedulable if the node's `labels` differ: it says whether virt-handler answers, not
    where the VM belongs. Terms that an admission policy added to the pod remain, as long as the
    VMI's own are unchanged.
    """
    vmi = item.vmi or {}
    spec: Json = vmi.get("spec") or {}
    if _unchanged(spec, held, pod.node_selector, labels):
        return pod
    kept = {
        key: value
        for key, value in pod.node_selector.items()
        if _of_kubevirt(key) and (key != SCHEDULABLE or labels.get(key) == value)
    }
    with decoding("VirtualMachineInstance", vmi):
        asked = Affinity.of(spec, namespace=pod.namespace, labels=pod.labels)
        spread = tuple(
            SpreadConstraint.of(one, pod.labels)
            for one in spec.get("topologySpreadConstraints") or ()
        )
    selector = {**kept, **(spec.get("nodeSelector") or {})}
    affinity = pod.affinity if _among(asked, pod.affinity) else asked
    if not set(spread) <= set(pod.spread):
        return pod.replace(node_selector=selector, affinity=affinity, spread=spread)
    if affinity is pod.affinity and selector == pod.node_selector:
        return pod  # as nearly all: KubeVirt adds terms to a pod that its VMI lacks
    return pod.replace(node_selector=selector, affinity=affinity)


def _unchanged(
    asked: Json, held: Json, selector: Mapping[str, str], labels: Mapping[str, str]
) -> bool:
    """Whether VMI and pod are equal here, compared without decoding: nearly all are."""
    fields = ("affinity", "topologySpreadConstraints")
    for field in fields:  # plain loops: this runs for every VM
        if asked.get(field) != held.get(field):
            return False
    own = asked.get("nodeSelector") or {}
    for key in selector:
        if key not in own and not _of_kubevirt(key):
            return False
    for key, value in own.items():
        if selector.get(key) != value:
            return False
    return selector.get(SCHEDULABLE) in (None, labels.get(SCHEDULABLE))


def _of_kubevirt(key: str) -> bool:
    """Whether KubeVirt itself demands the label: its own, and the VMI's architecture."""
    return "kubevirt.io/" in key or key == ARCHITECTURE


def _among(asked: Affinity, held: Affinity) -> bool:
    """Whether a pod has every term of its VMI."""
    if asked == held:
        return True
    return (
        (asked.required_nodes or ()) == (held.required_nodes or ())
        and set(asked.required_pods) <= set(held.required_pods)
        and set(asked.required_anti) <= set(held.required_anti)
        and set(asked.preferred_nodes) <= set(held.preferred_nodes)
        and set(asked.preferred_pods) <= set(held.preferred_pods)
    )


_Spread = tuple[SpreadConstraint, ...]


def _wishes(pod: Pod) -> Iterator[tuple[str, int, Affinity, _Spread]]:
    """Each preferred term as a required one: the plugin that judges it, its weight, its terms."""
    affinity = pod.affinity
    for wish in affinity.preferred_nodes:
        if wish.weight and not wish.term.empty:
            wanted = Affinity(required_nodes=(wish.term,))
            yield "NodeAffinity", wish.weight, wanted, ()
    for pods in affinity.preferred_pods:
        near, apart = ((pods.term,), ()) if pods.weight > 0 else ((), (pods.term,))
        wanted = Affinity(required_pods=near, required_anti=apart)
        yield "InterPodAffinity", abs(pods.weight), wanted, ()
    for one in pod.spread:
        if not one.hard:
            wanted = Affinity(required_nodes=affinity.required_nodes)
            yield "PodTopologySpread", 1, wanted, (replace(one, hard=True),)


_Holders = Mapping[int, list[NamespacedName]]


class _PlacedJudge:
    """Asks the filters only about pods that counts by domain make suspect: filters are slow."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._all = World(world.state.fork())  # no pod is removed here, so its indexes stay warm
        equal = lru_cache(_MOST_TERMS)(self._find_holders)
        self._holders = IdentityCache[_Holders](equal, most=_MOST_TERMS)  # hashing is slow
        self._spreads: dict[object, TopologySpreadFilter] = {}

    def rejections(
        self, placed: PlacedPod, affinity: Affinity, spread: _Spread
    ) -> tuple[Rejection, ...]:
        """Rejections of the pod's own node, computed without the pod's own pods.

        Affinity and spread replace those of the pod.
        """
        if not self._suspect(placed, affinity, spread):
            return ()
        asked = placed.pod.replace(affinity=affinity, spread=spread, node="", terminating=False)
        state = self._world.state
        number = state.columns.index[placed.node]
        taken = [self._world.remove(name) for name in placed.own if name in state.placed]
        filters = [item for make in _FILTERS if (item := make(state, asked)) is not None]
        found = [item.reject(number) for item in filters]
        for pod in taken:
            self._world.add(pod, pod.node)
        return tuple(item for item in found if item is not None and not _of_others(item))

    def _suspect(self, placed: PlacedPod, affinity: Affinity, spread: _Spread) -> bool:
        number = self._all.state.columns.index[placed.node]
        node = self._all.state.nodes[number]
        selector, terms = placed.pod.node_selector, affinity.required_nodes
        if not node_affinity.allows(selector, terms, node):
            return True
        return (
            self._beside_foes(placed, affinity, number)
            or self._without_company(placed, affinity, number)
            or self._uneven(placed, terms, spread, number)
        )

    def _beside_foes(self, placed: PlacedPod, affinity: Affinity, number: int) -> bool:
        for term in affinity.required_anti:
            for name in self._in_domain(term, number):
                if name not in placed.own:
                    return True
        return False

    def _without_company(self, placed: PlacedPod, affinity: Affinity, number: int) -> bool:
        """Whether no other pod in its domains matches all terms; else the filter decides."""
        terms = affinity.required_pods
        if not terms:
            return False
        found = [set(self._in_domain(term, number)) for term in terms]
        return not set.intersection(*found) - set(placed.own)

    def _uneven(
        self,
        placed: PlacedPod,
        terms: tuple[NodeMatcher, ...] | None,
        spread: _Spread,
        number: int,
    ) -> bool:
        hard = tuple(one for one in spread if one.hard)
        if not hard:
            return False
        if len(placed.own) > 1:
            return True
        pod = placed.pod
        selector = frozenset(pod.node_selector.items())
        key = (pod.namespace, hard, selector, terms, pod.tolerations)
        if key not in self._spreads:
            asked = pod.replace(affinity=Affinity(required_nodes=terms), spread=hard)
            self._spreads[key] = TopologySpreadFilter(self._all.state, asked, hard)
        return self._spreads[key].uneven_at(number)

    def _in_domain(self, term: AffinityTerm, number: int) -> list[NamespacedName]:
        value = int(self._all.state.columns.label(term.topology_key).ids[number])
        return self._holders(term).get(value, []) if value >= 0 else []

    def _find_holders(self, term: AffinityTerm) -> _Holders:
        """The pods that a term matches, by number of their domain."""
        ids = self._all.state.columns.label(term.topology_key).ids
        found: dict[int, list[NamespacedName]] = {}
        for pod, number in inter_pod_affinity.places_of(term, self._all.state):
            found.setdefault(int(ids[number]), []).append(pod.name)
        return found


def _of_others(rejection: Rejection) -> bool:
    """Whether the anti-affinity of other pods rejects: then those pods are reported."""
    return rejection.reasons == (inter_pod_affinity.BY_OTHERS,)
