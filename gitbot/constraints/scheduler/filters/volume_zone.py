"""Zone labels of volumes."""

from __future__ import annotations

from functools import cached_property

from gitbot.constraints.scheduler.node_state import State
from gitbot.constraints.scheduler.verdicts import Rejection
from gitbot.kubernetes.objects import at, labels_of
from gitbot.model.cluster.columns import Mask
from gitbot.model.cluster.node import Node
from gitbot.model.cluster.pod import Pod

_PLUGIN = "VolumeZone"
_BETA = "failure-domain.beta.kubernetes.io/"
_CURRENT = "topology.kubernetes.io/"
_KEYS = tuple(prefix + word for prefix in (_BETA, _CURRENT) for word in ("zone", "region"))


class VolumeZone:
    """A bound volume's zone and region labels must include the node's; unlabelled nodes pass."""

    def __init__(self, state: State, pod: Pod) -> None:
        self._state, self._pod = state, pod

    def whole(self) -> Rejection | None:
        storage = self._state.facts.storage
        for name in self._pod.direct_claims:
            claim = storage.claim(self._pod, name)
            volume = at(claim, "spec", "volumeName", default="")
            if volume and volume not in storage.volumes:
                return Rejection(
                    plugin=_PLUGIN,
                    reasons=(f'persistentvolume "{volume}" not found',),
                    early=True,
                    details=(f"claim {name} is bound to volume {volume}, which does not exist",),
                )
        return None

    @cached_property
    def _demands(self) -> list[tuple[str, str, frozenset[str]]]:
        """Volume, key and allowed values."""
        storage = self._state.facts.storage
        found = []
        for name in sorted(set(self._pod.direct_claims)):
            claim = storage.claim(self._pod, name)
            volume = storage.volume_of(claim) if claim is not None else None
            if volume is None:
                continue
            labels = labels_of(volume)
            for key in _KEYS:
                values = frozenset(labels.get(key, "").split("__"))
                if key in labels and "" not in values:
                    found.append((name, key, values))
        return found

    def mask(self) -> Mask:
        """Nodes in the zones of all volumes. Checks each distinct set of zone labels once."""
        mask = self._state.columns.everywhere()
        if not self._demands:
            return mask
        answers: dict[tuple[str | None, ...], bool] = {}
        for number, node in enumerate(self._state.nodes):
            kind = tuple(node.labels.get(key) for key in _KEYS)
            if kind not in answers:
                answers[kind] = not self._miss(node)
            mask[number] = answers[kind]
        return mask

    def reject(self, node: int) -> Rejection | None:
        miss = self._miss(self._state.nodes[node])
        if not miss:
            return None
        return Rejection(
            plugin=_PLUGIN,
            reasons=("node(s) had no available volume zone",),
            details=(miss,),
        )

    def _miss(self, node: Node) -> str:
        if not any(key in node.labels for key in _KEYS):
            return ""
        for claim, key, values in self._demands:
            found = node.labels.get(key)
            if found is None and key.startswith(_BETA):
                found = node.labels.get(_CURRENT + key.removeprefix(_BETA))
            if found is None or found not in values:
                return (
                    f"the volume of claim {claim} is in {key} {', '.join(sorted(values))}, the "
                    f"node in {found or 'none'}"
                )
        return ""


def prepare(state: State, pod: Pod) -> VolumeZone | None:
    return VolumeZone(state, pod) if pod.direct_claims else None
