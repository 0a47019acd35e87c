"""Pins as paths in a VM's spec: what to remove from a manifest, and the intent that replaces it.

A pin is a nodeSelector by hostname, or a required node affinity by hostname or name with one value.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from gitbot.constraints.moves.instances import Instances
from gitbot.documents import Path, read_kubernetes_yaml, remove_key
from gitbot.kubernetes.names import NamespacedName
from gitbot.kubernetes.objects import Json, at, labels_of, name_of
from gitbot.kubernetes.selectors import LabelMatcher
from gitbot.model.cluster.scheduling import HOSTNAME
from gitbot.model.text.names import API_VERSION

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_TERMS: tuple[str, ...] = ("affinity", "nodeAffinity", _REQUIRED, "nodeSelectorTerms")
_TEMPLATE = ("spec", "template", "spec")


@dataclass(frozen=True, slots=True, kw_only=True)
class NodePin:
    """A pin in words, the name it asks for, and the largest part of the spec that is only it."""

    words: str
    host: str
    path: Path

    @property
    def whole(self) -> Path:
        """Its path in a VirtualMachine."""
        return (*_TEMPLATE, *self.path)

    @property
    def pointer(self) -> str:
        """The same as a JSON patch writes it."""
        steps = (str(step).replace("~", "~0").replace("/", "~1") for step in self.whole)
        return "".join(f"/{step}" for step in steps)


def pin_of(spec: Json) -> NodePin | None:
    """The first pin of a VM's spec."""
    host = at(spec, "nodeSelector", HOSTNAME)
    if host is not None:
        path = _largest(spec, ["nodeSelector", HOSTNAME])
        return NodePin(words=f"nodeSelector {HOSTNAME}={host}", host=str(host), path=path)
    terms = at(spec, *_TERMS)
    if not isinstance(terms, list) or len(terms) != 1:
        return None  # other terms allow other nodes
    for kind in ("matchExpressions", "matchFields"):
        for number, item in enumerate(terms[0].get(kind) or ()):
            key, values = item.get("key"), list(item.get("values") or ())
            named = key in (HOSTNAME, "metadata.name") and item.get("operator") == "In"
            if named and len(values) == 1:
                path = _largest(spec, [*_TERMS, 0, kind, number])
                words = f"node affinity {key} in ({values[0]})"
                return NodePin(words=words, host=str(values[0]), path=path)
    return None


def _largest(spec: Any, path: Sequence[str | int]) -> Path:
    """The path, shortened while its parent has no other child: no empty part is left behind."""
    holders = [spec]
    for step in path[:-1]:
        holders.append(holders[-1][step])
    alone = takewhile(lambda holder: len(holder) == 1, reversed(holders[1:]))
    return tuple(path[: len(path) - len(list(alone))])


def pin_in(machine: Json) -> NodePin | None:
    """The pin of a VirtualMachine's template."""
    return pin_of(at(machine, *_TEMPLATE, default={}))


def without_pins(data: bytes, file: str, names: Collection[NamespacedName]) -> bytes | None:
    """A file of manifests without the pins of the VM of these names; unchanged if it has none.

    The name of a manifest without a namespace has "" there. None if a pin stands where it
    cannot be cut out of the text. Raises InvalidInput for what is not YAML.
    """
    while True:
        found = next(
            (
                (number, pin)
                for number, machine in enumerate(read_kubernetes_yaml(data, file))
                if _is(machine, names) and (pin := pin_in(machine)) is not None
            ),
            None,
        )
        if found is None:
            return data
        number, pin = found
        shorter = remove_key(data, file, number, pin.whole)
        if shorter is None:
            return None
        data = shorter


def _is(machine: Any, names: Collection[NamespacedName]) -> bool:
    return at(machine, "kind") == "VirtualMachine" and name_of(machine) in names


def rule_of_pin(instances: Instances, vm: NamespacedName, node: str) -> Mapping[str, Any] | None:
    """The PlacementRule that keeps the VM on its node; None if no labels select only that VM."""
    labels = labels_of(instances[vm].vmi or {})
    others = [
        item.labels
        for name, item in instances.items()
        if name.namespace == vm.namespace and name != vm
    ]
    choices = [{key: value} for key, value in sorted(labels.items())]
    choices.sort(key=lambda one: vm.name not in one.values())
    for chosen in (*choices, dict(sorted(labels.items()))):
        if chosen and not any(LabelMatcher.of({"matchLabels": chosen}).matches(o) for o in others):
            break
    else:
        return None
    term = {"matchExpressions": [{"key": HOSTNAME, "operator": "In", "values": [node]}]}
    return {
        "apiVersion": API_VERSION,
        "kind": "PlacementRule",
        "metadata": {"name": f"{vm.name}-on-{node}"[:63].rstrip("-."), "namespace": vm.namespace},
        "spec": {
            "selector": {"matchLabels": chosen},
            "nodeAffinity": {_REQUIRED: {"nodeSelectorTerms": [term]}},
        },
    }
