"""What a VM's own spec prefers about other pods, and does not find on a node."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from gitbot.constraints.rules.domains import domain_words
from gitbot.constraints.scheduler.filters.inter_pod_affinity import places_of
from gitbot.constraints.scheduler.filters.topology_spread import included
from gitbot.constraints.scheduler.node_state import State
from gitbot.kubevirt.names import CREATED_BY
from gitbot.model.cluster.pod import Pod
from gitbot.model.cluster.scheduling import SpreadConstraint, WeightedTerm
from gitbot.model.text.wording import first_of


def wishes_about_pods(pod: Pod) -> bool:
    return bool(pod.affinity.preferred_pods) or not all(item.hard for item in pod.spread)


def missed_wishes(state: State, pod: Pod, nodes: Sequence[str]) -> Mapping[object, str]:
    """The wishes that do not hold on one of these nodes, each with what is wrong there.

    Other pods of the same VM are left out.
    """
    found: dict[object, str] = {}
    known = [node for node in nodes if node in state.columns.index]
    for wish in pod.affinity.preferred_pods:
        if text := next(_lacking(state, pod, wish, known), ""):
            found[wish] = text
    for spread in pod.spread:
        if not spread.hard and (text := next(_uneven(state, pod, spread, known), "")):
            found[spread] = text
    return found


def _same_vm(one: Pod, other: Pod) -> bool:
    return one.labels.get(CREATED_BY) == other.labels.get(CREATED_BY)


def _lacking(state: State, asked: Pod, wish: WeightedTerm, nodes: Sequence[str]) -> Iterator[str]:
    key = wish.term.topology_key
    others = [
        (str(pod.name), state.nodes[number].labels.get(key))
        for pod, number in places_of(wish.term, state)
        if not _same_vm(asked, pod)
    ]
    weight = f"(weight {abs(wish.weight)})"
    for node in nodes:
        value = state.nodes[state.columns.index[node]].labels.get(key)
        near = [name for name, there in others if there == value is not None]
        if wish.weight > 0 and not near:
            who = first_of(sorted(name for name, _ in others), 2) or "pods that are nowhere"
            yield f"the VM prefers the company of {who} {weight}: {node} does not have it"
        elif wish.weight < 0 and near:
            words = f"the VM prefers to be apart from {first_of(sorted(near), 2)} {weight}"
            yield f"{words}: both on {domain_words(key, str(value))}"


def _uneven(
    state: State, asked: Pod, spread: SpreadConstraint, nodes: Sequence[str]
) -> Iterator[str]:
    key = spread.topology_key
    counting = included(state, asked, spread) & state.columns.label(key).known
    counts = {
        node.labels[key]: 0 for node, ok in zip(state.nodes, counting.tolist(), strict=True) if ok
    }
    for other, number in state.select(spread.selector):
        counted = counting[number] and other.namespace == asked.namespace and not other.terminating
        if counted and not _same_vm(asked, other):
            counts[state.nodes[number].labels[key]] += 1
    least = min(counts.values(), default=0)
    for node in nodes:
        value = state.nodes[state.columns.index[node]].labels.get(key, "")
        skew = counts.get(value, 0) + int(spread.selector.matches(asked.labels)) - least
        if skew > spread.max_skew:
            words = f"the VM prefers a skew of at most {spread.max_skew} over {key}"
            yield f"{words}: on {node} it is {skew}"
