"""A Required rule that nobody can judge, because the labels that choose its VMs were not read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import ClassVar

from gitbot.constraints.moves.instances import Instances
from gitbot.kubernetes.names import NamespacedName
from gitbot.kubernetes.objects import Json, at
from gitbot.model.cluster.scheduling import AffinityTerm
from gitbot.model.plan.constraint import Breach, NoMaximum, Occupancy
from gitbot.model.text.names import IntentRef


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadRule(NoMaximum):
    """It knows no breach, and no move of its members keeps it for certain."""

    ref: IntentRef
    members: frozenset[NamespacedName]
    required: bool = True
    monotone: ClassVar[bool] = True
    parts: ClassVar[tuple[object, ...]] = ()

    @property
    def reason(self) -> str:
        return (
            f"whether a move keeps {self.ref.id} is not known: its namespaceSelector reads labels, "
            "and the files have no Namespace"
        )

    def signature(self, _node: str) -> object:
        return ""

    def breaches(self, _occupancy: Occupancy) -> tuple[Breach, ...]:
        return ()

    def explain(self, vm: NamespacedName, _node: str, _occupancy: Occupancy) -> str:
        return self.reason if vm in self.members else ""


def unread_rule(
    instances: Instances,
    *,
    ref: IntentRef,
    subjects: frozenset[NamespacedName],
    affinities: Iterable[Json | None],
) -> UnreadRule | None:
    """In place of the rule with these required terms; None if unread labels decide nothing.

    Pods beside the launchers' count for that, too, and do not move.
    """
    indices = (instances.by_label, instances.standing_by_label)
    held = {space for index in indices for space in index.spaces}
    peers: list[frozenset[NamespacedName]] = []
    for raw in _required(affinities) if instances.without_namespaces else ():
        term = AffinityTerm.of(raw, namespace=ref.namespace, labels={})
        doubtful = frozenset(space for space in held if term.in_doubt(space))
        if any(any(index.matching(term.selector, doubtful)) for index in indices):
            spaces = instances.reached(term) | doubtful
            peers.append(frozenset(instances.by_label.matching(term.selector, spaces)))
    return UnreadRule(ref=ref, members=subjects.union(*peers)) if peers and subjects else None


def _required(affinities: Iterable[Json | None]) -> Iterator[Json]:
    for each in affinities:
        yield from at(each, "requiredDuringSchedulingIgnoredDuringExecution", default=())
