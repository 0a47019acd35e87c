"""Pod affinity and anti-affinity."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from gitbot.constraints.rules.domains import domain_words
from gitbot.constraints.scheduler.node_state import State
from gitbot.constraints.scheduler.scorer import Filter
from gitbot.constraints.scheduler.verdicts import Rejection
from gitbot.constraints.scheduler.versions import LATER
from gitbot.kubevirt.names import CREATED_BY
from gitbot.model.cluster.columns import Mask
from gitbot.model.cluster.pod import Pod
from gitbot.model.cluster.scheduling import AffinityTerm
from gitbot.model.grouping import grouped

_PLUGIN = "InterPodAffinity"
BY_OTHERS = "node(s) didn't satisfy existing pods anti-affinity rules"
"""The reason if the terms of placed pods reject the new pod, not its own terms."""
_Places = list[tuple[Pod, int]]


def incoming_reaches(term: AffinityTerm, namespace: str, state: State) -> bool:
    """Whether a new pod's term covers a namespace, including a defect that 1.37 mends.

    kube-scheduler adds the names of the selected namespaces to the term but keeps the selector and
    applies it without any labels: a selector of only NotIn and DoesNotExist reaches every
    namespace.
    """
    if term.reaches(namespace, state.facts.labels_of_namespace(namespace)):
        return True
    return _is_defective(term, state)


def _is_defective(term: AffinityTerm, state: State) -> bool:
    selector = term.namespace_selector
    return selector is not None and state.facts.minor < LATER and selector.matches({})


def incoming_in_doubt(term: AffinityTerm, namespace: str, state: State) -> bool:
    """Whether `incoming_reaches` depends on labels of the namespace besides its name."""
    return term.in_doubt(namespace) and not _is_defective(term, state)


def places_of(term: AffinityTerm, state: State) -> _Places:
    """The placed pods that a new pod's term matches, with their node numbers."""
    covered: dict[str, bool] = {}
    places: _Places = []
    for pod, number in state.select(term.selector):
        namespace = pod.namespace
        if namespace not in covered:
            covered[namespace] = incoming_reaches(term, namespace, state)
        if covered[namespace]:
            places.append((pod, number))
    return places


def _each_with_places(
    terms: Sequence[AffinityTerm], state: State
) -> list[tuple[AffinityTerm, _Places]]:
    """Each term with its places. Usually the terms of a pod differ only in their domain."""
    found: list[tuple[AffinityTerm, _Places]] = []
    if len(terms) == 1:  # KubeVirt's own, about the VM's other pod
        return [(terms[0], places_of(terms[0], state))]
    for term in terms:
        same = (places for other, places in found if _same_pods(term, other))
        places = next(same, None)
        found.append((term, places_of(term, state) if places is None else places))
    return found


def _same_pods(term: AffinityTerm, other: AffinityTerm) -> bool:
    return (
        term.selector == other.selector
        and term.namespaces == other.namespaces
        and term.namespace_selector == other.namespace_selector
    )


def matches_incoming(term: AffinityTerm, pod: Pod, state: State) -> bool:
    return incoming_reaches(term, pod.namespace, state) and term.selector.matches(pod.labels)


class InterPodAffinity(Filter):
    """Required affinity, required anti-affinity, and the anti-affinity of placed pods.

    The vector answer works on columns of domains, the scalar one on counts by (key, value).
    """

    def __init__(self, state: State, pod: Pod) -> None:
        self._state, self._pod = state, pod
        self._required = pod.affinity.required_pods
        self._owned: dict[tuple[int, str], str] = {}
        self._anti = _each_with_places(pod.affinity.required_anti, state)
        self._existing = [
            (entry.term, nodes)
            for entry, nodes in state.anti.matching(
                pod.namespace, pod.labels, state.facts.labels_of_namespace(pod.namespace)
            )
        ]

    @property
    def idle(self) -> bool:
        """Whether kube-scheduler skips the plugin: no pod has a required term about this one."""
        mine = self._required or self._anti
        return not mine and not any(
            term.topology_key in self._state.nodes[number].labels
            for term, numbers in self._existing
            for number in numbers
        )

    @cached_property
    def _companions(self) -> _Places:
        first, *rest = self._required
        return [
            (pod, number)
            for pod, number in places_of(first, self._state)
            if all(matches_incoming(term, pod, self._state) for term in rest)
        ]

    @cached_property
    def _alone(self) -> bool:
        """First of a series: no companion counts anywhere, and it matches its own terms."""
        counted = any(
            term.topology_key in self._state.nodes[number].labels
            for _, number in self._companions
            for term in self._required
        )
        return not counted and all(
            matches_incoming(term, self._pod, self._state) for term in self._required
        )

    def mask(self) -> Mask:
        columns = self._state.columns
        mask = columns.everywhere()
        taken: dict[str, set[int]] = {}
        for term, nodes in self._existing:
            taken.setdefault(term.topology_key, set()).update(nodes)
        for term, places in self._anti:
            taken.setdefault(term.topology_key, set()).update(number for _, number in places)
        for key, numbers in taken.items():
            columns.label(key).leave(mask, numbers)
        if self._required:
            numbers = {number for _, number in self._companions}
            for term in self._required:
                column = columns.label(term.topology_key)
                mask &= column.ids >= 0 if self._alone else column.in_domains_of(numbers)
        return mask

    def reject(self, node: int) -> Rejection | None:
        labels = self._state.nodes[node].labels
        missing = self._missing(labels)
        if missing:
            return _rejection("node(s) didn't match pod affinity rules", missing, resolvable=False)
        repelled = self._repelled(labels)
        if repelled:
            return _rejection("node(s) didn't match pod anti-affinity rules", repelled)
        repelling = self._repelling(labels)
        if repelling:
            return _rejection(BY_OTHERS, repelling)
        return None

    @cached_property
    def _companions_by_domain(self) -> dict[tuple[str, str], _Places]:
        return _by_domain(((term, self._companions) for term in self._required), self._state)

    @cached_property
    def _anti_by_domain(self) -> dict[tuple[int, str], _Places]:
        found: dict[tuple[int, str], _Places] = {}
        for place, (term, pods) in enumerate(self._anti):
            for (_, value), holders in _by_domain([(term, pods)], self._state).items():
                found[place, value] = holders
        return found

    @cached_property
    def _existing_by_domain(self) -> dict[tuple[int, str], tuple[int, ...]]:
        nodes = self._state.nodes
        return grouped(
            ((place, value), number)
            for place, (term, numbers) in enumerate(self._existing)
            for number in numbers
            if (value := nodes[number].labels.get(term.topology_key)) is not None
        )

    def _missing(self, labels: Mapping[str, str]) -> tuple[str, ...]:
        lines = []
        for term in self._required:
            key, value = term.topology_key, labels.get(term.topology_key)
            if value is None:
                lines.append(f"the node has no label {key}")
            elif not self._alone and (key, value) not in self._companions_by_domain:
                lines.append(f"{domain_words(key, value)} holds no pod that its affinity asks for")
        return tuple(lines)

    def _repelled(self, labels: Mapping[str, str]) -> tuple[str, ...]:
        lines = []
        for place, (term, _) in enumerate(self._anti):
            value = labels.get(term.topology_key)
            holders = None if value is None else self._anti_by_domain.get((place, value))
            if value is None or not holders:
                continue
            pod, number = min(holders, key=lambda item: item[0].name)
            where = f"{self._who(pod)} on {self._state.columns.names[number]}"
            lines.append(
                f"{domain_words(term.topology_key, value)} already holds {where}, which its "
                f"anti-affinity forbids{_more(len(holders) - 1)}"
            )
        return tuple(lines)

    def _who(self, pod: Pod) -> str:
        """A pod by name, or as the source of the migration that the new pod belongs to."""
        vmi = self._pod.labels.get(CREATED_BY)
        own = vmi is not None and pod.labels.get(CREATED_BY) == vmi
        if own:
            return f"its own {'terminating' if pod.terminating else 'running'} pod {pod.name.name}"
        return f"{pod.name}{_ending(pod)}"

    def _repelling(self, labels: Mapping[str, str]) -> tuple[str, ...]:
        lines = []
        for place, (term, _) in enumerate(self._existing):
            value = labels.get(term.topology_key)
            if value is not None and (place, value) in self._existing_by_domain:
                lines.append(self._owners(place, value))
        return tuple(sorted(lines))

    def _owners(self, place: int, value: str) -> str:
        """The pods whose anti-affinity closes a domain. Every node in it asks, so it is cached."""
        known = self._owned.get((place, value))
        if known is not None:
            return known
        term = self._existing[place][0]
        owners = [
            (f"{pod.name}{_ending(pod)}", number)
            for number in self._existing_by_domain[place, value]
            for pod in self._state.pods_on(number)
            if term in pod.affinity.required_anti
        ]
        owner, number = min(owners)
        found = self._owned[place, value] = (
            f"the anti-affinity of {owner} on {self._state.columns.names[number]} forbids it in "
            f"{domain_words(term.topology_key, value)}{_more(len(owners) - 1)}"
        )
        return found


def _ending(pod: Pod) -> str:
    """A pod in the way that will go by itself is called so; kube-scheduler counts it until then."""
    return " (terminating)" if pod.terminating else ""


def at_odds(state: State, pod: Pod, node: int) -> Iterator[Pod]:
    """The placed pods that keep the new pod off a node, by their or its required anti-affinity."""

    def together(key: str, number: int) -> bool:
        ids = state.columns.label(key).ids
        return bool(ids[node] >= 0 and ids[node] == ids[number])

    for term in pod.affinity.required_anti:
        yield from (
            other for other, number in places_of(term, state) if together(term.topology_key, number)
        )
    spaces = state.facts.labels_of_namespace(pod.namespace)
    for entry, numbers in state.anti.matching(pod.namespace, pod.labels, spaces):
        for number in numbers:
            if together(entry.term.topology_key, number):
                held = state.pods_on(number)
                yield from (other for other in held if entry.term in other.affinity.required_anti)


def prepare(state: State, pod: Pod) -> InterPodAffinity:
    """Always prepared: placed pods may have anti-affinity against the new pod."""
    return InterPodAffinity(state, pod)


def _by_domain(
    terms: Iterable[tuple[AffinityTerm, _Places]], state: State
) -> dict[tuple[str, str], _Places]:
    found: dict[tuple[str, str], _Places] = {}
    for term, places in terms:
        for pod, number in places:
            value = state.nodes[number].labels.get(term.topology_key)
            if value is not None:
                found.setdefault((term.topology_key, value), []).append((pod, number))
    return found


def _rejection(text: str, details: tuple[str, ...], *, resolvable: bool = True) -> Rejection:
    return Rejection(plugin=_PLUGIN, reasons=(text,), resolvable=resolvable, details=details)


def _more(count: int) -> str:
    return f" (and {count} more)" if count > 0 else ""
