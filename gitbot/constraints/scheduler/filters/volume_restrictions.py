"""Volumes that only one pod may use."""

from __future__ import annotations

from functools import cached_property

from gitbot.constraints.scheduler.node_state import INLINE_DISKS, State
from gitbot.constraints.scheduler.verdicts import Rejection
from gitbot.kubernetes.objects import Json, at
from gitbot.model.cluster.columns import Mask
from gitbot.model.cluster.pod import Pod

_PLUGIN = "VolumeRestrictions"
_IN_USE = (
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already "
    "in-use by another pod"
)


class VolumeRestrictions:
    """A ReadWriteOncePod claim in use rejects the pod everywhere; inline disks, on a node."""

    def __init__(self, state: State, pod: Pod) -> None:
        self._state, self._pod = state, pod
        self.inline = [volume for volume in pod.volumes if _inline(volume)]

    def whole(self) -> Rejection | None:
        for name in self._pod.direct_claims:
            if self._state.facts.storage.claim(self._pod, name) is None:
                text = f'persistentvolumeclaim "{name}" not found'
                return Rejection(plugin=_PLUGIN, reasons=(text,), early=True)
        return None

    @property
    def idle(self) -> bool:
        """Whether kube-scheduler skips the plugin: no inline disk and no claim in use."""
        return not self.inline and not self._taken

    @cached_property
    def _taken(self) -> tuple[str, ...]:
        storage, namespace = self._state.facts.storage, self._pod.namespace
        lines = []
        for claim in sorted(set(self._pod.direct_claims)):
            found = storage.claim(self._pod, claim)
            modes = at(found, "spec", "accessModes", default=())
            users = self._state.claims.get((namespace, claim))
            if "ReadWriteOncePod" in modes and users and claim not in self._pod.new_claims:
                lines.append(f"claim {claim} is ReadWriteOncePod and in use by {min(users)}")
        return tuple(lines)

    def mask(self) -> Mask:
        if self._taken:
            return self._state.columns.nowhere()
        mask = self._state.columns.everywhere()
        if self.inline:
            for number in self._state.disks:
                mask[number] = not self._clash(number)
        return mask

    def reject(self, node: int) -> Rejection | None:
        clash = self._clash(node) if self.inline else ""
        if clash:
            return Rejection(
                plugin=_PLUGIN,
                reasons=("node(s) had no available disk",),
                resolvable=True,
                details=(clash,),
            )
        if self._taken:
            return Rejection(
                plugin=_PLUGIN, reasons=(_IN_USE,), resolvable=True, details=self._taken
            )
        return None

    def _clash(self, node: int) -> str:
        for name in sorted(self._state.disks.get(node)):
            other = self._state.placed[name][0]
            for mine in self.inline:
                if any(_conflict(mine, theirs) for theirs in other.volumes):
                    return f"volume {mine.get('name', '')} is a disk that {name} uses there"
        return ""


def prepare(state: State, pod: Pod) -> VolumeRestrictions | None:
    concerned = pod.direct_claims or any(_inline(volume) for volume in pod.volumes)
    return VolumeRestrictions(state, pod) if concerned else None


def _inline(volume: Json) -> bool:
    return any(volume.get(kind) for kind in INLINE_DISKS)


def _conflict(mine: Json, theirs: Json) -> bool:
    for kind in INLINE_DISKS:
        ours, other = mine.get(kind), theirs.get(kind)
        if ours and other and _same_disk(kind, ours, other):
            shared = bool(ours.get("readOnly")) and bool(other.get("readOnly"))
            if kind == "awsElasticBlockStore" or not shared:
                return True
    return False


def _same_disk(kind: str, ours: Json, other: Json) -> bool:
    match kind:
        case "gcePersistentDisk":
            return bool(ours.get("pdName") == other.get("pdName"))
        case "awsElasticBlockStore":
            return bool(ours.get("volumeID") == other.get("volumeID"))
        case "iscsi":
            return bool(ours.get("iqn") == other.get("iqn"))
        case _:
            monitors = set(ours.get("monitors") or ()) & set(other.get("monitors") or ())
            pools = (ours.get("pool") or "rbd", other.get("pool") or "rbd")
            same = pools[0] == pools[1] and ours.get("image") == other.get("image")
            return bool(monitors) and same
