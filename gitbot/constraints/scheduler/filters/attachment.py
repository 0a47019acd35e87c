"""Hotplugged volumes: their attachment pod must run on the node of the launcher pod.

This is not a plugin of kube-scheduler, which places the launcher pod without regard to it. A
migration to a node where the attachment pod stays Pending never leaves phase Pending, and a start
there waits for its volumes. Source: KubeVirt, pkg/virt-controller/watch/migration/migration.go
(processMigrationPhase).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import partial

from gitbot.constraints.scheduler.filters import taints, volume_binding, volume_limits, volume_zone
from gitbot.constraints.scheduler.filters.resources import Resources
from gitbot.constraints.scheduler.node_state import State
from gitbot.constraints.scheduler.scorer import Filter, Prepare, filters_of
from gitbot.constraints.scheduler.verdicts import Rejection
from gitbot.model.cluster.columns import Mask
from gitbot.model.cluster.pod import Pod
from gitbot.model.cluster.scheduling import HOSTNAME

PLUGIN = "HotplugVolumes"
_ALONE: tuple[Prepare, ...] = (taints.prepare, volume_binding.prepare, volume_zone.prepare)


class Attachment(Filter):
    """The attachment pod fits beside the launcher pod, and reaches the volumes.

    KubeVirt creates it once the launcher pod is ready, so both count against the node's limit of
    pods. Source: migration.go (createAttachmentPod), kube-scheduler's noderesources/fit.go.
    """

    def __init__(self, state: State, pod: Pod, attachment: Pod) -> None:
        self._state = state
        both = _both(pod, attachment)
        together: tuple[Prepare, ...] = (partial(Resources, pods=2), volume_limits.prepare)
        self._filters = [*filters_of(_ALONE, state, attachment), *filters_of(together, state, both)]
        self._launcher = filters_of((Resources, volume_limits.prepare), state, pod)

    def whole(self) -> Rejection | None:
        found = (item.whole() for item in self._filters)
        return next((_of(item) for item in found if item is not None), None)

    def mask(self) -> Mask:
        mask = self._state.columns.named_by_hostname.copy()
        for item in self._filters:
            mask &= item.mask()
        full = self._state.columns.nowhere()
        for item in self._launcher:
            full |= ~item.mask()
        return mask | full

    def reject(self, node: int) -> Rejection | None:
        if any(item.reject(node) is not None for item in self._launcher):
            return None  # the launcher pod does not fit: its own filters say so
        found = self._state.nodes[node]
        if found.hostname != found.name:
            text = f"the attachment pod looks for the label {HOSTNAME}={found.name}"
            return Rejection(plugin=PLUGIN, reasons=(text,))
        rejections = (item.reject(node) for item in self._filters)
        return next((_of(item) for item in rejections if item is not None), None)


def _of(found: Rejection) -> Rejection:
    text = f"the attachment pod of the hotplugged volumes would stay Pending: {found}"
    return Rejection(plugin=PLUGIN, reasons=(text,), resolvable=found.resolvable, early=found.early)


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
