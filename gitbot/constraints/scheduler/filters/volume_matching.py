"""Which volume an unbound claim would take on a node, and whether its class can provision one.

Source: component-helpers storage/volume (FindMatchingVolume) and kube-scheduler,
plugins/volumebinding/binder.go.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import dataclass

from gitbot.constraints.scheduler.storage import (
    Storage,
    access_modes,
    allowed_topologies,
    class_of,
    required_terms,
)
from gitbot.kubernetes.objects import Json, annotations_of, at, labels_of, name_of, uid_of
from gitbot.kubernetes.quantities import nanos, whole
from gitbot.kubernetes.selectors import LabelMatcher, NodeMatcher
from gitbot.model.cluster.node import Node

_SELECTED_NODE = "volume.kubernetes.io/selected-node"
_NO_PROVISIONER = "kubernetes.io/no-provisioner"


def reaches(terms: tuple[NodeMatcher, ...] | None, node: Node) -> bool:
    """Whether a volume's node affinity accepts a node's labels. Its matchFields are ignored."""
    return terms is None or any(term.matches_labels(node.labels) for term in terms)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bindings:
    """How the unbound claims of a pod would be bound on one node.

    `matched` are claims with their volumes; `provisioned` are claims with the capacity that their
    driver publishes for the node, None if it publishes none. `refusal` says why a claim cannot be
    bound, "" if all can be; `full` that its driver lacks the room.
    """

    matched: tuple[tuple[Json, Json], ...] = ()
    provisioned: tuple[tuple[Json, Json | None], ...] = ()
    refusal: str = ""
    full: bool = False


def bindings(claims: Iterable[Json], storage: Storage, node: Node) -> Bindings:
    """Claims choose in order of requested size, each the smallest volume that fits.

    Claims that find none are provisioned by their class.
    """
    pending = []
    waiting = []
    for claim in claims:
        selected = annotations_of(claim).get(_SELECTED_NODE)
        if selected is None:
            waiting.append(claim)
        elif selected != node.name:
            text = f"claim {name_of(claim).name} is being provisioned for node {selected}"
            return Bindings(refusal=text)
        else:
            pending.append(claim)
    taken: dict[str, tuple[Json, Json]] = {}
    for claim in sorted(waiting, key=_asked):
        volume = _match(claim, storage, node, taken)
        if volume is None:
            pending.append(claim)
        else:
            taken[name_of(volume).name] = claim, volume
    made: list[tuple[Json, Json | None]] = []
    for claim in pending:
        name = name_of(claim).name
        if not _provisions(claim, storage, node):
            return Bindings(refusal=f"claim {name} finds no volume and no class for the node")
        found = _capacity(claim, storage, node) if _is_measured(claim, storage) else None
        if found is None and _is_measured(claim, storage):
            text = f"claim {name}: class {class_of(claim)} publishes no room for it on the node"
            return Bindings(refusal=text, full=True)
        made.append((claim, found))
    return Bindings(matched=tuple(taken.values()), provisioned=tuple(made))


def _is_measured(claim: Json, storage: Storage) -> bool:
    """Whether the capacity of its driver counts: CSIDriver.spec.storageCapacity."""
    provisioner = at(storage.classes.get(class_of(claim)), "provisioner", default="")
    asked = at(claim, "spec", "resources", "requests", "storage")
    return provisioner in storage.measured and asked is not None


def _capacity(claim: Json, storage: Storage, node: Node) -> Json | None:
    """The first CSIStorageCapacity by name with room for the claim that the node reaches."""
    for found in storage.capacities.get(class_of(claim), ()):
        size, topology = found.get("maximumVolumeSize"), found.get("nodeTopology")
        size = found.get("capacity") if size is None else size
        if size is None or topology is None or whole(size) < whole_asked(claim):
            continue
        if LabelMatcher.of(topology).matches(node.labels):
            return found
    return None


def whole_asked(claim: Json) -> int:
    """The bytes that a claim asks for."""
    return whole(at(claim, "spec", "resources", "requests", "storage", default="0"))


def whole_size(volume: Json) -> int:
    """The bytes of a volume."""
    return whole(at(volume, "spec", "capacity", "storage", default="0"))


def _asked(claim: Json) -> int:
    return nanos(at(claim, "spec", "resources", "requests", "storage", default="0"))


def _size(volume: Json) -> int:
    return nanos(at(volume, "spec", "capacity", "storage", default="0"))


def _match(claim: Json, storage: Storage, node: Node, taken: Container[str]) -> Json | None:
    """The volume reserved for a claim, else the smallest available one that fits claim and node."""
    suitable = [
        volume
        for volume in storage.volumes.values()
        if name_of(volume).name not in taken and _suits(volume, claim)
    ]
    kept = [volume for volume in suitable if at(volume, "spec", "claimRef")]
    if kept:
        return kept[0] if reaches(required_terms(kept[0]), node) else None
    fits = [
        volume
        for volume in suitable
        if _is_free(volume, claim) and reaches(required_terms(volume), node)
    ]
    return min(fits, key=lambda volume: (_size(volume), name_of(volume).name), default=None)


def _suits(volume: Json, claim: Json) -> bool:
    """Whether class, mode and size match, and the volume is not reserved for another claim."""
    reference = at(volume, "spec", "claimRef")
    if reference:
        mine = (name_of(claim).namespace, name_of(claim).name)
        if (reference.get("namespace"), reference.get("name")) != mine:
            return False
        if reference.get("uid") and reference["uid"] != uid_of(claim):
            return False
    modes = [at(obj, "spec", "volumeMode") or "Filesystem" for obj in (volume, claim)]
    return (
        class_of(volume) == class_of(claim)
        and not at(volume, "metadata", "deletionTimestamp")
        and modes[0] == modes[1]
        and _attributes_of(volume) == _attributes_of(claim)
        and _size(volume) >= _asked(claim)
    )


def _attributes_of(obj: Json) -> str:
    return str(at(obj, "spec", "volumeAttributesClassName", default=""))


def _is_free(volume: Json, claim: Json) -> bool:
    selector = at(claim, "spec", "selector")
    return (
        at(volume, "status", "phase", default="") == "Available"
        and (selector is None or LabelMatcher.of(selector).matches(labels_of(volume)))
        and access_modes(claim.get("spec") or {}) <= access_modes(volume.get("spec") or {})
    )


def _provisions(claim: Json, storage: Storage, node: Node) -> bool:
    storage_class = storage.classes.get(class_of(claim))
    provisioner = at(storage_class, "provisioner", default="")
    if not provisioner or provisioner == _NO_PROVISIONER:
        return False
    terms = allowed_topologies(storage_class)
    return not terms or any(term.matches(node.labels, node.name) for term in terms)
