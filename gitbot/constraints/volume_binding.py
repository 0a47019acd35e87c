"""Where claims can be bound or reached. Source: kube-scheduler 1.36, plugins/volumebinding.

CSIStorageCapacity is not read: a class that can provision is taken to have room.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np

from gitbot.constraints.state import State
from gitbot.constraints.storage import (
    access_modes,
    allowed_topologies,
    is_bound,
    required_terms,
    waits_for_consumer,
)
from gitbot.constraints.verdicts import Rejection
from gitbot.model.columns import Mask
from gitbot.model.node import Node
from gitbot.model.objects import Json, annotations_of, at, labels_of, name_of
from gitbot.model.pod import Pod
from gitbot.model.quantities import nanos
from gitbot.model.selectors import LabelSelector

_PLUGIN = "VolumeBinding"
_SELECTED_NODE = "volume.kubernetes.io/selected-node"
_NO_PROVISIONER = "kubernetes.io/no-provisioner"


class VolumeBinding:
    """Bound volumes must be reachable from the node; unbound ones need a match or a class."""

    def __init__(self, state: State, pod: Pod) -> None:
        self._state, self._pod = state, pod

    @cached_property
    def _claims(self) -> list[tuple[str, Json]]:
        storage = self._state.facts.storage
        found = []
        for name in dict.fromkeys(self._pod.claims):
            claim = storage.claim(self._pod.namespace, name)
            if claim is not None:
                found.append((name, claim))
        return found

    def whole(self) -> Rejection | None:
        """A claim that is missing, lost, being deleted, or unbound without waiting for a pod."""
        text = self._refusal()
        if not text:
            return None
        return Rejection(plugin=_PLUGIN, reasons=(text,), resolvable=False, early=True)

    def _refusal(self) -> str:
        storage = self._state.facts.storage
        known = dict(self._claims)
        for volume in self._pod.volumes:
            name = self._pod.claim_of(volume)
            if name and name not in known:
                if volume.get("ephemeral"):
                    return (
                        "waiting for ephemeral volume controller to create the "
                        f'persistentvolumeclaim "{name}"'
                    )
                return f'persistentvolumeclaim "{name}" not found'
        for name, claim in self._claims:
            if at(claim, "status", "phase") == "Lost":
                volume_name = at(claim, "spec", "volumeName", default="")
                return (
                    f'persistentvolumeclaim "{name}" bound to non-existent persistentvolume '
                    f'"{volume_name}"'
                )
            if at(claim, "metadata", "deletionTimestamp"):
                return f'persistentvolumeclaim "{name}" is being deleted'
        unbound = [claim for _, claim in self._claims if not is_bound(claim)]
        if any(not waits_for_consumer(claim, storage) for claim in unbound):
            return "pod has unbound immediate PersistentVolumeClaims"
        return ""

    def mask(self) -> Mask:
        """Nodes that reach every bound volume and can bind the others."""
        mask = self._state.columns.everywhere()
        for _, claim in self._claims:
            volume = self._state.facts.storage.volume_of(claim)
            if not is_bound(claim):
                continue
            if volume is None:
                return self._state.columns.nowhere()
            mask &= self._reachable(volume)
        if any(not is_bound(claim) for _, claim in self._claims):
            for number in np.flatnonzero(mask):
                mask[number] = not self._unbindable(self._state.nodes[number])
        return mask

    def _reachable(self, volume: Json) -> Mask:
        terms = required_terms(volume)
        columns = self._state.columns
        if terms is None:
            return columns.everywhere()
        mask = columns.nowhere()
        for term in terms:
            if not term.usable:
                continue
            matched = columns.everywhere()
            for requirement in term.expressions:
                matched &= columns.label(requirement.key).where(requirement.accepts)
            for requirement in term.fields:  # the check asks a node without a name
                matched &= requirement.accepts("")
            mask |= matched
        return mask

    def reject(self, node: int) -> Rejection | None:
        """A node from where a volume cannot be reached, or where a claim cannot be bound."""
        found = self._state.nodes[node]
        reasons: dict[str, str] = {}
        for name, claim in self._claims:
            if not is_bound(claim):
                continue
            volume = self._state.facts.storage.volume_of(claim)
            if volume is None:
                reasons[_NO_VOLUME] = f"claim {name} is bound to a volume that does not exist"
            elif not reaches(volume, found):
                where = f"volume {name_of(volume).name} of claim {name}"
                reasons[_NO_AFFINITY] = f"{where} cannot be reached from the node"
        unbindable = self._unbindable(found)
        if unbindable:
            reasons[_NO_MATCH] = unbindable
        if not reasons:
            return None
        return Rejection(
            plugin=_PLUGIN,
            reasons=tuple(sorted(reasons)),
            resolvable=False,
            details=tuple(reasons[text] for text in sorted(reasons)),
        )

    def _unbindable(self, node: Node) -> str:
        """The first unbound claim that finds neither a volume nor a class on the node."""
        taken: set[str] = set()
        pending = []
        for name, claim in self._claims:
            if is_bound(claim):
                continue
            selected = annotations_of(claim).get(_SELECTED_NODE, "")
            if selected and selected != node.name:
                return f"claim {name} is being provisioned for node {selected}"
            volume = None if selected else self._match(claim, node, taken)
            if volume is None:
                pending.append((name, claim))
            else:
                taken.add(name_of(volume).name)
        bad = (name for name, claim in pending if not self._provisions(claim, node))
        name = next(bad, "")
        return f"claim {name} finds no volume and no class for the node" if name else ""

    def _match(self, claim: Json, node: Node, taken: set[str]) -> Json | None:
        """The smallest available volume that fits a claim and the node."""
        fits = [
            volume
            for volume in self._state.facts.storage.volumes.values()
            if name_of(volume).name not in taken and _fits(volume, claim) and reaches(volume, node)
        ]
        return min(fits, key=_order, default=None)

    def _provisions(self, claim: Json, node: Node) -> bool:
        class_name = at(claim, "spec", "storageClassName", default="")
        storage_class = self._state.facts.storage.classes.get(class_name)
        provisioner = at(storage_class, "provisioner", default="")
        if not provisioner or provisioner == _NO_PROVISIONER:
            return False
        terms = allowed_topologies(storage_class)
        return not terms or any(term.matches(node.labels, node.name) for term in terms)


_NO_VOLUME = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"
_NO_AFFINITY = "node(s) didn't match PersistentVolume's node affinity"
_NO_MATCH = "node(s) didn't find available persistent volumes to bind"
_order: Callable[[Json], tuple[int, str]] = lambda volume: (  # noqa: E731 - a sort key
    nanos(at(volume, "spec", "capacity", "storage", default="0")),
    name_of(volume).name,
)


def reaches(volume: Json, node: Node) -> bool:
    """Whether a volume's node affinity accepts a node's labels; matchFields see no name."""
    terms = required_terms(volume)
    return terms is None or any(term.matches(node.labels, "") for term in terms)


def prepare(state: State, pod: Pod) -> VolumeBinding | None:
    """None where the pod has no claims."""
    return VolumeBinding(state, pod) if pod.claims else None


def _fits(volume: Json, claim: Json) -> bool:
    """Class, phase, mode, selector, access modes and size."""
    spec, wanted = volume.get("spec") or {}, claim.get("spec") or {}
    if at(volume, "metadata", "deletionTimestamp"):
        return False
    if (spec.get("volumeMode") or "Filesystem") != (wanted.get("volumeMode") or "Filesystem"):
        return False
    size = nanos(at(spec, "capacity", "storage", default="0"))
    if size < nanos(at(wanted, "resources", "requests", "storage", default="0")):
        return False
    reference = spec.get("claimRef")
    if reference:
        mine = (reference.get("namespace"), reference.get("name"))
        return bool(mine == (name_of(claim).namespace, name_of(claim).name))
    selector = wanted.get("selector")
    return (
        at(volume, "status", "phase", default="Available") == "Available"
        and (spec.get("storageClassName") or "") == (wanted.get("storageClassName") or "")
        and (selector is None or LabelSelector.of(selector).matches(labels_of(volume)))
        and access_modes(wanted) <= access_modes(spec)
    )
