"""How many volumes of a driver a node can attach."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from gitbot.constraints.scheduler.node_state import State, volumes_of
from gitbot.constraints.scheduler.scorer import Filter
from gitbot.constraints.scheduler.verdicts import Rejection
from gitbot.model.cluster.columns import Mask
from gitbot.model.cluster.pod import Pod


class VolumeLimits(Filter):
    """Distinct CSI volumes on the node plus the new ones stay within the driver's limit.

    A volume that a pod on the node already uses is not counted again.
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
        for driver, handles in self._wanted.items():
            room = self._state.facts.volume_room.get(driver)
            if room is None:
                continue
            held = self._state.column(volumes_of(driver))
            for number in np.flatnonzero(held + len(handles) > room):
                mask[number] = not self._excess(int(number))
        return mask

    def reject(self, node: int) -> Rejection | None:
        excess = self._excess(node)
        if not excess:
            return None
        return Rejection(
            plugin="NodeVolumeLimits",
            reasons=("node(s) exceed max volume count",),
            resolvable=True,
            details=(excess,),
        )

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
