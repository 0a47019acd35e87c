"""Hotplugged volumes: their attachment pod must run on the node of the launcher pod.

This is not a plugin of kube-scheduler, which places the launcher pod without regard to it. A
migration to a node where the attachment pod stays Pending never leaves phase Pending, and a start
there waits for its volumes. Source: KubeVirt, pkg/virt-controller/watch/migration/migration.go
(processMigrationPhase).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from gitbot.constraints.scheduler.filters import (
    resources,
    taints,
    volume_binding,
    volume_limits,
    volume_zone,
)
from gitbot.constraints.scheduler.node_state import State
from gitbot.constraints.scheduler.scorer import Filter, Prepare, filters_of
from gitbot.constraints.scheduler.verdicts import Rejection
from gitbot.model.cluster.columns import Mask
from gitbot.model.cluster.node import Node
from gitbot.model.cluster.pod import Pod
from gitbot.model.cluster.scheduling import HOSTNAME

PLUGIN = "HotplugVolumes"
_ALONE: tuple[Prepare, ...] = (taints.prepare, volume_binding.prepare, volume_zone.prepare)
_TOGETHER: tuple[Prepare, ...] = (resources.prepare, volume_limits.prepare)


class Attachment(Filter):
    """The attachment pod fits beside the launcher pod, and reaches the volumes."""

    def __init__(self, state: State, pod: Pod, attachment: Pod) -> None:
        self._state = state
        both = _both(pod, attachment)
        self._filters = [
            *filters_of(_ALONE, state, attachment),
            *filters_of(_TOGETHER, state, both),
        ]
        self._launcher = filters_of(_TOGETHER, state, pod)

    def whole(self) -> Rejection | None:
        found = (item.whole() for item in self._filters)
        return next((_of(item) for item in found if item is not None), None)

    def mask(self) -> Mask:
        mask = self._state.columns.everywhere()
        for item in self._filters:
            mask &= item.mask()
        for number, node in enumerate(self._state.nodes):
            mask[number] &= _named_alike(node)
        full = self._state.columns.nowhere()
        for item in self._launcher:
            full |= ~item.mask()
        return mask | full

    def reject(self, node: int) -> Rejection | None:
        if any(item.reject(node) is not None for item in self._launcher):
            return None  # the launcher pod does not fit: its own filters say so
        found = self._state.nodes[node]
        if not _named_alike(found):
            text = f"the attachment pod looks for the label {HOSTNAME}={found.name}"
            return Rejection(plugin=PLUGIN, reasons=(text,))
        rejections = (item.reject(node) for item in self._filters)
        return next((_of(item) for item in rejections if item is not None), None)


def _of(found: Rejection) -> Rejection:
    text = f"the attachment pod of the hotplugged volumes would stay Pending: {found}"
    return Rejection(plugin=PLUGIN, reasons=(text,), resolvable=found.resolvable, early=found.early)


def _named_alike(node: Node) -> bool:
    return node.labels.get(HOSTNAME) == node.name


def prepare(state: State, pod: Pod) -> Attachment | None:
    other = pod.attachment
    return None if other is None else Attachment(state, pod, other)


def _both(pod: Pod, other: Pod) -> Pod:
    """Launcher and attachment as one pod, for room and attach limits."""
    asked = Counter(pod.requests.filtered) + Counter(other.requests.filtered)
    return pod.replace(
        requests=replace(pod.requests, filtered=dict(asked)),
        volumes=(*pod.volumes, *other.volumes),
    )
