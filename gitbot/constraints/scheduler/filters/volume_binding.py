"""Where claims can be bound or reached.

Without CSIStorageCapacity objects, a class that can provision counts as having room.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from gitbot.constraints.scheduler.filters.node_affinity import misses
from gitbot.constraints.scheduler.filters.volume_matching import bindings, reaches
from gitbot.constraints.scheduler.node_state import State
from gitbot.constraints.scheduler.storage import (
    class_of,
    is_bound,
    required_terms,
    served_by_csi,
    terms_at,
    waits_for_consumer,
)
from gitbot.constraints.scheduler.verdicts import Rejection
from gitbot.kubernetes.objects import Json, at, name_of
from gitbot.kubernetes.selectors import NodeMatcher
from gitbot.model.cluster.columns import Mask
from gitbot.model.cluster.node import Node
from gitbot.model.cluster.pod import Pod

_PLUGIN = "VolumeBinding"


class VolumeBinding:
    """Bound volumes must be reachable from the node; unbound ones need a match or a class."""

    def __init__(self, state: State, pod: Pod) -> None:
        self._state, self._pod = state, pod

    @cached_property
    def _claims(self) -> list[tuple[str, Json]]:
        """One entry per volume. kube-scheduler counts a claim twice if two volumes name it."""
        storage = self._state.facts.storage
        found = []
        for name in self._pod.claims:
            claim = storage.claim(self._pod, name)
            if claim is not None:
                found.append((name, claim))
        return found

    @cached_property
    def unbound(self) -> list[Json]:
        return [claim for _, claim in self._claims if not is_bound(claim)]

    def whole(self) -> Rejection | None:
        """A claim that is missing, lost, being deleted, or unbound without waiting for a pod."""
        texts = (self._refusal(volume) for volume in self._pod.volumes)
        text = next((text for text in texts if text), "")
        if text:
            return Rejection(plugin=_PLUGIN, reasons=(text,), early=True)
        storage = self._state.facts.storage
        late = [
            claim
            for claim in self.unbound
            if not waits_for_consumer(claim, storage)
            and name_of(claim).name not in self._pod.new_claims  # bound before the pod exists
        ]
        if not late:
            return None
        return Rejection(
            plugin=_PLUGIN,
            reasons=("pod has unbound immediate PersistentVolumeClaims",),
            early=True,
            details=tuple(dict.fromkeys(_late(claim) for claim in late)),
        )

    def _refusal(self, volume: Json) -> str:
        name = self._pod.claim_of(volume)
        if not name:
            return ""
        claim = self._state.facts.storage.claim(self._pod, name)
        if claim is None:
            missing = f'persistentvolumeclaim "{name}"'
            if volume.get("ephemeral") is None:
                return f"{missing} not found"
            return f"waiting for ephemeral volume controller to create the {missing}"
        if at(claim, "status", "phase") == "Lost":
            volume_name = at(claim, "spec", "volumeName", default="")
            return (
                f'persistentvolumeclaim "{name}" bound to non-existent persistentvolume '
                f'"{volume_name}"'
            )
        if at(claim, "metadata", "deletionTimestamp"):
            return f'persistentvolumeclaim "{name}" is being deleted'
        if volume.get("ephemeral") is not None and not _owned(claim, self._pod):
            return (
                f"PVC {self._pod.namespace}/{name} was not created for pod {self._pod.name} "
                "(pod is not owner)"
            )
        return ""

    def mask(self) -> Mask:
        mask = self._state.columns.everywhere()
        for _, claim in self._claims:
            volume = self._state.facts.storage.volume_of(claim)
            if not is_bound(claim):
                continue
            if volume is None:
                return self._state.columns.nowhere()
            mask &= self._reached(volume)
        if self.unbound:
            storage = self._state.facts.storage
            for number in np.flatnonzero(mask):
                found = bindings(self.unbound, storage, self._state.nodes[number])
                mask[number] = not found.refusal
        return mask

    def _reached(self, volume: Json) -> Mask:
        storage, terms = self._state.facts.storage, required_terms(volume)
        mask = self._state.columns.everywhere() if terms is None else self._reachable(terms)
        for number, node in enumerate(self._state.nodes):
            if served_by_csi(volume, node.name, storage):
                mask[number] = reaches(terms_at(volume, node.name, storage), node)
        return mask

    def _reachable(self, terms: tuple[NodeMatcher, ...]) -> Mask:
        columns = self._state.columns
        mask = columns.nowhere()
        for term in terms:
            if not term.usable:
                continue
            matched = columns.everywhere()
            for requirement in term.expressions:
                matched &= columns.label(requirement.key).where(requirement.accepts)
            mask |= matched
        return mask

    def reject(self, node: int) -> Rejection | None:
        found = self._state.nodes[node]
        reasons = self._unreachable(found)
        bound = bindings(self.unbound, self._state.facts.storage, found)
        if bound.refusal:
            reasons[_NO_SPACE if bound.full else _NO_MATCH] = bound.refusal
        if not reasons:
            return None
        return Rejection(
            plugin=_PLUGIN,
            reasons=tuple(sorted(reasons)),
            details=tuple(reasons[text] for text in sorted(reasons)),
        )

    def _unreachable(self, node: Node) -> dict[str, str]:
        """Reason and words for the first bound claim whose volume the node cannot reach."""
        for name, claim in self._claims:
            if not is_bound(claim):
                continue
            volume = self._state.facts.storage.volume_of(claim)
            if volume is None:
                return {_NO_VOLUME: f"claim {name} is bound to a volume that does not exist"}
            terms = terms_at(volume, node.name, self._state.facts.storage)
            if not reaches(terms, node):
                where = f"volume {name_of(volume).name} of claim {name}"
                wanted = " or ".join(misses(terms or (), node))
                return {_NO_AFFINITY: f"{where} cannot be reached from the node: it wants {wanted}"}
        return {}


def _late(claim: Json) -> str:
    name, volume = name_of(claim).name, at(claim, "spec", "volumeName", default="")
    if volume:
        return f"claim {name} names volume {volume}, and the binding is not completed"
    class_name = class_of(claim) or "none"
    return f"claim {name} is not bound, and its class ({class_name}) does not wait for a pod"


def _owned(claim: Json, pod: Pod) -> bool:
    """Whether a generic ephemeral volume's claim belongs to this pod; by name without a uid."""
    references: list[Json] = at(claim, "metadata", "ownerReferences", default=[])
    mine = ("uid", pod.uid) if pod.uid else ("name", pod.name.name)
    return any(item.get("controller") and item.get(mine[0]) == mine[1] for item in references)


_NO_VOLUME = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"
_NO_AFFINITY = "node(s) didn't match PersistentVolume's node affinity"
_NO_MATCH = "node(s) didn't find available persistent volumes to bind"

_NO_SPACE = "node(s) did not have enough free storage"


def prepare(state: State, pod: Pod) -> VolumeBinding | None:
    return VolumeBinding(state, pod) if pod.claims else None
