"""A node as the scheduler reads it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gitbot.kubernetes.objects import KubernetesObject, at, labels_of, name_of, uid_of
from gitbot.kubernetes.quantities import not_negative, units_of
from gitbot.model.cluster.scheduling import EFFECTS, HOSTNAME, ZONE, Taint
from gitbot.model.text.decoding import decoding
from gitbot.model.text.wording import one_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A node: labels, taints, allocatable (cpu in milli, the rest in whole units), images.

    `images` maps every name of an image to its bytes.
    """

    name: str
    uid: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    unschedulable: bool = False
    allocatable: Mapping[str, int] = field(default_factory=dict)
    images: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def from_object(cls, obj: KubernetesObject) -> Node:
        """Decode a v1 Node. Raises SnapshotError if it is malformed."""
        with decoding("Node", obj):
            return cls._decode(obj)

    @classmethod
    def _decode(cls, obj: KubernetesObject) -> Node:
        images = {
            str(name): int(image.get("sizeBytes") or 0)
            for image in at(obj, "status", "images", default=())
            for name in image.get("names") or ()
        }
        return cls(
            name=name_of(obj).name,
            uid=uid_of(obj),
            labels=labels_of(obj),
            taints=tuple(map(_taint, at(obj, "spec", "taints", default=()))),
            unschedulable=bool(at(obj, "spec", "unschedulable", default=False)),
            allocatable={
                str(name): not_negative(name, value, units_of(name, value))
                for name, value in at(obj, "status", "allocatable", default={}).items()
            },
            images=images,
        )

    @property
    def zone(self) -> str:
        return self.labels.get(ZONE, "")

    @property
    def hostname(self) -> str:
        return self.labels.get(HOSTNAME, "")


def _taint(item: Mapping[str, Any]) -> Taint:
    """One taint. ValueError for an unknown effect; kube-scheduler ignores a taint without one."""
    taint = Taint.of(item)
    if taint.effect and taint.effect not in EFFECTS:
        expected = one_of(EFFECTS)
        raise ValueError(f"taint {taint.key}: found effect {taint.effect!r}, expected {expected}")
    return taint
