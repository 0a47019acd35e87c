"""How many volumes of a driver a node can attach."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from gitbot.constraints.scheduler.node_state import State, volumes_of
from gitbot.constraints.scheduler.scorer import Filter
from gitbot.constraints.scheduler.verdicts import Rejection
from gitbot.constraints.scheduler.versions import LATER
from gitbot.model.cluster.columns import Mask
from gitbot.model.cluster.pod import Pod


class VolumeLimits(Filter):
    """Distinct CSI volumes on the node plus the new ones stay within the driver's limit.

    A volume that a pod on the node already uses is not counted again. From `LATER` on, a node
    without a driver that says so takes none of its volumes (feature gate VolumeLimitScaling).
    """

    def __init__(self, state: State, pod: Pod) -> None:
        self._state, self._pod = state, pod

    @cached_property
    def _wanted(self) -> dict[str, set[str]]:
        found: dict[str, set[str]] = {}
        for driver, handle in self._state.facts.storage.csi_volumes(self._pod):
            found.setdefault(driver, set()).add(handle)
        return found

    def mask(self) -> Mask:
        """Nodes within the limits. Checks only nodes that can be near a limit."""
        mask = self._state.columns.everywhere()
        if self._needed:
            mask = np.array(
                [not self._missing(node.name) for node in self._state.nodes], dtype=bool
            )
        for driver, handles in self._wanted.items():
            room = self._state.facts.volume_room.get(driver)
            if room is None:
                continue
            held = self._state.column(volumes_of(driver))
            for number in np.flatnonzero(mask & (held + len(handles) > room)):
                mask[number] = not self._excess(int(number))
        return mask

    def reject(self, node: int) -> Rejection | None:
        missing = self._missing(self._state.nodes[node].name)
        if missing:
            text = f"{missing} CSI driver is not installed on the node"
            return Rejection(plugin="NodeVolumeLimits", reasons=(text,), resolvable=True)
        excess = self._excess(node)
        if not excess:
            return None
        return Rejection(
            plugin="NodeVolumeLimits",
            reasons=("node(s) exceed max volume count",),
            resolvable=True,
            details=(excess,),
        )

    @cached_property
    def _needed(self) -> tuple[str, ...]:
        """The drivers of its volumes whose CSIDriver has preventPodSchedulingIfMissing."""
        facts = self._state.facts
        if facts.minor < LATER:
            return ()
        return tuple(sorted(facts.storage.needed & self._wanted.keys()))

    def _missing(self, node: str) -> str:
        installed = self._state.facts.storage.installed
        return next((name for name in self._needed if (node, name) not in installed), "")

    def _excess(self, node: int) -> str:
        storage, name = self._state.facts.storage, self._state.nodes[node].name
        limits = storage.drivers.get(name, {})
        for driver, handles in sorted(self._wanted.items()):
            limit = limits.get(driver)
            if limit is None:
                continue
            held = self._state.csi.get((node, driver))
            attached = {*held, *storage.attached(name, driver)}
            new = handles - held.keys()  # 1.36 counts one twice that is attached without a pod
            if new and len(attached) + len(new) > limit:
                return (
                    f"driver {driver}: {len(attached)} volumes attached, {len(new)} more, "
                    f"limit {limit}"
                )
        return ""


def prepare(state: State, pod: Pod) -> VolumeLimits | None:
    return VolumeLimits(state, pod) if pod.volumes and state.facts.storage.drivers else None
